/* When a callback is due: each crossed multiple once, whatever the steps do. */
#include "controller/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define END (INT64_MIN + 1) /* no step of the rows */
#define BIG (INT64_C(1) << 53)

static const struct row {
    const char *name;
    int64_t every;
    int64_t steps[24]; /* up to END */
    const char *due;   /* an 'x' for each step that is */
} rows[] = {
    {"each", 1, {0, 1, 2, 3, END}, "xxxx"},
    {"each, from anywhere", 1, {7, 8, 9, END}, "xxx"},
    {"from 0", 5, {0, 1, 2, 3, 4, 5, 6, 9, 10, 11, END}, "x....x..x."},
    {"from 1", 5, {1, 2, 4, 5, 6, 10, END}, "...x.x"},
    {"repeats", 5, {0, 0, 0, 0, 1, 1, 1, 1, 5, 5, 5, 6, 6, 10, 10, END}, "x.......x....x."},
    {"strides", 5, {3, 7, 11, 15, 19, 23, 27, END}, ".xxx.xx"},
    {"strides that land on multiples", 5, {0, 10, 20, 30, END}, "xxxx"},
    {"strides over several", 5, {0, 100, 101, 104, 105, 1000, END}, "xx..xx"},
    {"never", 0, {0, 1, 2, 5, END}, "...."},
    {"never, negative", -5, {0, 5, 10, END}, "..."},
    {"backwards to a multiple", 5, {0, 5, 9, 0, 1, 5, END}, "xx.x.x"},
    {"backwards to another step", 5, {0, 5, 9, 3, 4, 5, 6, END}, "xx...x."},
    {"backwards twice", 5, {10, 8, 6, 5, 4, END}, "x..x."},
    {"negative steps", 5, {-11, -10, -9, -6, -5, -1, 0, 1, 5, END}, ".x..x.x.x"},
    {"negative strides", 5, {-13, -9, -4, 1, END}, ".xxx"},
    {"large steps", 5, {10000000000, 10000000004, 10000000005, END}, "x.x"},
    {"past 2^31", 2, {2147483646, 2147483647, 2147483648, 2147483649, END}, "x.x."},
    {"past 2^53", 3, {BIG, BIG + 1, BIG + 2, BIG + 3, BIG + 4, END}, ".x..x"},
    {"to the end", 10, {INT64_MAX - 8, INT64_MAX - 7, INT64_MAX - 1, INT64_MAX, INT64_MAX, END},
     ".x..."},
    {"each, to the end", 1, {INT64_MAX - 1, INT64_MAX, INT64_MAX, END}, "xx."},
    {"the largest interval", INT64_MAX, {0, 1, INT64_MAX - 1, INT64_MAX, INT64_MAX, END}, "x..x."},
    {"from the least", 2, {INT64_MIN, INT64_MIN + 2, INT64_MIN + 3, INT64_MIN + 4, END}, "xx.x"},
    {"from the least, in strides", INT64_MAX, {INT64_MIN, -1, 0, 1, INT64_MAX, END}, ".xx.x"},
    {"back from the end", 10, {INT64_MAX, 0, 9, 10, END}, ".x.x"},
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hcb_schedule s = {0};
        char due[25] = "";
        for (size_t k = 0; rows[i].steps[k] != END; k++) {
            const int64_t *step = &rows[i].steps[k];
            due[k] = hcb_schedule_due(&s, rows[i].every, *step, k > 0 && *step < step[-1]) ? 'x'
                                                                                           : '.';
        }
        if (strcmp(due, rows[i].due) != 0)
            fail_msg("%s: %s, not %s", rows[i].name, due, rows[i].due);
    }
}

/* A change of the interval is counted from the last step. */
static const struct change {
    int64_t before, after;
    int64_t steps[12]; /* the change comes after the first END */
    const char *due;
} changes[] = {
    {10, 3, {0, 5, END, 6, 7, 9, END}, "x.x.x"},
    {3, 10, {0, 3, 5, END, 6, 9, 10, 20, END}, "xx...xx"},
    {1000, 10, {0, 1005, END, 1006, 1010, END}, "xx.x"},
    {10, 0, {0, 10, END, 20, 30, END}, "xx.."},
    {0, 10, {3, 5, END, 7, 10, END}, "...x"}, /* nothing was counted: as at the first step */
    {0, 10, {3, 5, END, 20, 25, 30, END}, "..x.x"},
    {10, 10, {0, 5, END, 9, 10, END}, "x..x"},
    {7, INT64_MAX, {0, 7, END, 8, INT64_MAX, END}, "xx.x"},
};

static void test_change(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(changes); i++) {
        struct hcb_schedule s = {0};
        char due[13] = "";
        const int64_t *step = changes[i].steps;
        size_t n = 0;
        int64_t last = 0;
        for (; *step != END; last = *step++)
            due[n++] = hcb_schedule_due(&s, changes[i].before, *step, false) ? 'x' : '.';
        hcb_schedule_change(&s, changes[i].after, last);
        for (step++; *step != END; step++)
            due[n++] = hcb_schedule_due(&s, changes[i].after, *step, false) ? 'x' : '.';
        if (strcmp(due, changes[i].due) != 0)
            fail_msg("%zu: %s, not %s", i, due, changes[i].due);
    }
}

/* Whatever the steps: as often as multiples are crossed, and never twice for one. */
static void test_random_walks(void **state)
{
    (void)state;
    srand(1);
    for (int walk = 0; walk < 2000; walk++) {
        struct hcb_schedule s = {0};
        int64_t every = 1 + rand() % 9, step = rand() % 40 - 20, counted = 0, crossed = 0;
        int64_t floor_before = 0;
        for (int k = 0; k < 60; k++) {
            int64_t floor = step >= 0 ? step / every : -((-step + every - 1) / every);
            bool first = k == 0;
            crossed += first ? step % every == 0 : floor > floor_before;
            counted += hcb_schedule_due(&s, every, step, false);
            assert_int_equal(counted, crossed);
            floor_before = floor;
            step += rand() % 7;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_change),
        cmocka_unit_test(test_random_walks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
