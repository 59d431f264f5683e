/* JSON: what is taken, what is refused and in which words, what is written. */
#include "base/json.h"
#include "base/text.h"
#include "scratch.h"

#include <math.h>

/* Text and the text that it is written as again. */
struct good_row {
    const char *text, *again;
};

static const struct good_row good_rows[] = {
    {"null", "null"},
    {" true\r\n", "true"},
    {"\tfalse ", "false"},
    {"0", "0"},
    {"-0", "0"},
    {"-0.0", "-0.0"},
    {"9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"9007199254740993", "9007199254740993"},
    {"1.10", "1.1"},
    {"1.0", "1.0"},
    {"1e2", "100.0"},
    {"1E-4", "0.0001"},
    {"0.1000000000000000055511151231257827021181583404541015625000000000000000000001", "0.1"},
    {"\"\"", "\"\""},
    {"\"#5\"", "\"#5\""},
    {"\"$5\"", "\"$5\""},
    {"\"a\\u00e9\\ud83d\\ude00\\n\\\"\\\\\\/\"", "\"a\xc3\xa9\xf0\x9f\x98\x80\\n\\\"\\\\/\""},
    {"\"\\b\\f\\u001f\x7f\"", "\"\\u0008\\u000c\\u001f\\u007f\""},
    {"[]", "[]"},
    {"{}", "{}"},
    {"[1, [2, {\"a\": null}], \"b\"]", "[1,[2,{\"a\":null}],\"b\"]"},
    {"{\"z\":1,\"a\":{\"b\":[]},\"\":2}", "{\"z\":1,\"a\":{\"b\":[]},\"\":2}"},
    {"{\"A\":1,\"a\":2}", "{\"A\":1,\"a\":2}"},
    {"{\"#1\":1,\"$1\":2}", "{\"#1\":1,\"$1\":2}"},
};

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good_rows) / sizeof(good_rows[0]); i++) {
        struct hcb_value v = {0}, copy = {0};
        struct hcb_err err = {0};
        struct hcb_buf b = {0};
        if (hcb_json_parse(good_rows[i].text, strlen(good_rows[i].text), &v, &err) != 0)
            fail_msg("%s: %s", good_rows[i].text, err.text);
        hcb_json_value(&b, &v);
        assert_string_equal(hcb_buf_text(&b), good_rows[i].again);
        assert_true(hcb_value_copy(&copy, &v));
        assert_true(hcb_value_equal(&copy, &v));
        hcb_value_release(&v);
        hcb_value_release(&copy);
        hcb_buf_release(&b);
    }
}

struct bad_row {
    const char *text, *says;
};

