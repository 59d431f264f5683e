/* Tensors for tests: values into elements of any type and back, by arithmetic of their own
 * and in long double, and statistics of them in two plain passes. */
#ifndef STATS_RIG_H
#define STATS_RIG_H

#include "stats/kernels.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

static const enum hcb_dtype rig_floats[] = {HCB_F64, HCB_F32, HCB_F16, HCB_BF16};
#define RIG_FLOATS (sizeof(rig_floats) / sizeof(rig_floats[0]))

static inline bool rig_is_float(enum hcb_dtype dtype)
{
    return dtype <= HCB_BF16;
}

/* ---- numbers that look random ---- */

static uint64_t rig_seed = 1;

static inline uint64_t rig_random(void) /* splitmix64 */
{
    uint64_t z = rig_seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline double rig_uniform(void)
{
    return (double)(rig_random() >> 11) * 0x1p-53;
}

/* Of mean 0 and std 1. */
static inline double rig_normal(void)
{
    return sqrt(-2 * log(1 - rig_uniform())) * cos(6.283185307179586 * rig_uniform());
}

/* ---- elements ---- */

static inline uint16_t rig_f16(double x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    double m = fabs(x);
    if (isnan(x))
        return sign | 0x7e01;
    if (m >= 65520)
        return sign | 0x7c00;
    if (m < 0x1p-14)
        return sign | (uint16_t)nearbyint(m * 0x1p24);
    int e;
    m = nearbyint(frexp(m, &e) * 2048); /* 1024 to 2048 */
    return (uint16_t)(sign + (uint16_t)((e + 13) << 10) + (uint16_t)m);
}

static inline uint16_t rig_bf16(double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return (uint16_t)(bits >> 16 | (isnan(x) ? 1 : 0));
}

#define RIG_PUT(type, value)                 \
    do {                                     \
        type v_ = (value);                   \
        memcpy(at, &v_, sizeof(v_));         \
        return;                              \
    } while (0)

/* Element i becomes x, which must be in range if the type is no float. */
static inline void rig_put(unsigned char *data, enum hcb_dtype dtype, int64_t i, long double x)
{
    unsigned char *at = data + (size_t)i * hcb_dtype_bytes(dtype);
    switch (dtype) {
    case HCB_F64: RIG_PUT(double, (double)x);
    case HCB_F32: RIG_PUT(float, (float)x);
    case HCB_F16: RIG_PUT(uint16_t, rig_f16((double)x));
    case HCB_BF16: RIG_PUT(uint16_t, rig_bf16((double)x));
    case HCB_I8: RIG_PUT(int8_t, (int8_t)x);
    case HCB_I16: RIG_PUT(int16_t, (int16_t)x);
    case HCB_I32: RIG_PUT(int32_t, (int32_t)x);
    case HCB_I64: RIG_PUT(int64_t, (int64_t)x);
    case HCB_U8: RIG_PUT(uint8_t, (uint8_t)x);
    case HCB_U16: RIG_PUT(uint16_t, (uint16_t)x);
    case HCB_U32: RIG_PUT(uint32_t, (uint32_t)x);
    case HCB_U64: RIG_PUT(uint64_t, (uint64_t)x);
    case HCB_BOOL8: RIG_PUT(uint8_t, (uint8_t)x);
    case HCB_DTYPE_COUNT: break;
    }
}

static inline long double rig_half(uint16_t bits)
{
    int e = bits >> 10 & 31, m = bits & 1023;
    long double x = e == 31 ? (m ? (long double)NAN : (long double)INFINITY)
        : e == 0 ? ldexpl(m, -24) : ldexpl(1024 + m, e - 25);
    return bits & 0x8000 ? -x : x;
}

#define RIG_GET(type, value)                 \
    do {                                     \
        type v_;                             \
        memcpy(&v_, at, sizeof(v_));         \
        return (long double)(value);         \
    } while (0)

static inline long double rig_get_at(const unsigned char *at, enum hcb_dtype dtype)
{
    float f;
    switch (dtype) {
    case HCB_F64: RIG_GET(double, v_);
    case HCB_F32: RIG_GET(float, v_);
    case HCB_F16: RIG_GET(uint16_t, rig_half(v_));
    case HCB_BF16:
        memcpy(&f, (const unsigned char[4]){0, 0, at[0], at[1]}, sizeof(f));
        return f;
    case HCB_I8: RIG_GET(int8_t, v_);
    case HCB_I16: RIG_GET(int16_t, v_);
    case HCB_I32: RIG_GET(int32_t, v_);
    case HCB_I64: RIG_GET(int64_t, v_);
    case HCB_U8: RIG_GET(uint8_t, v_);
    case HCB_U16: RIG_GET(uint16_t, v_);
    case HCB_U32: RIG_GET(uint32_t, v_);
    case HCB_U64: RIG_GET(uint64_t, v_);
    case HCB_BOOL8: RIG_GET(uint8_t, v_ != 0);
    case HCB_DTYPE_COUNT: break;
    }
    return 0;
}

/* Element i in row-major order. */
static inline const unsigned char *rig_address(const struct hcb_tensor *t, int64_t i)
{
    int64_t offset = 0;
    for (int k = t->ndim - 1; k >= 0; k--) {
        offset += i % t->shape[k] * t->stride[k];
        i /= t->shape[k];
    }
    return t->data + offset * (int64_t)hcb_dtype_bytes(t->dtype);
}

static inline long double rig_get(const struct hcb_tensor *t, int64_t i)
{
    return rig_get_at(rig_address(t, i), t->dtype);
}

static inline struct hcb_tensor rig_flat(const unsigned char *data, enum hcb_dtype dtype,
                                         int64_t n)
{
    return (struct hcb_tensor){.data = data, .dtype = dtype, .ndim = 1, .numel = n,
                               .shape = {n}, .stride = {1}};
}

/* As the start-up code of a program built with -Ofast does. */
static inline void rig_flush_denormals(void)
{
#ifdef __x86_64__
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

/* ---- statistics ---- */

struct rig_stats {
    int64_t n, finite, nan, inf, zeros;
    long double mean, std, min, max, l2;
};

static inline void rig_see(struct rig_stats *s, long double x)
{
    s->n++;
    s->nan += isnan(x) != 0;
    s->inf += isinf(x) != 0;
    if (!isfinite(x))
        return;
    s->finite++;
    s->zeros += x == 0;
    s->l2 += x * x;
    s->min = x < s->min ? x : s->min;
    s->max = x > s->max ? x : s->max;
}

/* Mean and std of what x differs from one of them by, for that is exact. */
static inline struct rig_stats rig_stats_of(const long double *x, int64_t n)
{
    struct rig_stats s = {.min = (long double)INFINITY, .max = -(long double)INFINITY};
    long double origin = 0, mean = 0, rest = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        if (s.finite == 0 && isfinite(x[i]))
            origin = x[i];
        rig_see(&s, x[i]);
        mean += isfinite(x[i]) ? x[i] - origin : 0;
    }
    if (s.finite == 0)
        return s;
    mean /= s.finite;
    for (int64_t i = 0; i < n; i++)
        rest += isfinite(x[i]) ? x[i] - origin - mean : 0;
    mean += rest / s.finite;
    for (int64_t i = 0; i < n; i++)
        squares += isfinite(x[i]) ? (x[i] - origin - mean) * (x[i] - origin - mean) : 0;
    s.mean = origin + mean;
    s.std = sqrtl(squares / s.finite);
    s.l2 = sqrtl(s.l2);
    return s;
}

/* Errors against the reference: of the mean relative to max(|mean|, std), of std and l2 to
 * themselves; that of a denormal is 1 unit at least. */
struct rig_errors {
    double mean, std, l2;
};

static inline double rig_error(double got, long double expected, long double scale)
{
    if ((double)expected == got || (isinf(got) && fabsl(expected) > DBL_MAX))
        return 0;
    long double off = fabsl(got - expected) - ldexpl(1, -1074);
    return off <= 0 ? 0 : (double)(off / scale);
}

static inline struct rig_errors rig_errors_of(const struct hcb_stats *got,
                                              const struct rig_stats *expected)
{
    long double size = fabsl(expected->mean) > expected->std ? fabsl(expected->mean)
                                                             : expected->std;
    return (struct rig_errors){rig_error(got->mean, expected->mean, size),
                               rig_error(got->std, expected->std, expected->std),
                               rig_error(got->l2, expected->l2, expected->l2)};
}

static inline double rig_tolerance(enum hcb_dtype dtype)
{
    return dtype == HCB_F32 || dtype == HCB_F16 || dtype == HCB_BF16 ? 1e-7 : 1e-12;
}

static inline bool rig_range_agrees(const struct hcb_stats *got, const struct rig_stats *expected)
{
    if (expected->finite == 0)
        return isnan(got->mean) && isnan(got->std) && isnan(got->min) && isnan(got->max)
            && got->l2 == 0 && isnan(got->min_element.d) && isnan(got->max_element.d);
    if ((got->min == 0 && signbit(got->min)) || (got->max == 0 && signbit(got->max)))
        return false; /* which of the zeros came first must not matter */
    return got->min == (double)expected->min && got->max == (double)expected->max
        && got->mean >= got->min && got->mean <= got->max;
}

/* Says what differs, if something does. */
static inline bool rig_agrees(const struct hcb_stats *got, const struct rig_stats *expected,
                              enum hcb_dtype dtype)
{
    struct rig_errors e = {0};
    double most = rig_tolerance(dtype);
    if (expected->finite > 0)
        e = rig_errors_of(got, expected);
    if (got->n == expected->n && got->nan == expected->nan && got->inf == expected->inf
        && got->zeros == expected->zeros && rig_range_agrees(got, expected)
        && e.mean <= most && e.std <= most && e.l2 <= most)
        return true;
    print_error("n %lld nan %lld inf %lld zeros %lld mean %.17g std %.17g l2 %.17g "
                "min %.17g max %.17g\nexpected\n"
                "n %lld nan %lld inf %lld zeros %lld mean %.17Lg std %.17Lg l2 %.17Lg "
                "min %.17Lg max %.17Lg\n",
                (long long)got->n, (long long)got->nan, (long long)got->inf,
                (long long)got->zeros, got->mean, got->std, got->l2, got->min, got->max,
                (long long)expected->n, (long long)expected->nan, (long long)expected->inf,
                (long long)expected->zeros, expected->mean, expected->std, expected->l2,
                expected->min, expected->max);
    return false;
}

static inline void rig_check(const struct hcb_stats *got, const struct rig_stats *expected,
                             enum hcb_dtype dtype)
{
    assert_true(rig_agrees(got, expected, dtype));
}

static inline struct hcb_stats rig_run(const struct hcb_kernels *k, const struct hcb_tensor *t,
                                       int64_t most)
{
    struct hcb_stats_work w;
    struct hcb_stats out;
    hcb_stats_begin(&w, t, NULL);
    int more;
    do {
        more = hcb_stats_step_by(k, &w, most);
        assert_true(more >= 0);
    } while (more);
    hcb_stats_end(&w, &out);
    return out;
}

#define RIG_EACH_KERNEL(k) \
    for (const struct hcb_kernels *const *k = hcb_kernels_all(); *k; k++)

#endif
