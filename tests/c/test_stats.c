/* Statistics by every set of kernels that this processor runs, against two plain passes in
 * long double. How tensors are gone through is in test_tensor.c. */
#include "stats_rig.h"

#include <fenv.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 70000 /* more than two blocks of the kernels, and no whole number of them */

static unsigned char store[MOST * 8 + 64];
static long double values[MOST];

/* ---- inputs ---- */

static long double tiny(enum hcb_dtype dtype)
{
    return dtype == HCB_F64 ? 0x1p-1074L : dtype == HCB_F16 ? 0x1p-24L
        : dtype == HCB_F32 ? 0x1p-149L : 0x1p-133L;
}

static long double huge(enum hcb_dtype dtype)
{
    return dtype == HCB_F64 ? DBL_MAX : dtype == HCB_F16 ? 65504 : 0x1.fep127L;
}

typedef long double (*input)(enum hcb_dtype dtype, int64_t i);

static long double normal(enum hcb_dtype dtype, int64_t i)
{
    return (void)dtype, (void)i, rig_normal();
}

static long double huge_mean(enum hcb_dtype dtype, int64_t i)
{
    return (void)i, (dtype == HCB_F16 ? 1e3 : dtype == HCB_F64 ? 1e14 : 1e6) + rig_normal();
}

static long double constant(enum hcb_dtype dtype, int64_t i)
{
    return (void)dtype, (void)i, 0.1L;
}

static long double zeros(enum hcb_dtype dtype, int64_t i)
{
    return (void)dtype, i % 3 ? 0.0L : -0.0L;
}

static long double sparse(enum hcb_dtype dtype, int64_t i)
{
    return (void)dtype, i % 7 == 3 ? rig_normal() : 0;
}

static long double positive(enum hcb_dtype dtype, int64_t i)
{
    return (void)dtype, (void)i, fabs(rig_normal());
}

static long double negative(enum hcb_dtype dtype, int64_t i)
{
    return (void)dtype, (void)i, -fabs(rig_normal());
}

/* As what comes out of a rectifier. */
static long double half_zeros(enum hcb_dtype dtype, int64_t i)
{
    return (void)dtype, (void)i, fmax(0, rig_normal());
}

static long double below_zero(enum hcb_dtype dtype, int64_t i)
{
    return (void)dtype, i % 3 ? -1 - rig_uniform() : -0.0L;
}

static long double two_values(enum hcb_dtype dtype, int64_t i)
{
    return (void)dtype, i % 2 ? 0.7381L : -1.3127L;
}

static long double huge_and_small(enum hcb_dtype dtype, int64_t i)
{
    return (i % 4 < 2 ? 1 : -1) * (i % 2 ? huge(dtype) / (1 + (i & 1023)) : 1 + tiny(dtype) * i);
}

static long double two_scales(enum hcb_dtype dtype, int64_t i)
{
    return rig_normal() * (i < 700 ? 1e-7 : dtype == HCB_F16 ? 1e3 : 1e20);
}

static long double falling_scale(enum hcb_dtype dtype, int64_t i)
{
    return rig_normal() * sqrt((double)huge(dtype)) * pow(0.5, (double)i / 16);
}

/* Through the size below which squares are lost. */
static long double rising_scale(enum hcb_dtype dtype, int64_t i)
{
    int from = dtype == HCB_F64 ? -420 : dtype == HCB_F16 ? -20 : -80;
    return ldexp(rig_normal(), from + (int)(i / (dtype == HCB_F16 ? 900 : 100)));
}

/* And through the one above. */
static long double rising_high(enum hcb_dtype dtype, int64_t i)
{
    int from = dtype == HCB_F64 ? 390 : dtype == HCB_F16 ? -6 : 40;
    return ldexp(rig_uniform(), from + (int)(i / (dtype == HCB_F16 ? 900 : 250)));
}

static long double tiny_then_zeros(enum hcb_dtype dtype, int64_t i)
{
    return i < 260 ? tiny(dtype) * 1000 + tiny(dtype) * (i % 7) : 0;
}

static long double huge_then_zeros(enum hcb_dtype dtype, int64_t i)
{
    return i < 260 ? huge(dtype) / (1 + i % 7) : 0;
}

