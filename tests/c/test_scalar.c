/* What a plain scalar means, in YAML and on the command line. */
#include "base/json.h"
#include "base/scalar.h"
#include "scratch.h"

struct row {
    const char *text;
    const char *means; /* as JSON */
};

/* For both doors. */
static const struct row rows[] = {
    {"null", "null"}, {"Null", "null"}, {"NULL", "null"}, {"~", "null"},
    {"true", "true"}, {"True", "true"}, {"TRUE", "true"},
    {"false", "false"}, {"False", "false"}, {"FALSE", "false"},
    {"tRue", "\"tRue\""}, {"nULL", "\"nULL\""},
    {"yes", "\"yes\""}, {"NO", "\"NO\""}, {"on", "\"on\""}, {"off", "\"off\""}, {"y", "\"y\""},
    {"0", "0"}, {"5", "5"}, {"-5", "-5"}, {"+5", "5"}, {"-0", "0"},
    {"9007199254740993", "9007199254740993"},
    {"9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"010", "\"010\""}, {"007", "\"007\""}, {"-007", "\"-007\""}, {"00", "\"00\""},
    {"01.5", "\"01.5\""}, {"0o17", "\"0o17\""}, {"0x1F", "\"0x1F\""}, {"1_000", "\"1_000\""},
    {"1e-4", "0.0001"}, {".5", "0.5"}, {"-.5", "-0.5"}, {"2E5", "200000.0"}, {"3.", "3.0"},
    {"1.10", "1.1"}, {"0.5", "0.5"}, {"0e3", "0.0"}, {"+1.5e+2", "150.0"}, {"1e5", "100000.0"},
    {".inf", "\"Infinity\""}, {"-.INF", "\"-Infinity\""}, {"+.Inf", "\"Infinity\""},
    {".nan", "\"NaN\""}, {".NaN", "\"NaN\""}, {"-.nan", "\"-.nan\""},
    {"inf", "\"inf\""}, {"nan", "\"nan\""}, {"Infinity", "\"Infinity\""},
    {"22:22", "\"22:22\""}, {"1.10.2", "\"1.10.2\""}, {"1e", "\"1e\""}, {".", "\".\""},
    {"-", "\"-\""}, {"+", "\"+\""}, {"e5", "\"e5\""}, {"1 2", "\"1 2\""}, {" 1", "\" 1\""},
    {"2026-11-30", "\"2026-11-30\""}, {"1,5", "\"1,5\""}, {"loss,outputs", "\"loss,outputs\""},
};

/* For the command line. */
static const struct row arg_rows[] = {
    {"", "\"\""},
    {"[debug]", "\"[debug]\""},
    {"{step}", "\"{step}\""},
    {"[1, 2.5, \"x\"]", "[1,2.5,\"x\"]"},
    {"{\"a\": 1}", "{\"a\":1}"},
    {"[]", "[]"},
    {"[1,]", "\"[1,]\""},
    {" [1]", "\" [1]\""},
    {"\"quoted\"", "\"\\\"quoted\\\"\""},
};

static void check(const struct row *row, int rc, struct hcb_value *v, const struct hcb_err *err)
{
    struct hcb_buf b = {0};
    if (rc != 0)
        fail_msg("%s: %s", row->text, err->text);
    hcb_json_value(&b, v);
    assert_string_equal(hcb_buf_text(&b), row->means);
    if (v->type != HCB_LIST && v->type != HCB_MAP)
        assert_string_equal(v->source, row->text);
    hcb_buf_release(&b);
    hcb_value_release(v);
}

static void test_resolve(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hcb_value v = {0};
        struct hcb_err err = {0};
        int rc = hcb_scalar_resolve(rows[i].text, strlen(rows[i].text), &v, &err);
        check(&rows[i], rc, &v, &err);
        rc = hcb_scalar_from_arg(rows[i].text, &v, &err);
        check(&rows[i], rc, &v, &err);
    }
}

static void test_args(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(arg_rows) / sizeof(arg_rows[0]); i++) {
        struct hcb_value v = {0};
        struct hcb_err err = {0};
        int rc = hcb_scalar_from_arg(arg_rows[i].text, &v, &err);
        check(&arg_rows[i], rc, &v, &err);
    }
}

static void test_nothing_is_null_in_yaml(void **state)
{
    (void)state;
    struct hcb_value v = {0};
    assert_int_equal(hcb_scalar_resolve("", 0, &v, NULL), 0);
    assert_int_equal(v.type, HCB_NULL);
    hcb_value_release(&v);
}

static void test_refused(void **state)
{
    static const struct row refused[] = {
        {"9223372036854775808", "the integer 9223372036854775808 is beyond 64 bits"},
        {"-9223372036854775809", "the integer -9223372036854775809 is beyond 64 bits"},
        {"1e999", "the number 1e999 is too large"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct hcb_value v = {0};
        struct hcb_err err = {0};
        assert_int_equal(hcb_scalar_from_arg(refused[i].text, &v, &err), HOTCB_EFORMAT);
        assert_int_equal(v.type, HCB_NULL);
        assert_non_null(strstr(err.text, refused[i].means));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resolve),
        cmocka_unit_test(test_args),
        cmocka_unit_test(test_nothing_is_null_in_yaml),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
