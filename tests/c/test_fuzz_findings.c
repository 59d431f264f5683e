/* What the fuzz targets found, a row each: bytes, and what has to come of them. See
 * tests/fuzz. */
#include "base/err.h"
#include "base/json.h"
#include "base/text.h"
#include "control/config.h"
#include "controller/exact.h"
#include "script_rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- params: what a script declares ---------------------------------------- */

/* As deep a default as a record that holds it can carry, and a deeper one. */
#define DEEP(n) "{ 'd', (function() local t = {} for i = 2, " n " do t = { t } end return t end)(), " \
                "type = 'any' }"

/* Rows of `params`, and a set that is refused or NULL. */
static const struct params_row {
    const char *rows, *set;
    const char *want; /* the declarations as JSON that we read ourselves; or the refusal */
} params_rows[] = {
    /* A NUL in a default made hotcb.status.json unreadable for the tool. */
    {"{ 'b', 'a\\0b' }", NULL, "\"default\":\"a\xef\xbf\xbd" "b\""},
    {"{ 'b', 1, help = 'a\\0b' }", NULL, "\"help\":\"a\""},
    {DEEP("32"), NULL, "[[[["},
    /* The script's own words reached hotcb_errmsg() as they were, for a terminal to obey. */
    {"{ 'b', 1, help = '\\27[2J\\200\\n' }", "{\"b\":\"x\"}",
     "b=x: expected an integer - \\x1b[2J\\xc8\\n"},
    {"{ 'b', 'l2', choices = { 'l2', '\\27[2J' } }", "{\"b\":\"x\"}",
     "b=x: expected one of l2, \\x1b[2J"},
};

static void params_answer(struct rig *r, const struct params_row *row, struct hcb_buf *got)
{
    if (row->set) {
        assert_int_equal(rig_set(r, row->set), HOTCB_EREFUSED);
        hcb_buf_str(got, r->err.text);
        return;
    }
    struct hcb_value back = {0};
    struct hcb_err err = {0};
    hcb_params_json(got, hcb_script_params(r->script));
    if (hcb_json_parse(hcb_buf_text(got), got->len, &back, &err) < 0)
        fail_msg("%s: %s", row->rows, err.text);
    hcb_value_release(&back);
}

static void test_params(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(params_rows); i++) {
        const struct params_row *row = &params_rows[i];
        char text[400];
        struct rig r;
        struct hcb_buf got = {0};
        rig_init(&r);
        snprintf(text, sizeof(text), "return { params = { %s }, handle = function() end }",
                 row->rows);
        rig_must_open(&r, text);
        params_answer(&r, row, &got);
        if (!strstr(hcb_buf_text(&got), row->want))
            fail_msg("%s: %s, not %s", row->rows, hcb_buf_text(&got), row->want);
        hcb_buf_release(&got);
        rig_release(&r);
    }
}

/* ---- yaml ------------------------------------------------------------------ */

static const struct yaml_row {
    const char *text;
    const char *want; /* as JSON, or the failure */
} yaml_rows[] = {
    /* Looking for %TAG lines counted on from where none was: undefined behaviour. */
    {"~", "null"},
    {"a: 1\na: 2\n", "x.yaml:2: the key 'a' stands here and on line 1: once only"},
};

static void test_yaml(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(yaml_rows); i++) {
        const struct yaml_row *row = &yaml_rows[i];
        struct hcb_value v = {0};
        struct hcb_err err = {0};
        struct hcb_buf got = {0};
        if (hcb_yaml_parse(row->text, strlen(row->text), "x.yaml", &v, &err) == 0)
            hcb_json_value(&got, &v);
        else
            hcb_buf_str(&got, err.text);
        assert_string_equal(hcb_buf_text(&got), row->want);
        hcb_buf_release(&got);
        hcb_value_release(&v);
    }
}

/* ---- sentences ------------------------------------------------------------- */

/* Whatever is in it, a failure is one printable line that fits. */
static const struct sentence_row {
    const char *text, *want;
} sentence_rows[] = {
    {"plain \xc3\xa9\xe7\x95\x8c", "plain \xc3\xa9\xe7\x95\x8c"},
    {"two\nlines\t\x1b[31m\x7f", "two\\nlines\\t\\x1b[31m\\x7f"},
    {"not \xff UTF-8 \xe7\x95", "not \\xff UTF-8 \\xe7\\x95"},
    {"c1 \xc2\x9b bidi \xe2\x80\xae", "c1 \\x9b bidi \\u202e"},
};

static void test_sentences(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sentence_rows); i++) {
        struct hcb_err err;
        assert_int_equal(hcb_fail(&err, HOTCB_EIO, "%s", sentence_rows[i].text), HOTCB_EIO);
        assert_string_equal(err.text, sentence_rows[i].want);
        assert_true(hcb_text_is_printable(err.text, strlen(err.text)));
    }
}

static void test_long_sentences(void **state)
{
    (void)state;
    struct hcb_err err;
    char text[sizeof(err.text) - 10];
    memset(text, '\x1b', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    hcb_fail(&err, HOTCB_EIO, "%s", text);
    assert_true(hcb_text_is_printable(err.text, strlen(err.text)));
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_string_equal(err.text + strlen(err.text) - 3, "...");
}

/* ---- state ----------------------------------------------------------------- */

/* A default that is too deep for hotcb.status.json made it unreadable for the tool. */
static void test_deep_default(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    assert_int_equal(rig_open(&r, "return { params = { " DEEP("33") " }, handle = print }"), -1);
    rig_expect_fault(&r, HCB_SYNTAX, "params[1], default: more than 32 tables within one another");
    rig_release(&r);
}

/* Maps with the key "$" got twice as deep on their way into hotcb.state.json; from half
 * the depth that a parameter may have, a run did not get its callback back. */
static void test_exact_is_no_deeper(void **state)
{
    (void)state;
    struct hcb_value v = {0}, json = {0}, back = {0};
    struct hcb_buf text = {0};
    struct hcb_err err;
    for (int i = 0; i < 31; i++)
        hcb_buf_str(&text, i % 2 ? "{\"$$\":" : "{\"$\":");
    hcb_buf_str(&text, "[1.50]");
    for (int i = 0; i < 31; i++)
        hcb_buf_char(&text, '}');
    rig_parse(text.data, &v);
    hcb_buf_reset(&text);
    hcb_exact_write(&text, &v);
    if (hcb_json_parse(text.data, text.len, &json, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(hcb_exact_read(&json, &back), 0);
    assert_true(hcb_value_equal(&v, &back));
    hcb_value_release(&v);
    hcb_value_release(&json);
    hcb_value_release(&back);
    hcb_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deep_default),
        cmocka_unit_test(test_exact_is_no_deeper),
        cmocka_unit_test(test_params),
        cmocka_unit_test(test_yaml),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_long_sentences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