static long double denormals(enum hcb_dtype dtype, int64_t i)
{
    return (void)i, (long double)(rig_random() % 201) * tiny(dtype) - 100 * tiny(dtype);
}

/* Squares are near what f32 or a double can just hold, or not. */
static long double small_squares(enum hcb_dtype dtype, int64_t i)
{
    return (void)i, rig_normal() * sqrtl(tiny(dtype)) * 0.1L;
}

static long double large_squares(enum hcb_dtype dtype, int64_t i)
{
    return (void)i, (rig_uniform() - 0.5) * sqrt((double)huge(dtype)) * 8;
}

static long double largest(enum hcb_dtype dtype, int64_t i)
{
    return (i % 3 ? 1 : -1) * huge(dtype);
}

static long double all_largest(enum hcb_dtype dtype, int64_t i)
{
    return (void)i, huge(dtype);
}

static long double outlier_first(enum hcb_dtype dtype, int64_t i)
{
    return i ? rig_normal() : (dtype == HCB_F16 ? 6e4 : 1e9);
}

static long double outlier_late(enum hcb_dtype dtype, int64_t i)
{
    return (dtype == HCB_F16 ? 1 : 1e5) + (i == 301 ? 50000 : rig_normal());
}

static long double far_from_the_first(enum hcb_dtype dtype, int64_t i)
{
    return i ? 1000 + (dtype == HCB_F64 ? 1e-6 : 1) * rig_uniform() : 0;
}

static long double drifting(enum hcb_dtype dtype, int64_t i)
{
    return (void)dtype, (double)i + rig_normal();
}

static long double few_nans(enum hcb_dtype dtype, int64_t i)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -NAN};
    return (void)dtype, (void)i, rig_random() % 37 ? rig_normal() : odd[rig_random() & 3];
}

/* What is no number stands where the work gets its first idea of the rest. */
static long double nans_first(enum hcb_dtype dtype, int64_t i)
{
    return i < 9 ? (long double)NAN : huge_mean(dtype, i);
}

static long double mostly_nans(enum hcb_dtype dtype, int64_t i)
{
    return (void)dtype, i == 777 ? 3.0L : i % 2 ? (long double)NAN : (long double)INFINITY;
}

static const struct {
    const char *name;
    input of;
} inputs[] = {
    {"normal", normal}, {"huge mean", huge_mean}, {"constant", constant}, {"zeros", zeros},
    {"sparse", sparse}, {"positive", positive}, {"negative", negative},
    {"half zeros", half_zeros}, {"below zero", below_zero},
    {"two values", two_values}, {"huge and small", huge_and_small},
    {"two scales", two_scales}, {"falling scale", falling_scale},
    {"rising scale", rising_scale}, {"rising high", rising_high},
    {"tiny, then zeros", tiny_then_zeros}, {"huge, then zeros", huge_then_zeros},
    {"denormals", denormals}, {"small squares", small_squares},
    {"large squares", large_squares}, {"largest", largest},
    {"all largest", all_largest}, {"outlier first", outlier_first},
    {"outlier late", outlier_late}, {"far from the first", far_from_the_first},
    {"drifting", drifting}, {"few nans", few_nans},
    {"nans first", nans_first}, {"mostly nans", mostly_nans},
};
#define INPUTS (sizeof(inputs) / sizeof(inputs[0]))

/* n elements at `data`, which are what `values` holds then. */
static struct hcb_tensor fill(unsigned char *data, enum hcb_dtype dtype, int64_t n, input of)
{
    for (int64_t i = 0; i < n; i++) {
        rig_put(data, dtype, i, of(dtype, i));
        values[i] = rig_get_at(data + (size_t)i * hcb_dtype_bytes(dtype), dtype);
    }
    return rig_flat(data, dtype, n);
}

static void check_all(const struct hcb_tensor *t, const char *what)
{
    struct rig_stats expected = rig_stats_of(values, t->numel);
    RIG_EACH_KERNEL(k) {
        struct hcb_stats got = rig_run(*k, t, INT64_MAX);
        if (!rig_agrees(&got, &expected, t->dtype))
            fail_msg("%s of %s by %s", what, hcb_dtype_name(t->dtype), (*k)->name);
    }
}

