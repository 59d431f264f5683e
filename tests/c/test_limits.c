/* What one callback may use: which maps are taken, and what is said of others. */
#include "base/json.h"
#include "control/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct row {
    const char *json;
    const char *want; /* time memory errors coroutines, or a part of the message */
} rows[] = {
    {"null", "7 8 9 1"},
    {"{}", "7 8 9 1"},
    {"{\"time_ms\":1}", "1 8 9 1"},
    {"{\"time_ms\":3600000,\"memory_mb\":4096,\"errors\":100}", "3600000 4096 100 1"},
    {"{\"errors\":0,\"coroutines\":false}", "7 8 0 0"},
    {"{\"time_ms\":null,\"memory_mb\":null,\"errors\":null,\"coroutines\":null}", "50 16 1 0"},
    {"{\"time_ms\":0}", "limits.time_ms: must be a whole number from 1 to 3600000, not 0"},
    {"{\"time_ms\":3600001}", "limits.time_ms: must be"},
    {"{\"time_ms\":20.0}", "limits.time_ms: must be a whole number from 1 to 3600000, not 20.0"},
    {"{\"memory_mb\":4097}", "limits.memory_mb: must be a whole number from 1 to 4096, not 4097"},
    {"{\"memory_mb\":\"64\"}", "not \"64\""},
    {"{\"errors\":-1}", "limits.errors: must be a whole number from 0 to 100, not -1"},
    {"{\"coroutines\":1}", "limits.coroutines: must be true or false, not 1"},
    {"{\"coroutines\":[]}", "not a list"},
    {"{\"time\":5}", "limits.time: unknown limit"},
    {"{\"time_m\":5}", "limits.time_m: unknown limit - did you mean 'time_ms'?"},
    {"{\"x\":5}", "(known: time_ms, memory_mb, errors, coroutines)"},
    {"{\"time_ms\":5,\"memory_mb\":0}", "limits.memory_mb: must be"},
    {"[]", "limits: must be a map of names and values, not a list"},
    {"true", "limits: must be a map of names and values, not true"},
};

static void test_rows(void **state)
{
    const struct hcb_limits defaults = HCB_LIMITS_DEFAULT;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hcb_limits limits = {7, 8, 9, true};
        struct hcb_value v = {0};
        struct hcb_err err = {0};
        char got[1100];
        assert_int_equal(hcb_json_parse(rows[i].json, strlen(rows[i].json), &v, NULL), 0);
        int rc = hcb_limits_read(&limits, &defaults, &v, &err);
        snprintf(got, sizeof(got), "%d %d %d %d", (int)limits.time_ms, (int)limits.memory_mb,
                 (int)limits.errors, limits.coroutines);
        if (rc < 0) /* all or nothing */
            assert_string_equal(got, "7 8 9 1");
        if (rc < 0)
            snprintf(got, sizeof(got), "%s", err.text);
        if (!strstr(got, rows[i].want))
            fail_msg("%s: %s, not %s", rows[i].json, got, rows[i].want);
        hcb_value_release(&v);
    }
    struct hcb_limits limits = defaults;
    assert_int_equal(hcb_limits_read(&limits, &defaults, NULL, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
