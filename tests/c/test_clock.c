/* Times as text: against gmtime and printf, around the seconds and far from them. */
#include "base/clock.h"
#include "scratch.h"

static void expect(char out[80], int64_t us)
{
    int64_t second = us / 1000000, rest = us % 1000000;
    if (rest < 0) {
        second--;
        rest += 1000000;
    }
    time_t t = (time_t)second;
    struct tm tm;
    assert_non_null(gmtime_r(&t, &tm));
    snprintf(out, 80, "%04lld-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900LL,
             tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(rest / 1000));
}

static void assert_stamp(struct hcb_stamp *stamp, int64_t us)
{
    char expected[80];
    expect(expected, us);
    assert_int_equal(hcb_stamp_put(stamp, us), strlen(expected));
    assert_string_equal(stamp->text, expected);
}

static const int64_t moments[] = {
    0, 1, 999, 1000, 999999, 1000000, -1, -999, -1000, -1000000, -1000001,
    1780000000123456, 1780000000999999, 1780000001000000, /* never rounded up */
    951782399999999, 951782400000000, 4107542399999999, 4107542400000000, /* 29 February; or not */
    -62135596800000000, -62135596800000001, -62198755200000000, /* the years 1, 0 and -1 */
    253402300799999999, 253402300800000000, INT64_MAX, INT64_MIN,
};

static void test_moments(void **state)
{
    struct hcb_stamp kept = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
        struct hcb_stamp fresh = {0};
        assert_stamp(&fresh, moments[i]);
        assert_stamp(&kept, moments[i]);
    }
}

/* One stamp for all, in whatever order: a clock may be set back. */
static void test_one_after_another(void **state)
{
    struct hcb_stamp stamp = {0};
    uint64_t x = 88172645463325252u;
    (void)state;
    for (int i = 0; i < 100000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        assert_stamp(&stamp, (int64_t)x >> (i % 3 == 0 ? x % 64 : 40));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_one_after_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
