/* What hotcb costs: the histogram is true to a quarter, over the whole range. */
#include "controller/cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A hundred applies that cost the same: that is their p99, from above. */
static void test_precision(void **state)
{
    (void)state;
    for (int64_t ns = 8; ns < INT64_MAX / 100; ns += ns / 3) {
        struct hcb_cost c = {.applies = 100};
        for (int i = 0; i < 100; i++)
            hcb_cost_add(&c, ns);
        double p99_ns = hcb_cost_p99_ms(&c) * 1e6;
        if (p99_ns < (double)ns * (1 - 1e-9) || p99_ns > (double)ns * 1.25 + 1e-6)
            fail_msg("%lld ns: %g", (long long)ns, p99_ns);
        assert_int_equal(c.busy, 100);
    }
}

/* What a script does each so many calls is timed as often as all else: each 16th time. */
static void test_what_is_timed(void **state)
{
    (void)state;
    for (int64_t calls = 0; calls < 32; calls++)
        assert_true(hcb_cost_is_timed(calls));
    for (int64_t every = 1; every <= 256; every++)
        for (int64_t first = 0; first < every; first++) {
            int timed = 0;
            for (int i = 0; i < 1600; i++)
                timed += hcb_cost_is_timed(32 + first + every * i);
            if (timed < 50 || timed > 200)
                fail_msg("every %lld from %lld: %d of 1600", (long long)every, (long long)first,
                         timed);
        }
}

static void test_small_and_strange(void **state)
{
    struct hcb_cost c = {0};
    (void)state;
    assert_true(hcb_cost_p99_ms(&c) == 0);
    c.applies = 1;
    hcb_cost_add(&c, -5); /* a clock that is no help is no crash */
    hcb_cost_add(&c, 0);
    assert_true(hcb_cost_p99_ms(&c) >= 0);
    hcb_cost_add(&c, INT64_MAX / 2);
    assert_true(hcb_cost_p99_ms(&c) > 1e9);
}

static const struct row {
    int64_t applies, cheap, dear; /* how many cost 1 us, and 1 ms */
    double from_ms, to_ms;
} rows[] = {
    {1000, 0, 0, 0, 0},          /* nothing was ever done */
    {1000, 10, 0, 0, 0},         /* one in a hundred: the 99th is still free */
    {1000, 11, 0, 0.001, 0.002},
    {1000, 1000, 10, 0.001, 0.002},
    {1000, 989, 11, 1, 1.3},
    {50, 49, 1, 1, 1.3},
    {1000000, 0, 10001, 1, 1.3},
};

static void test_p99(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hcb_cost c = {.applies = rows[i].applies};
        for (int64_t k = 0; k < rows[i].cheap; k++)
            hcb_cost_add(&c, 1000);
        for (int64_t k = 0; k < rows[i].dear; k++)
            hcb_cost_add(&c, 1000000);
        double p99 = hcb_cost_p99_ms(&c);
        if (p99 < rows[i].from_ms || p99 > rows[i].to_ms)
            fail_msg("row %zu: %g", i, p99);
        assert_int_equal(c.total_ns, rows[i].cheap * 1000 + rows[i].dear * 1000000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precision),
        cmocka_unit_test(test_what_is_timed),
        cmocka_unit_test(test_small_and_strange),
        cmocka_unit_test(test_p99),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