static const struct bad_row bad_rows[] = {
    {"", "at column 1: the text ends where a value should be"},
    {"  ", "the text ends where a value should be"},
    {"[1", "at column 3: the text ends where ',' or ']' should be"},
    {"{\"a\":1", "the text ends where ',' or '}' should be"},
    {"{\"a\"", "the text ends where ':' after the key should be"},
    {"{\"a", "at column 2: a text in quotes that does not end"},
    {"{\"a\\\"", "a text in quotes that does not end"},
    {"1 2", "at column 3: found 2, expected the end of the text"},
    {"{} x", "found x, expected the end of the text"},
    {"[1,]", "found ], expected a value"},
    {"[,1]", "found ,, expected a value or ']'"},
    {"[1 2]", "found 2, expected ',' or ']'"},
    {"[1}", "found }, expected ',' or ']'"},
    {"{\"a\":1,}", "found }, expected a key in double quotes"},
    {"{a:1}", "found a, expected a key in double quotes or '}'"},
    {"{'a':1}", "found ', expected a key in double quotes or '}'"},
    {"{1:1}", "found 1, expected a key"},
    {"{\"a\" 1}", "found 1, expected ':' after the key"},
    {"{\"a\":}", "found }, expected a value"},
    {"True", "found True, expected a value"},
    {"NaN", "found NaN, expected a value"},
    {"Infinity", "found Infinity, expected a value"},
    {"-Infinity", "- is not a number as JSON writes them"},
    {"nul", "found nul, expected a value"},
    {"nullx", "found x, expected the end"},
    {"01", "01 is not a number as JSON writes them"},
    {"-01", "-01 is not a number"},
    {"+1", "found +, expected a value"},
    {".5", "found ., expected a value"},
    {"1.", "1. is not a number"},
    {"1.e5", "1.e5 is not a number"},
    {"1e", "1e is not a number"},
    {"0x10", "found x, expected the end"},
    {"9223372036854775808", "the integer 9223372036854775808 is beyond 64 bits"},
    {"[-9223372036854775809]", "at column 2: the integer -9223372036854775809 is beyond 64 bits"},
    {"1e400", "the number 1e400 is too large"},
    {"{\"a\":1,\"b\":2,\"a\":3}", "the key \"a\" stands twice"},
    {"{\"a\":1,\"\\u0061\":3}", "the key \"a\" stands twice"},
    {"\"\\u0000\"", "\\u0000 is not allowed"},
    {"{\"a\\u0000b\":1}", "\\u0000 is not allowed"},
    {"\"\\ud800\"", "\\ud800 is half of a surrogate pair"},
    {"\"\\udc00\\ud800\"", "\\udc00 is half"},
    {"\"\\ud83d\\u0041\"", "\\ud83d is half"},
    {"\"\\u12g4\"", "\\u needs four hexadecimal digits"},
    {"\"\\u12", "\\u needs four hexadecimal digits"},
    {"\"\\x41\"", "a backslash that escapes nothing"},
    {"\"\\", "a backslash that escapes nothing"},
    {"\"a\tb\"", "a control character (0x09) inside a text"},
    {"\"a\nb\"", "a control character (0x0a) inside a text"},
    {"\"\xff\"", "a byte (0xff) that is not UTF-8"},
    {"\"\xc0\xaf\"", "a byte (0xc0) that is not UTF-8"},
    {"\"\xed\xa0\x80\"", "a byte (0xed) that is not UTF-8"},
    {"\xef\xbb\xbf{}", "expected a value"},
    {"\x01", "found byte 0x01, expected a value"},
    {"[1,\n 2,\n x]", "at line 3, column 2: found x"},
    {"// no\n1", "found /, expected a value"},
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad_rows) / sizeof(bad_rows[0]); i++) {
        struct hcb_value v = {0};
        struct hcb_err err = {0};
        int rc = hcb_json_parse(bad_rows[i].text, strlen(bad_rows[i].text), &v, &err);
        assert_int_equal(rc, HOTCB_EFORMAT);
        assert_int_equal(err.code, rc);
        assert_int_equal(v.type, HCB_NULL);
        if (!strstr(err.text, bad_rows[i].says))
            fail_msg("%s: \"%s\" does not say \"%s\"", bad_rows[i].text, err.text,
                     bad_rows[i].says);
    }
}

static void test_a_nul_byte(void **state)
{
    (void)state;
    static const struct { const char *text; size_t n; } rows[] = {
        {"1\0", 2}, {"\0", 1}, {"[1,\0]", 5}, {"\"a\0b\"", 5}, {"{}\0{}", 5},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hcb_value v = {0};
        assert_int_equal(hcb_json_parse(rows[i].text, rows[i].n, &v, NULL), HOTCB_EFORMAT);
    }
}

