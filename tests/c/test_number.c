/* Numbers and their texts: rows, round trips of random doubles, other locales. */
#include "base/number.h"
#include "files.h"

#include <locale.h>
#include <math.h>

struct int_row {
    const char *text;
    bool ok, overflow;
    int64_t value;
};

static const struct int_row int_rows[] = {
    {"0", true, false, 0},
    {"-0", true, false, 0},
    {"+7", true, false, 7},
    {"007", true, false, 7},
    {"9223372036854775807", true, false, INT64_MAX},
    {"-9223372036854775808", true, false, INT64_MIN},
    {"9007199254740993", true, false, 9007199254740993},
    {"9223372036854775808", false, true, 0},
    {"-9223372036854775809", false, true, 0},
    {"99999999999999999999999999999999999999", false, true, 0},
    {"99999999999999999999x", false, false, 0},
    {"", false, false, 0},
    {"-", false, false, 0},
    {"+", false, false, 0},
    {" 1", false, false, 0},
    {"1 ", false, false, 0},
    {"0x10", false, false, 0},
    {"1.0", false, false, 0},
    {"1_000", false, false, 0},
};

static void test_ints(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(int_rows) / sizeof(int_rows[0]); i++) {
        const struct int_row *row = &int_rows[i];
        int64_t value = 0;
        bool overflow = true;
        assert_int_equal(hcb_parse_int(row->text, strlen(row->text), &value, &overflow), row->ok);
        assert_int_equal(overflow, row->overflow);
        assert_true(value == row->value);
    }
}

struct real_row {
    const char *text;
    double value;
};

static const struct real_row real_rows[] = {
    {"1e-4", 1e-4},
    {".5", .5},
    {"3.", 3},
    {"2E5", 2e5},
    {"-1.25e+2", -125},
    {"+0.1", 0.1},
    {"0e0", 0},
    {"000000000000000000000000000001", 1},
    {"0.000000000000000000000000000000000000000000000000000000000000000001e66", 1},
    {"1797693134862315708145274237317043567980705675258449965989174768031572607800285387605e224",
     1.797693134862315708145274237317043567980705675258449965989174768031572607800285387605e308},
    {"1e400", INFINITY},
    {"-1e99999999999999999999", -INFINITY},
    {"1e-99999999999999999999", 0},
    {"2.2250738585072011e-308", 2.2250738585072011e-308},
    {"4.9e-324", 4.9e-324},
    {"2.4703282292062327e-324", 0}, /* below half of the least denormal */
    {"9007199254740993.0", 9007199254740992.0},
};

static void test_reals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(real_rows) / sizeof(real_rows[0]); i++) {
        double d = -1;
        assert_true(hcb_parse_real(real_rows[i].text, strlen(real_rows[i].text), &d));
        assert_true(d == real_rows[i].value);
    }
}

static void test_what_is_no_real(void **state)
{
    static const char *const rows[] = {"", ".", "-", "e5", "1e", "1e+", "1.2.3", "1,5", "inf",
                                       "nan", "0x1p3", "1e5 ", " 1", "--1", "1e5.", "22:22"};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double d;
        assert_false(hcb_parse_real(rows[i], strlen(rows[i]), &d));
    }
}

/* A tie between two doubles is decided by the last of a thousand digits. */
static void test_long_mantissa(void **state)
{
    (void)state;
    char text[1200] = "9007199254740993."; /* exactly between ...992 and ...994 */
    memset(text + 17, '0', 1000);
    double d;
    assert_true(hcb_parse_real(text, 1017, &d));
    assert_true(d == 9007199254740992.0);
    text[1017] = '1';
    assert_true(hcb_parse_real(text, 1018, &d));
    assert_true(d == 9007199254740994.0);
}

struct format_row {
    double value;
    const char *text;
};

static const struct format_row format_rows[] = {
    {0, "0.0"},
    {-0.0, "-0.0"},
    {1, "1.0"},
    {-3, "-3.0"},
    {0.1, "0.1"},
    {0.5, "0.5"},
    {1e-4, "0.0001"},
    {1.5e-5, "0.000015"},
    {1e-6, "1e-6"},
    {2.5e-7, "2.5e-7"},
    {123456.789, "123456.789"},
    {999999999999999.0, "999999999999999.0"},
    {1e15, "1000000000000000.0"},
    {9007199254740993.0, "9007199254740992.0"},
    {1e16, "1e16"},
    {1.25e300, "1.25e300"},
    {0.1 + 0.2, "0.30000000000000004"},
    {1767225600.123, "1767225600.123"},
    {5e-324, "5e-324"},
    {1.7976931348623157e308, "1.7976931348623157e308"},
    {INFINITY, "inf"},
    {-INFINITY, "-inf"},
    {NAN, "nan"},
};