/* ---- tests ---- */

static void test_every_length(void **state)
{
    (void)state;
    for (size_t d = 0; d < RIG_FLOATS; d++)
        for (size_t i = 0; i < INPUTS; i++)
            for (int64_t n = 0; n <= 1100; n++) {
                struct hcb_tensor t = fill(store, rig_floats[d], n, inputs[i].of);
                check_all(&t, inputs[i].name);
            }
}

static void test_long_ones(void **state)
{
    (void)state;
    for (size_t d = 0; d < RIG_FLOATS; d++)
        for (size_t i = 0; i < INPUTS; i++) {
            struct hcb_tensor t = fill(store, rig_floats[d], MOST - (int64_t)i, inputs[i].of);
            check_all(&t, inputs[i].name);
        }
}

static void test_any_alignment(void **state)
{
    (void)state;
    for (size_t d = 0; d < RIG_FLOATS; d++)
        for (int offset = 0; offset < 64; offset++) {
            struct hcb_tensor t = fill(store + offset, rig_floats[d], 900 + offset, huge_mean);
            check_all(&t, "misaligned");
        }
}

/* Behind the last element there is no memory. */
static void test_nothing_behind_is_read(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(two != MAP_FAILED);
    assert_int_equal(mprotect(two + page, page, PROT_NONE), 0);
    for (size_t d = 0; d < RIG_FLOATS; d++)
        for (int64_t n = 1; n <= 500; n++) {
            size_t bytes = (size_t)n * hcb_dtype_bytes(rig_floats[d]);
            struct hcb_tensor t = fill(two + page - bytes, rig_floats[d], n, huge_mean);
            check_all(&t, "at the end of a page");
        }
    munmap(two, 2 * page);
}

static void test_one_odd_value_anywhere(void **state)
{
    (void)state;
    static const long double odd[] = {NAN, INFINITY, -INFINITY, 0, 1e4L, -0.0L};
    enum { N = 3000 };
    for (size_t d = 0; d < RIG_FLOATS; d++) {
        struct hcb_tensor t = fill(store, rig_floats[d], N, normal);
        for (int64_t at = 0; at < N; at += at < 700 ? 1 : 13) {
            long double was = values[at];
            rig_put(store, t.dtype, at, odd[at % 6]);
            values[at] = rig_get(&t, at);
            check_all(&t, "one odd value");
            rig_put(store, t.dtype, at, was);
            values[at] = was;
        }
    }
}

static void test_every_f16(void **state)
{
    (void)state;
    static uint16_t all[65536];
    static long double x[65536];
    static const enum hcb_dtype types[] = {HCB_F16, HCB_BF16};
    for (int i = 0; i < 65536; i++)
        all[i] = (uint16_t)i;
    for (int d = 0; d < 2; d++) {
        struct hcb_tensor t = rig_flat((unsigned char *)all, types[d], 65536);
        for (int i = 0; i < 65536; i++)
            x[i] = rig_get(&t, i);
        struct rig_stats expected = rig_stats_of(x, t.numel);
        RIG_EACH_KERNEL(k) {
            struct hcb_stats got = rig_run(*k, &t, INT64_MAX);
            rig_check(&got, &expected, t.dtype);
        }
    }
}

static void test_pieces(void **state)
{
    (void)state;
    static const int64_t most[] = {1, 7, 64, 1000, 4097};
    for (size_t d = 0; d < RIG_FLOATS; d++)
        for (size_t i = 0; i < INPUTS; i++) {
            struct hcb_tensor t = fill(store, rig_floats[d], 5003, inputs[i].of);
            struct rig_stats expected = rig_stats_of(values, t.numel);
            for (size_t m = 0; m < sizeof(most) / sizeof(most[0]); m++)
                RIG_EACH_KERNEL(k) {
                    struct hcb_stats got = rig_run(*k, &t, most[m]);
                    rig_check(&got, &expected, t.dtype);
                }
        }
}

/* ---- integers ---- */

