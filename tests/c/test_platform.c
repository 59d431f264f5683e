/* What the platform says of itself: whatever stands in for what is missing, it is true. */
#include "base/clock.h"
#include "base/platform.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char constant[] = "a text that is not changed";
static char variable[] = "a text that may be";

static bool is_constant(const void *place)
{
    uintptr_t low, high;
    hcb_platform_constants(&low, &high);
    return (uintptr_t)place >= low && (uintptr_t)place < high;
}

static void test_constants(void **state)
{
    char *heap = strdup(constant);
    char stack[] = "another one";
    (void)state;
#ifndef HOTCB_PORTABLE
    assert_true(is_constant(constant));
    assert_true(is_constant("a literal"));
#endif
    assert_false(is_constant(variable));
    assert_false(is_constant(heap));
    assert_false(is_constant(stack));
    assert_false(is_constant(strerror(0))); /* of a library */
    free(heap);
}

/* It lags behind the exact one, and never goes back. */
static void test_coarse_clock(void **state)
{
    hcb_clock_fn *read = hcb_platform_coarse_clock();
    int64_t last = 0;
    (void)state;
    for (int i = 0; i < 100000; i++) {
        int64_t before = hcb_clock_coarse_ns(), now = hcb_clock_coarse_by(read);
        assert_true(now >= last && now >= before && now <= hcb_clock_ns());
        last = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_coarse_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
