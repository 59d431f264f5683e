/* Failures within the last 100 calls, against counting them all. */
#include "controller/failures.h"
#include "script/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct row {
    int64_t calls[8]; /* that failed, up to 0 */
    int recent;       /* after the last of them */
} rows[] = {
    {{1}, 1},
    {{7, 7, 7}, 3},
    {{1, 2, 3}, 3},
    {{1, 100}, 2},
    {{1, 101}, 1},
    {{1, 50, 101}, 2},
    {{1, 50, 149, 150}, 2},
    {{INT64_MAX - 1, INT64_MAX}, 2},
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hcb_failures f;
        int recent = 0;
        hcb_failures_clear(&f);
        for (const int64_t *call = rows[i].calls; *call; call++)
            recent = hcb_failures_add(&f, *call);
        assert_int_equal(recent, rows[i].recent);
        hcb_failures_clear(&f);
        assert_int_equal(hcb_failures_add(&f, 5), 1);
    }
}

static void test_random(void **state)
{
    static const int odds[] = {1, 2, 10, 99, 101, 500};
    static char failed[20001];
    (void)state;
    for (size_t i = 0; i < COUNT(odds); i++) {
        struct hcb_failures f;
        hcb_failures_clear(&f);
        srand((unsigned)i);
        for (int call = 1; call <= 20000; call++) {
            int expected = 0;
            failed[call] = rand() % odds[i] == 0;
            if (!failed[call])
                continue;
            for (int k = call; k > 0 && k > call - HCB_FAILURE_WINDOW; k--)
                expected += failed[k];
            assert_int_equal(hcb_failures_add(&f, call), expected);
        }
    }
}

/* The texts of faults: printable, one line, cut at a character. */
static const struct text_row {
    const char *text;
    size_t n;
    const char *message, *traceback;
} text_rows[] = {
    {"", 0, "", ""},
    {"a\nb", 3, "a\\nb", "a\nb"},
    {"\ta", 2, " a", "  a"},
    {"\x1b[0m\x7f\r", 6, "\\x1b[0m\\x7f\\x0d", "\\x1b[0m\\x7f\\x0d"},
    {"a\0b", 3, "a\\x00b", "a\\x00b"},
    {"\xff\xc3\xa9", 3, "\\xff\xc3\xa9", "\\xff\xc3\xa9"},
    {"\xc3", 1, "\\xc3", "\\xc3"},
    {"%s%n", 4, "%s%n", "%s%n"},
};

static void test_texts(void **state)
{
    struct hcb_fault f;
    char large[5000];
    (void)state;
    for (size_t i = 0; i < COUNT(text_rows); i++) {
        hcb_fault_clear(&f);
        hcb_fault_message(&f, text_rows[i].text, text_rows[i].n);
        hcb_fault_traceback(&f, text_rows[i].text, text_rows[i].n);
        assert_string_equal(f.message, text_rows[i].message);
        assert_string_equal(f.traceback, text_rows[i].traceback);
    }
    for (size_t n = 1000; n < 1040; n++) {
        memset(large, 'x', sizeof(large));
        memcpy(large + n, "\xe2\x82\xac", 3);
        hcb_fault_message(&f, large, sizeof(large));
        assert_true(strlen(f.message) <= sizeof(f.message) - 1);
        assert_string_equal(f.message + strlen(f.message) - 3, "...");
    }
    assert_int_equal(hcb_fault_set(&f, HCB_FILE, "%d %s", 5, "x"), -1);
    assert_string_equal(f.message, "5 x");
    assert_string_equal(f.traceback, "");
    assert_string_equal(hcb_reason_name(f.reason), "file");
    assert_string_equal(hcb_reason_name(HCB_FINE), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