static uint64_t bits_of(int kind, int64_t i)
{
    switch (kind) {
    case 0: return rig_random();
    case 1: return (uint64_t)1 << 62 | (rig_random() & 3); /* varies in the last bits alone */
    case 2: return i == 0 ? (uint64_t)1 << 63 : rig_random() & 3;
    case 3: return 0;
    case 4: return i % 2 ? (uint64_t)1 << 63 : ((uint64_t)1 << 63) - 1; /* the ends */
    case 5: return ~(uint64_t)0;
    default: return i % 5 ? 0 : 0x8080808080808080u;
    }
}

static void expect_element(const struct hcb_element *e, long double x)
{
    bool is_int = x <= (long double)INT64_MAX;
    assert_int_equal(e->is_int, is_int);
    if (is_int)
        assert_true((long double)e->i == x);
    assert_true(e->d == (double)x);
}

static void test_integers(void **state)
{
    (void)state;
    for (int d = HCB_I8; d <= HCB_BOOL8; d++)
        for (int kind = 0; kind < 7; kind++)
            for (int64_t n = 0; n <= 3000; n += 1 + n / 3) {
                for (int64_t i = 0; i < n; i++) {
                    uint64_t x = bits_of(kind, i);
                    memcpy(store + i * (int64_t)hcb_dtype_bytes(d), &x, hcb_dtype_bytes(d));
                }
                struct hcb_tensor t = rig_flat(store, (enum hcb_dtype)d, n);
                for (int64_t i = 0; i < n; i++)
                    values[i] = rig_get(&t, i);
                check_all(&t, "integers");
                struct hcb_stats got = rig_run(hcb_kernels_best(), &t, 999);
                struct rig_stats expected = rig_stats_of(values, n);
                if (n > 0) {
                    expect_element(&got.min_element, expected.min);
                    expect_element(&got.max_element, expected.max);
                }
            }
}

/* ---- the environment ---- */

static void expect_same(const struct hcb_stats *a, const struct hcb_stats *b)
{
    assert_int_equal(a->zeros, b->zeros);
    assert_memory_equal(&a->mean, &b->mean, sizeof(a->mean));
    assert_memory_equal(&a->std, &b->std, sizeof(a->std));
    assert_memory_equal(&a->l2, &b->l2, sizeof(a->l2));
    assert_memory_equal(&a->min, &b->min, sizeof(a->min));
    assert_memory_equal(&a->max, &b->max, sizeof(a->max));
}

static void round_up(void)
{
    fesetround(FE_UPWARD);
}

static bool is_flushed_or_up(void)
{
#ifdef __x86_64__
    return (_mm_getcsr() & 0x8040) == 0x8040 || fegetround() == FE_UPWARD;
#else
    return true;
#endif
}

static void test_the_host_s_environment(void **state)
{
    (void)state;
    static void (*const set[])(void) = {rig_flush_denormals, round_up};
    static const input of[] = {denormals, normal, small_squares};
    for (size_t d = 0; d < RIG_FLOATS; d++)
        for (size_t i = 0; i < 6; i++)
            RIG_EACH_KERNEL(k) {
                struct hcb_tensor t = fill(store, rig_floats[d], 1500, of[i % 3]);
                struct hcb_stats expected = rig_run(*k, &t, INT64_MAX);
                fenv_t was;
                fegetenv(&was);
                set[i / 3]();
                struct hcb_stats got = rig_run(*k, &t, INT64_MAX);
                bool kept = is_flushed_or_up();
                fesetenv(&was);
                assert_true(kept);
                expect_same(&got, &expected);
            }
}

static void test_no_flag_is_raised(void **state)
{
    (void)state;
    struct hcb_tensor t = fill(store, HCB_F64, 1500, huge_and_small);
    feclearexcept(FE_ALL_EXCEPT);
    rig_run(hcb_kernels_best(), &t, INT64_MAX);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
}

/* ---- large ones ---- */