/* Every beginning of a text is refused or good, and nothing after n is read. */
static void test_every_beginning(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[1,-2.5e3,\"\\u00e9\\ud83d\\ude00\xc3\xa9\"],\"b\":null}";
    for (size_t n = 0; n < sizeof(text) - 1; n++) {
        struct hcb_value v = {0};
        char *part = malloc(n + 1); /* of exactly this size, so that a sanitizer sees it */
        memcpy(part, text, n);
        char *exact = realloc(part, n ? n : 1);
        assert_int_equal(hcb_json_parse(exact, n, &v, NULL), HOTCB_EFORMAT);
        free(exact);
    }
}

static void test_sources(void **state)
{
    (void)state;
    static const char text[] = "[1.10,-0,1e-4,true,null,\"x\",12]";
    static const char *const sources[] = {"1.10", "-0", "1e-4", NULL, NULL, NULL, "12"};
    struct hcb_value v = {0};
    assert_int_equal(hcb_json_parse(text, strlen(text), &v, NULL), 0);
    for (size_t i = 0; i < v.u.list.n; i++)
        assert_true(hcb_streq(v.u.list.v[i].source, sources[i]));
    hcb_value_release(&v);
}

static int parse_nested(int depth, struct hcb_err *err)
{
    struct hcb_buf b = {0};
    struct hcb_value v = {0};
    for (int i = 0; i < depth; i++)
        hcb_buf_str(&b, i % 2 ? "{\"a\":" : "[");
    hcb_buf_str(&b, "1");
    for (int i = depth - 1; i >= 0; i--)
        hcb_buf_str(&b, i % 2 ? "}" : "]");
    int rc = hcb_json_parse(b.data, b.len, &v, err);
    hcb_value_release(&v);
    hcb_buf_release(&b);
    return rc;
}

static void test_depth(void **state)
{
    (void)state;
    struct hcb_err err = {0};
    assert_int_equal(parse_nested(HCB_VALUE_DEPTH, &err), 0);
    assert_int_equal(parse_nested(HCB_VALUE_DEPTH + 1, &err), HOTCB_EFORMAT);
    assert_non_null(strstr(err.text, "nested more than 48 levels deep"));
    assert_int_equal(parse_nested(100000, &err), HOTCB_EFORMAT);
}

static int parse_many(int count, bool keys, bool twice)
{
    struct hcb_buf b = {0};
    struct hcb_value v = {0};
    hcb_json_open(&b, keys ? '{' : '[');
    for (int i = 0; i < count; i++) {
        char key[20];
        snprintf(key, sizeof(key), "k%d", twice && i == count - 1 ? 17 : i);
        if (keys)
            hcb_json_key(&b, key);
        hcb_json_int(&b, i);
    }
    hcb_json_close(&b, keys ? '}' : ']');
    int rc = hcb_json_parse(b.data, b.len, &v, NULL);
    hcb_value_release(&v);
    hcb_buf_release(&b);
    return rc;
}

static void test_many(void **state)
{
    (void)state;
    assert_int_equal(parse_many(HCB_VALUE_NODES - 1, false, false), 0);
    assert_int_equal(parse_many(HCB_VALUE_NODES, false, false), HOTCB_EFORMAT);
    assert_int_equal(parse_many(HCB_VALUE_NODES - 1, true, false), 0);
    assert_int_equal(parse_many(HCB_VALUE_NODES - 1, true, true), HOTCB_EFORMAT);
    assert_int_equal(parse_many(100, true, true), HOTCB_EFORMAT);
}

static void test_writing_what_json_has_not(void **state)
{
    (void)state;
    struct hcb_buf b = {0};
    hcb_json_open(&b, '[');
    hcb_json_real(&b, NAN);
    hcb_json_real(&b, INFINITY);
    hcb_json_real(&b, -INFINITY);
    hcb_json_text(&b, "a\0b\xff\xc3", 5);
    hcb_json_str(&b, NULL);
    hcb_json_bool(&b, true);
    hcb_json_close(&b, ']');
    assert_string_equal(hcb_buf_text(&b), "[\"NaN\",\"Infinity\",\"-Infinity\","
                        "\"a\xef\xbf\xbd" "b\xef\xbf\xbd\xef\xbf\xbd\",null,true]");
    hcb_buf_release(&b);
}

/* Records one after the other in one buffer, with commas only where they belong. */
static void test_records(void **state)
{
    (void)state;
    struct hcb_buf b = {0};
    for (int i = 0; i < 2; i++) {
        hcb_json_open(&b, '{');
        hcb_json_key(&b, "a");
        hcb_json_open(&b, '[');
        hcb_json_int(&b, i);
        hcb_json_open(&b, '{');
        hcb_json_close(&b, '}');
        hcb_json_close(&b, ']');
        hcb_json_key(&b, "b");
        hcb_json_null(&b);
        hcb_json_close(&b, '}');
        hcb_buf_char(&b, '\n');
    }
    assert_string_equal(hcb_buf_text(&b), "{\"a\":[0,{}],\"b\":null}\n{\"a\":[1,{}],\"b\":null}\n");
    char *data = b.data;
    hcb_buf_reset(&b);
    hcb_json_str(&b, "again");
    assert_ptr_equal(b.data, data);
    hcb_buf_release(&b);
}

static void test_pretty(void **state)
{
    (void)state;
    static const char text[] =
        "{\"short\":{\"a\":1,\"b\":[1,2]},\"empty\":{},\"long\":["
        "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\","
        "\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"]}";
    static const char expected[] = "{\n"
                                   "  \"short\": {\"a\": 1, \"b\": [1, 2]},\n"
                                   "  \"empty\": {},\n"
                                   "  \"long\": [\n"
                                   "    \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\n"
                                   "    \"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"\n"
                                   "  ]\n"
                                   "}";
    struct hcb_value v = {0};
    struct hcb_buf b = {0};
    assert_int_equal(hcb_json_parse(text, strlen(text), &v, NULL), 0);
    hcb_json_pretty(&b, &v, 0);
    assert_string_equal(hcb_buf_text(&b), expected);
    hcb_buf_release(&b);
    hcb_value_release(&v);
}

