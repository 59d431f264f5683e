/* The public header stands by itself: it comes first here, and what it says of numbers
 * and defaults is what the library does. */
#include <hotcb/hotcb.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_errors(void **state)
{
    static const struct { int number; const char *name, *text; } rows[] = {
#define ERROR_ROW(name, number, text) {name, #name, text},
        HOTCB_ERRORS(ERROR_ROW)
#undef ERROR_ROW
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(rows[i].number, -(int)(i + 1)); /* they are never renumbered */
        assert_int_equal(strncmp(rows[i].name, "HOTCB_E", 7), 0);
        assert_string_equal(hotcb_strerror(rows[i].number), rows[i].text);
    }
    assert_int_equal(HOTCB_OK, 0);
}

/* Zero is the default of every option. */
static void test_options(void **state)
{
    hotcb_options opt = HOTCB_OPTIONS_INIT, zero;
    (void)state;
    memset(&zero, 0, sizeof(zero));
    assert_int_equal(opt.size, sizeof(opt));
    zero.size = sizeof(zero);
    assert_null(opt.dir);
    assert_null(opt.log);
    assert_memory_equal(&opt.debounce_steps, &zero.debounce_steps, 2 * sizeof(int64_t));
    assert_memory_equal(&opt.time_ms, &zero.time_ms, 5 * sizeof(int64_t));
    assert_int_equal(opt.log_level, 0);
}

static void test_versions(void **state)
{
    int major, minor, patch;
    (void)state;
    assert_int_equal(sscanf(HOTCB_VERSION, "%d.%d.%d", &major, &minor, &patch), 3);
    assert_string_equal(hotcb_version(), HOTCB_VERSION);
    assert_int_equal(hotcb_abi(), HOTCB_ABI);
    assert_true(HOTCB_DEBUG < HOTCB_INFO && HOTCB_INFO < HOTCB_WARN && HOTCB_WARN < HOTCB_ERROR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