static void test_format(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(format_rows) / sizeof(format_rows[0]); i++) {
        char text[HCB_REAL_CHARS];
        int n = hcb_format_real(text, format_rows[i].value);
        assert_string_equal(text, format_rows[i].text);
        assert_int_equal(n, strlen(text));
    }
}

static double double_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof(d));
    return d;
}

/* xorshift64*, so that the numbers are the same everywhere. */
static uint64_t next_random(uint64_t *x)
{
    *x ^= *x >> 12;
    *x ^= *x << 25;
    *x ^= *x >> 27;
    return *x * 2685821657736338717u;
}

static void assert_round_trip(double d)
{
    char text[HCB_REAL_CHARS];
    double back;
    int n = hcb_format_real(text, d);
    assert_true(n > 0 && n < HCB_REAL_CHARS && (size_t)n == strlen(text));
    assert_non_null(strpbrk(text, ".e"));
    assert_null(strchr(text, ','));
    assert_true(hcb_parse_real(text, (size_t)n, &back));
    assert_memory_equal(&d, &back, sizeof(d));
}

static void round_trips(int count)
{
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < count; i++) {
        uint64_t bits = next_random(&x);
        double any = double_of(bits), denormal = double_of(bits & 0x800fffffffffffff);
        if (hcb_is_finite(any))
            assert_round_trip(any);
        assert_round_trip(denormal);
        assert_round_trip((double)(int64_t)bits / 1000.0);
    }
}

static void test_random_doubles_round_trip(void **state)
{
    (void)state;
    round_trips(100000);
}

/* The digits of the shortest decimal that reads back, and the power of ten that the first
 * of them stands for: by printf and strtod alone. d > 0. */
static int shortest_by_printf(double d, char digits[32])
{
    char text[64];
    for (int precision = 0; precision < 17; precision++) {
        snprintf(text, sizeof(text), "%.*e", precision, d);
        if (strtod(text, NULL) == d)
            break;
    }
    size_t n = 0;
    for (const char *p = text; *p != 'e'; p++)
        if (*p >= '0' && *p <= '9')
            digits[n++] = *p;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    digits[n] = '\0';
    return atoi(strchr(text, 'e') + 1);
}

/* The same of a text without an exponent. */
static int digits_of(const char *text, char digits[32])
{
    size_t whole = strcspn(text, "."), n = 0, first = strspn(text, "0.");
    for (size_t i = first; text[i]; i++)
        if (text[i] != '.')
            digits[n++] = text[i];
    while (n > 1 && digits[n - 1] == '0')
        n--;
    digits[n] = '\0';
    return first < whole ? (int)(whole - first) - 1 : -(int)(first - whole);
}

static void assert_shortest(double d)
{
    char text[HCB_REAL_CHARS], ours[32], theirs[32];
    hcb_format_real(text, d);
    assert_non_null(strchr(text, '.'));
    assert_int_equal(digits_of(text, ours), shortest_by_printf(d, theirs));
    assert_string_equal(ours, theirs);
}

/* Those that are written without printf, and their neighbours, which are not. */
static void test_millionths(void **state)
{
    static const double edges[] = {1e-5, 0.000011, 0.999999, 0.9999995, 1.000001, 4294967295.999999,
                                   4294967296.000001, 4503599627.370495, 4503599627.370496,
                                   4503599627.370497, 8589934592.000001, 9007199254.740991,
                                   1780000000.123456, 1780000000.999999, 1779999999.9999998};
    uint64_t x = 362436069;
    (void)state;
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
        assert_shortest(edges[i]);
        assert_shortest(nextafter(edges[i], 1e300));
        if (edges[i] > 1e-5)
            assert_shortest(nextafter(edges[i], 0));
    }
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next_random(&x);
        double d = (double)((bits >> 11) % (UINT64_C(9007199254740992) >> (bits & 31))) / 1e6;
        if (d < 1e-5)
            continue;
        assert_shortest(d);
        assert_shortest(nextafter(d, 1e300));
        assert_round_trip(-d);
    }
}