static void parse(const char *text, struct hcb_value *v)
{
    assert_int_equal(hcb_json_parse(text, strlen(text), v, NULL), 0);
}

struct equal_row {
    const char *a, *b;
    bool equal;
};

static const struct equal_row equal_rows[] = {
    {"1", "1", true},
    {"1", "1.0", false},
    {"1.0", "1e0", true},
    {"[1,2]", "[2,1]", false},
    {"[1]", "[1,2]", false},
    {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true},
    {"{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}", false},
    {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
    {"{\"a\":null}", "{\"b\":null}", false},
    {"\"1\"", "1", false},
};

static void test_equal(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(equal_rows) / sizeof(equal_rows[0]); i++) {
        struct hcb_value a = {0}, b = {0};
        parse(equal_rows[i].a, &a);
        parse(equal_rows[i].b, &b);
        assert_int_equal(hcb_value_equal(&a, &b), equal_rows[i].equal);
        assert_int_equal(hcb_value_equal(&b, &a), equal_rows[i].equal);
        hcb_value_release(&a);
        hcb_value_release(&b);
    }
}

static void test_large_maps_are_equal_in_any_order(void **state)
{
    (void)state;
    struct hcb_value a = {0}, b = {0};
    hcb_value_map(&a);
    hcb_value_map(&b);
    for (int i = 0; i < 20000; i++) {
        char key[20];
        snprintf(key, sizeof(key), "k%d", i);
        hcb_value_int(hcb_map_append(&a, key), i);
        snprintf(key, sizeof(key), "k%d", 19999 - i);
        hcb_value_int(hcb_map_append(&b, key), 19999 - i);
    }
    assert_true(hcb_value_equal(&a, &b));
    hcb_map_get(&b, "k77")->u.i = -1;
    assert_false(hcb_value_equal(&a, &b));
    hcb_value_release(&a);
    hcb_value_release(&b);
}

static void test_maps(void **state)
{
    (void)state;
    struct hcb_value v = {0}, item = {0};
    parse("{\"t\":\"x\",\"i\":3,\"d\":2.5,\"b\":true}", &v);
    assert_string_equal(hcb_map_text(&v, "t", "?"), "x");
    assert_string_equal(hcb_map_text(&v, "i", "?"), "?");
    assert_int_equal(hcb_map_int(&v, "i", -1), 3);
    assert_int_equal(hcb_map_int(&v, "d", -1), -1);
    assert_true(hcb_map_real(&v, "i", -1) == 3);
    assert_true(hcb_map_real(&v, "d", -1) == 2.5);
    assert_true(hcb_map_bool(&v, "b", false));
    assert_null(hcb_map_get(NULL, "t"));
    hcb_value_int(&item, 9);
    assert_true(hcb_map_set(&v, "t", &item)); /* in its old place */
    assert_true(hcb_map_set(&v, "new", &item));
    hcb_map_remove(&v, "i");
    hcb_map_remove(&v, "no such key");
    struct hcb_buf b = {0};
    hcb_json_value(&b, &v);
    assert_string_equal(hcb_buf_text(&b), "{\"t\":9,\"d\":2.5,\"b\":true,\"new\":9}");
    hcb_buf_release(&b);
    hcb_value_release(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_a_nul_byte),
        cmocka_unit_test(test_every_beginning),
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_writing_what_json_has_not),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_pretty),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_large_maps_are_equal_in_any_order),
        cmocka_unit_test(test_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