/* The bound that the header states, for f32 of mean 0 to 1e6 and std 1. */
static void test_bounds(void **state)
{
    (void)state;
    enum { N = 300000 };
    static const double means[] = {0, 1, 10, 1e3, 1e5, 1e6};
    float *x = malloc(N * sizeof(*x));
    long double *exact = malloc(N * sizeof(*exact));
    assert_true(x && exact);
    for (size_t m = 0; m < sizeof(means) / sizeof(means[0]); m++) {
        for (int i = 0; i < N; i++)
            exact[i] = x[i] = (float)(means[m] + rig_normal());
        for (int64_t n = 1; n <= N; n *= 5) {
            struct hcb_tensor t = rig_flat((unsigned char *)x, HCB_F32, n);
            struct rig_stats expected = rig_stats_of(exact, n);
            RIG_EACH_KERNEL(k) {
                struct hcb_stats got = rig_run(*k, &t, INT64_MAX);
                rig_check(&got, &expected, t.dtype);
            }
        }
    }
    free(x);
    free(exact);
}

/* Differences whose roundings all go the same way, from a mean that is near them or was far
 * from them for so long that a block of f32 goes by it. */
static void test_patterns(void **state)
{
    (void)state;
    enum { N = 5000 };
    for (int row = 0; row < 3000; row++) {
        int period = 1 + row % 5, before = row % 2 ? 256 : 0;
        double of[5], first = 1000 * rig_uniform();
        for (int i = 0; i < period; i++)
            of[i] = 1 + 3 * rig_uniform();
        for (int i = 0; i < N; i++) {
            bool is_there = row % 3 || rig_random() % 10 == 0; /* in each third row they are few */
            rig_put(store, HCB_F32, i, i < before ? first : is_there ? of[i % period] : 0);
            values[i] = rig_get_at(store + i * 4, HCB_F32);
        }
        struct hcb_tensor t = rig_flat(store, HCB_F32, N);
        check_all(&t, "pattern");
    }
}

/* One value of the period, and of those that share a lane with it. */
static double in_lanes(int row, int i, const double of[3])
{
    switch (row % 5) {
    case 0: return i ? of[1] : of[0]; /* a large one, then small ones that are rounded to it */
    case 1: return i % 8 ? of[1] : of[0];
    case 2: return i / 16 % 2 ? of[1] : of[0];
    case 3: return of[2] + (i % 16 ? of[1] : of[0]);
    default: return i % 2 ? -of[0] : of[0] + of[1];
    }
}

/* Periods that meet those of the lanes, so that each lane makes the same mistake each time. */
static void test_patterns_in_lanes(void **state)
{
    (void)state;
    enum { N = 8192 };
    static const int periods[] = {8, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024};
    static const enum hcb_dtype types[] = {HCB_F32, HCB_F16, HCB_BF16};
    for (int row = 0; row < 1500; row++) {
        enum hcb_dtype dtype = types[row % 3];
        double of[3] = {1 + 3 * rig_uniform(), 0, 10 * rig_uniform() - 5};
        of[1] = ldexp(1 + rig_uniform(), -(int)(rig_random() % 12));
        for (int i = 0; i < N; i++) {
            rig_put(store, dtype, i, in_lanes(row, i % periods[row % 11], of));
            values[i] = rig_get_at(store + (size_t)i * hcb_dtype_bytes(dtype), dtype);
        }
        struct hcb_tensor t = rig_flat(store, dtype, N);
        check_all(&t, "pattern in lanes");
    }
}

/* ---- which kernels ---- */

/* All rows above run on every set that the processor can run; this says which it cannot. */
static void test_the_sets(void **state)
{
    (void)state;
    const struct hcb_kernels *const *k = hcb_kernels_all();
    assert_ptr_equal(*k, hcb_kernels_best());
#ifdef HCB_HAS_AVX512
    if (hcb_kernels_avx512.runs()) {
        assert_ptr_equal(*k++, &hcb_kernels_avx512);
        assert_ptr_equal(*k++, &hcb_kernels_avx2);
        assert_ptr_equal(*k++, &hcb_kernels_scalar);
        assert_null(*k);
        return;
    }
#endif
    print_message("this processor has no AVX-512, so its kernels were not tested\n");
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_long_ones),
        cmocka_unit_test(test_any_alignment),
        cmocka_unit_test(test_nothing_behind_is_read),
        cmocka_unit_test(test_one_odd_value_anywhere),
        cmocka_unit_test(test_every_f16),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_the_host_s_environment),
        cmocka_unit_test(test_no_flag_is_raised),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_patterns_in_lanes),
        cmocka_unit_test(test_the_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