/* What is read without strtod, and what just is not, is what strtod says. */
static void test_short_reals(void **state)
{
    static const char *const rows[] = {
        "9007199254740992", "9007199254740993", "9007199254740993.5", "0.9007199254740993",
        ".9007199254740992", "900719925474099.2", "999999999999999999", "9999999999999999999",
        "99999999999999999999", "0.000000000000000001", "0.0000000000000000001", "-0.0", "-.0",
        "1780000000.123456", "00000000000000000.1", "0.3", "123456789.123456789",
    };
    uint64_t x = 521288629;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double d, theirs = strtod(rows[i], NULL);
        assert_true(hcb_parse_real(rows[i], strlen(rows[i]), &d));
        assert_memory_equal(&d, &theirs, sizeof(d));
    }
    for (int i = 0; i < 20000; i++) {
        char text[40];
        uint64_t bits = next_random(&x);
        snprintf(text, sizeof(text), "%s%llu.%0*llu", i & 1 ? "-" : "",
                 (unsigned long long)(bits >> (16 + bits % 48)), (int)(bits % 9),
                 (unsigned long long)(bits >> 40));
        double d, theirs = strtod(text, NULL);
        assert_true(hcb_parse_real(text, strlen(text), &d));
        assert_memory_equal(&d, &theirs, sizeof(d));
    }
}

static void test_format_int(void **state)
{
    uint64_t x = 88675123;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        char ours[HCB_INT_CHARS], theirs[32];
        int64_t v = i == 0   ? INT64_MIN
                    : i == 1 ? INT64_MAX
                    : i < 44 ? (int64_t)(i & 1 ? pow(10, i / 2 - 1) : -pow(10, i / 2 - 1))
                             : (int64_t)next_random(&x) >> (i % 64);
        int n = hcb_format_int(ours, v);
        assert_int_equal(n, snprintf(theirs, sizeof(theirs), "%lld", (long long)v));
        assert_string_equal(ours, theirs);
    }
}

/* As the double is written that is nearest, where doubles are that dense. */
static void test_format_millionths(void **state)
{
    static const int64_t rows[] = {0, 1, -1, 10, 999999, 1000000, -1000000, 1000001, 1780000000123456,
                                   1780000000999999, 1780000001000000, -1780000000999990,
                                   (INT64_C(1) << 52) - 1};
    char ours[HCB_REAL_CHARS], theirs[64];
    uint64_t x = 675248;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) + 20000; i++) {
        bool row = i < sizeof(rows) / sizeof(rows[0]);
        int64_t v = row ? rows[i] : (int64_t)next_random(&x) >> (11 + i % 50);
        double d;
        int n = hcb_format_millionths(ours, v);
        assert_int_equal(n, strlen(ours));
        assert_true(hcb_parse_real(ours, (size_t)n, &d) && d == (double)v / 1e6);
        hcb_format_real(theirs, (double)v / 1e6);
        if (v > 10 && v < INT64_C(1) << 52)
            assert_string_equal(ours, theirs);
    }
    assert_int_equal(hcb_format_millionths(ours, INT64_MIN), 21);
    assert_string_equal(ours, "-9223372036854.775808");
    hcb_format_millionths(ours, INT64_MAX);
    assert_string_equal(ours, "9223372036854.775807");
}

static void test_kinds(void **state)
{
    (void)state;
    assert_true(hcb_is_nan(NAN) && hcb_is_nan(-NAN));
    assert_false(hcb_is_nan(INFINITY) || hcb_is_nan(0.0) || hcb_is_nan(5e-324));
    assert_true(hcb_is_finite(0.0) && hcb_is_finite(-1.7976931348623157e308));
    assert_false(hcb_is_finite(INFINITY) || hcb_is_finite(-INFINITY) || hcb_is_finite(NAN));
}

static bool use_german(void)
{
    return setlocale(LC_ALL, "de_DE.UTF-8") && strcmp(localeconv()->decimal_point, ",") == 0;
}

/* Where the system has not installed the locale, it may know how to make it. */
static bool make_german(void)
{
    char command[300];
    snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s >/dev/null 2>&1",
             scratch("de_DE.UTF-8"));
    return system(command) == 0 && setenv("LOCPATH", scratch_dir, 1) == 0;
}

static void test_a_locale_with_a_comma(void **state)
{
    (void)state;
    if (!use_german() && !(make_german() && use_german()))
        skip();
    test_reals(NULL);
    test_what_is_no_real(NULL);
    test_long_mantissa(NULL);
    test_format(NULL);
    test_format_int(NULL);
    round_trips(1000);
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ints),
        cmocka_unit_test(test_reals),
        cmocka_unit_test(test_what_is_no_real),
        cmocka_unit_test(test_long_mantissa),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_random_doubles_round_trip),
        cmocka_unit_test(test_millionths),
        cmocka_unit_test(test_short_reals),
        cmocka_unit_test(test_format_int),
        cmocka_unit_test(test_format_millionths),
        cmocka_unit_test(test_kinds),
        WITH_SCRATCH(test_a_locale_with_a_comma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
