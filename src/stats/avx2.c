/* The kernels for x86-64 processors with AVX2, FMA and F16C; see kernels.h. Two ways through a
 * block: a fast one, which takes all for finite and of ordinary size, and where its sums show
 * that this is not so, a careful one. Knows no shapes. */
#include "stats/kernels.h"

#ifdef HCB_HAS_AVX2

#include "stats/convert.h"
#include "stats/moments.h"

#include <immintrin.h>
#include <math.h>

#define AVX2 __attribute__((target("avx2,fma,f16c")))
#define AVX2_INLINE AVX2 __attribute__((always_inline)) static inline

/* Bytes that memory is asked for ahead of the work. */
#define AHEAD 8192

/* Elements that the fast way takes with one shift: so many, or at the end up to twice that. */
#define FAST 4096

/* Fewer than these go the careful way at once. */
#define FEW 128

/* Elements whose mean is the shift where no other is known. */
#define FIRST 32

/* Elements whose sums are made in f32, four in each lane of two accumulators, before they go
 * on in double: so few that roundings which all go the same way stay within 1e-7 too. */
#define GROUP 64

/* A smaller sum of squares in f32 may have lost some to underflow. */
#define SQUARES_MIN 1e-30

/* Of one block. */
struct sums {
    double sum, squares; /* of x - shift, for finite x */
    double min, max;
    int64_t n, zeros, nan, inf; /* n: finite ones */
};

/* The lanes in which these are kept. */
struct range {
    __m256 min, max;
    __m256i zeros;
};

static void fetch_ahead(const unsigned char *data, int bytes)
{
    for (int i = 0; i < bytes; i += 64) /* as a number: it may lead out of the tensor */
        _mm_prefetch((const char *)((uintptr_t)data + AHEAD + (unsigned)i), _MM_HINT_T0);
}

AVX2_INLINE __m256 load8(const unsigned char *data, enum hcb_dtype dtype)
{
    if (dtype == HCB_F32)
        return _mm256_loadu_ps((const float *)(const void *)data);
    __m128i halves = _mm_loadu_si128((const __m128i *)(const void *)data);
    if (dtype == HCB_F16)
        return _mm256_cvtph_ps(halves);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

AVX2_INLINE __m256d widen_low(__m256 x)
{
    return _mm256_cvtps_pd(_mm256_castps256_ps128(x));
}

AVX2_INLINE __m256d widen_high(__m256 x)
{
    return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
}

/* Of four lanes, the sums of two each. */
AVX2_INLINE __m256d widen_sum(__m256 x)
{
    return _mm256_add_pd(widen_low(x), widen_high(x));
}

AVX2_INLINE double total(__m256d x)
{
    __m128d half = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
}

/* Counts are kept as sums of comparisons' results, of which each is -1. */
AVX2_INLINE int64_t count_of(__m256i minus)
{
    __m128i x = _mm_add_epi32(_mm256_castsi256_si128(minus), _mm256_extracti128_si256(minus, 1));
    x = _mm_add_epi32(x, _mm_shuffle_epi32(x, 0x4e));
    x = _mm_add_epi32(x, _mm_shuffle_epi32(x, 0xb1));
    return -(int64_t)_mm_cvtsi128_si32(x);
}

AVX2_INLINE __m256i add_mask(__m256i count, __m256 mask)
{
    return _mm256_add_epi32(count, _mm256_castps_si256(mask));
}

AVX2_INLINE struct range no_range(void)
{
    return (struct range){_mm256_set1_ps(INFINITY), _mm256_set1_ps(-INFINITY),
                          _mm256_setzero_si256()};
}

AVX2_INLINE void set_range(struct sums *out, const struct range *r)
{
    __m128 min = _mm_min_ps(_mm256_castps256_ps128(r->min), _mm256_extractf128_ps(r->min, 1));
    __m128 max = _mm_max_ps(_mm256_castps256_ps128(r->max), _mm256_extractf128_ps(r->max, 1));
    min = _mm_min_ps(min, _mm_movehl_ps(min, min));
    max = _mm_max_ps(max, _mm_movehl_ps(max, max));
    min = _mm_min_ss(min, _mm_shuffle_ps(min, min, 1));
    max = _mm_max_ss(max, _mm_shuffle_ps(max, max, 1));
    out->min = (double)_mm_cvtss_f32(min);
    out->max = (double)_mm_cvtss_f32(max);
    out->zeros = count_of(r->zeros);
}

/* ---- fast: f32 and what is widened to it ---- */

/* The sums of a group's differences and of their squares. */
struct group {
    __m256 sum[2], squares[2];
};

/* Additions are multiplications by 1 with addition: on some processors these go through
 * other units than minima, maxima and comparisons, and the result is the same. */
AVX2_INLINE void take8(struct group *g, int which, struct range *r, __m256 x, __m256 shift)
{
    const __m256 one = _mm256_set1_ps(1);
    r->min = _mm256_min_ps(r->min, x);
    r->max = _mm256_max_ps(r->max, x);
    r->zeros = add_mask(r->zeros, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_EQ_OQ));
    __m256 d = _mm256_fmsub_ps(x, one, shift);
    g->sum[which] = _mm256_fmadd_ps(d, one, g->sum[which]);
    g->squares[which] = _mm256_fmadd_ps(d, d, g->squares[which]);
}

/* n elements, fewer than 8; what fills the lanes up is left out. */
AVX2_INLINE void take_part(struct group *g, struct range *r, const unsigned char *data, int64_t n,
                           enum hcb_dtype dtype, __m256 shift)
{
    const __m256 infinity = _mm256_set1_ps(INFINITY), low = _mm256_set1_ps(-INFINITY);
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256 is_there = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lanes));
    unsigned char part[32] = {0};
    memcpy(part, data, (size_t)n * (dtype == HCB_F32 ? 4 : 2));
    __m256 x = load8(part, dtype);
    __m256 zero = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_EQ_OQ);
    r->min = _mm256_min_ps(r->min, _mm256_blendv_ps(infinity, x, is_there));
    r->max = _mm256_max_ps(r->max, _mm256_blendv_ps(low, x, is_there));
    r->zeros = add_mask(r->zeros, _mm256_and_ps(zero, is_there));
    __m256 d = _mm256_and_ps(_mm256_sub_ps(x, shift), is_there);
    g->sum[1] = _mm256_add_ps(g->sum[1], d);
    g->squares[1] = _mm256_fmadd_ps(d, d, g->squares[1]);
}

struct fast {
    struct range range;
    __m256d sum, squares;
};

/* n elements, GROUP or fewer: at most four go into a lane. */
AVX2_INLINE void take_group(struct fast *f, const unsigned char *data, int64_t n, __m256 shift,
                            enum hcb_dtype dtype)
{
    const int bytes = dtype == HCB_F32 ? 4 : 2;
    struct group g;
    g.sum[0] = g.sum[1] = g.squares[0] = g.squares[1] = _mm256_setzero_ps();
    for (; n >= 16; n -= 16, data += 16 * bytes) {
        take8(&g, 0, &f->range, load8(data, dtype), shift);
        take8(&g, 1, &f->range, load8(data + 8 * bytes, dtype), shift);
    }
    if (n >= 8) {
        take8(&g, 0, &f->range, load8(data, dtype), shift);
        n -= 8, data += 8 * bytes;
    }
    if (n > 0)
        take_part(&g, &f->range, data, n, dtype, shift);
    g.sum[0] = _mm256_add_ps(g.sum[0], g.sum[1]);
    g.squares[0] = _mm256_add_ps(g.squares[0], g.squares[1]);
    f->sum = _mm256_add_pd(f->sum, widen_sum(g.sum[0]));
    f->squares = _mm256_add_pd(f->squares, widen_sum(g.squares[0]));
}

AVX2_INLINE void sum_fast(struct sums *out, const unsigned char *data, int64_t n, float by,
                          enum hcb_dtype dtype)
{
    const int bytes = dtype == HCB_F32 ? 4 : 2;
    const __m256 shift = _mm256_set1_ps(by);
    struct fast f;
    f.range = no_range();
    f.sum = f.squares = _mm256_setzero_pd();
    out->n = n;
    for (; n >= GROUP; n -= GROUP, data += GROUP * bytes) {
        fetch_ahead(data, GROUP * bytes);
        take_group(&f, data, GROUP, shift, dtype);
    }
    if (n > 0)
        take_group(&f, data, n, shift, dtype);
    out->sum = total(f.sum);
    out->squares = total(f.squares);
    out->nan = out->inf = 0;
    set_range(out, &f.range);
}

/* ---- careful: in double, which holds all squares of f32 ---- */

struct careful {
    struct range range;
    __m256d sum[2], squares[2];
    __m256i odd, nan; /* odd: infinities and NaNs */
};

AVX2_INLINE void take4(struct careful *c, int which, __m256d x, __m256d shift)
{
    __m256d d = _mm256_sub_pd(x, shift);
    c->sum[which] = _mm256_add_pd(c->sum[which], d);
    c->squares[which] = _mm256_fmadd_pd(d, d, c->squares[which]);
}

/* Counts what is odd; where that is. */
AVX2_INLINE __m256 see_odd(struct careful *c, __m256 x)
{
    const __m256 infinity = _mm256_set1_ps(INFINITY); /* its bits are those of the exponent */
    __m256i exponent = _mm256_castps_si256(_mm256_and_ps(x, infinity));
    __m256i odd = _mm256_cmpeq_epi32(exponent, _mm256_castps_si256(infinity));
    c->odd = _mm256_add_epi32(c->odd, odd);
    c->nan = add_mask(c->nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_castsi256_ps(odd);
}

AVX2_INLINE void take8_carefully(struct careful *c, __m256 x, __m256 shift, bool has_odd)
{
    __m256 low = x, high = x;
    c->range.zeros = add_mask(c->range.zeros,
                              _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_EQ_OQ));
    if (has_odd) { /* it must not be the least, nor the largest, nor add to the sums */
        __m256 odd = see_odd(c, x);
        low = _mm256_blendv_ps(x, _mm256_set1_ps(INFINITY), odd);
        high = _mm256_blendv_ps(x, _mm256_set1_ps(-INFINITY), odd);
        x = _mm256_blendv_ps(x, shift, odd);
    }
    c->range.min = _mm256_min_ps(c->range.min, low);
    c->range.max = _mm256_max_ps(c->range.max, high);
    take4(c, 0, widen_low(x), widen_low(shift));
    take4(c, 1, widen_high(x), widen_high(shift));
}

/* n below 2 * FAST. Without has_odd the squares are not finite if something is odd. */
AVX2_INLINE void sum_carefully(struct sums *out, const unsigned char *data, int64_t n, float by,
                               enum hcb_dtype dtype, bool has_odd)
{
    const int bytes = dtype == HCB_F32 ? 4 : 2;
    const __m256 shift = _mm256_set1_ps(by);
    const __m256d zero = _mm256_setzero_pd();
    struct careful c;
    c.range = no_range();
    c.sum[0] = c.sum[1] = c.squares[0] = c.squares[1] = zero;
    c.odd = c.nan = _mm256_setzero_si256();
    int64_t whole = n & ~(int64_t)7, padding = n > whole ? 8 - (n - whole) : 0;
    for (int64_t i = 0; i < whole; i += 8)
        take8_carefully(&c, load8(data + i * bytes, dtype), shift, has_odd);
    if (n > whole) { /* the rest, made 8 by NaNs */
        unsigned char rest[32];
        memset(rest, 0xff, sizeof(rest));
        memcpy(rest, data + whole * bytes, (size_t)((n - whole) * bytes));
        take8_carefully(&c, load8(rest, dtype), shift, true);
    }
    bool is_counted = has_odd || padding;
    int64_t odd = is_counted ? count_of(c.odd) - padding : 0;
    out->n = n - odd;
    out->nan = is_counted ? count_of(c.nan) - padding : 0;
    out->inf = odd - out->nan;
    out->sum = total(_mm256_add_pd(c.sum[0], c.sum[1]));
    out->squares = total(_mm256_add_pd(c.squares[0], c.squares[1]));
    set_range(out, &c.range);
}

/* ---- a block into the whole ---- */

static void add_counts(struct hcb_stats_work *w, const struct sums *s)
{
    w->finite += s->n;
    w->nan += s->nan;
    w->inf += s->inf;
    w->zeros += s->zeros;
    w->min = s->min < w->min ? s->min : w->min;
    w->max = s->max > w->max ? s->max : w->max;
}

/* `shift` is told from the origin of the moments. */
static void add_sums(struct hcb_stats_work *w, const struct sums *s, double shift, double origin)
{
    add_counts(w, s);
    if (s->n == 0)
        return;
    double n = (double)s->n, mean = s->sum / n, m2 = s->squares - s->sum * mean;
    if (s->min == s->max)
        hcb_moments_add(&w->sum, n, s->min - origin, 0);
    else
        hcb_moments_add(&w->sum, n, shift + mean, m2 > 0 ? m2 : 0);
}

/* Whether the shift is so far from the mean that the difference of the sums is inexact. */
static bool is_far(const struct sums *s)
{
    return s->sum * s->sum * 5 > s->squares * (double)s->n;
}

/* The mean so far, or for the first ones the first of them, if that is a number. In double,
 * where it is in relation to the block makes no difference that could be seen. */
static double careful_shift(const struct hcb_stats_work *w, const unsigned char *data,
                            enum hcb_dtype dtype)
{
    double shift = w->sum.mean;
    if (w->sum.n == 0)
        hcb_to_doubles(dtype, data, 1, &shift);
    return shift;
}

AVX2 static void take_carefully(struct hcb_stats_work *w, const unsigned char *data, int64_t n,
                                enum hcb_dtype dtype)
{
    struct sums s;
    float shift = (float)careful_shift(w, data, dtype);
    sum_carefully(&s, data, n, shift, dtype, false);
    if (!hcb_is_finite(s.squares)) {
        sum_carefully(&s, data, n, shift, dtype, true);
        if (!hcb_is_finite((double)shift) && s.n > 0) { /* now some number is known */
            shift = (float)s.min;
            sum_carefully(&s, data, n, shift, dtype, true);
        }
    }
    add_sums(w, &s, (double)shift, 0);
}

/* Stands for the mean of all, where no other is known. */
AVX2_INLINE float first_mean(const unsigned char *data, enum hcb_dtype dtype)
{
    const int bytes = dtype == HCB_F32 ? 4 : 2;
    __m256 a = _mm256_add_ps(load8(data, dtype), load8(data + 8 * bytes, dtype));
    __m256 b = _mm256_add_ps(load8(data + 16 * bytes, dtype), load8(data + 24 * bytes, dtype));
    a = _mm256_add_ps(a, b);
    return (float)(total(widen_sum(a)) / FIRST);
}

/* Whether sums in f32 are good enough: all was finite; no square was lost; the shift was not
 * far off; and no few values are most of it, so that roundings even out. */
static bool is_exact(const struct sums *s, double shift)
{
    double below = shift - s->min, above = s->max - shift, most = below > above ? below : above;
    if (!hcb_is_finite(s->squares))
        return false;
    if (s->min == s->max)
        return true;
    return s->squares >= SQUARES_MIN && !is_far(s) && most * most * 16 <= s->squares;
}

AVX2_INLINE void take_fast(struct hcb_stats_work *w, const unsigned char *data, int64_t n,
                           enum hcb_dtype dtype)
{
    struct sums s;
    float shift = w->sum.n > 0 ? (float)w->sum.mean : first_mean(data, dtype);
    sum_fast(&s, data, n, shift, dtype);
    if (is_exact(&s, (double)shift))
        add_sums(w, &s, (double)shift, 0);
    else
        take_carefully(w, data, n, dtype);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

AVX2_INLINE void take(struct hcb_stats_work *w, const unsigned char *data, int64_t n,
                      enum hcb_dtype dtype)
{
    const int bytes = dtype == HCB_F32 ? 4 : 2;
    int64_t count;
    for (; n >= FEW; n -= count, data += count * bytes) {
        count = n < 2 * FAST ? n : FAST;
        take_fast(w, data, count, dtype);
    }
    if (n > 0)
        take_carefully(w, data, n, dtype);
}

AVX2 static void take_f32(struct hcb_stats_work *w, const unsigned char *data, int64_t n)
{
    take(w, data, n, HCB_F32);
}

AVX2 static void take_f16(struct hcb_stats_work *w, const unsigned char *data, int64_t n)
{
    take(w, data, n, HCB_F16);
}

AVX2 static void take_bf16(struct hcb_stats_work *w, const unsigned char *data, int64_t n)
{
    take(w, data, n, HCB_BF16);
}

/* ---- f64: fast, or as in plain C ---- */

struct range64 {
    __m256d min, max;
    __m256i zeros;
};

struct group64 {
    __m256d sum[2], squares[2];
};

AVX2_INLINE void take4_f64(struct group64 *g, int which, struct range64 *r,
                           const unsigned char *data, __m256d shift)
{
    const __m256d one = _mm256_set1_pd(1);
    __m256d x = _mm256_loadu_pd((const double *)(const void *)data);
    r->min = _mm256_min_pd(r->min, x);
    r->max = _mm256_max_pd(r->max, x);
    __m256d zero = _mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_EQ_OQ);
    r->zeros = _mm256_add_epi64(r->zeros, _mm256_castpd_si256(zero));
    __m256d d = _mm256_fmsub_pd(x, one, shift);
    g->sum[which] = _mm256_fmadd_pd(d, one, g->sum[which]);
    g->squares[which] = _mm256_fmadd_pd(d, d, g->squares[which]);
}

AVX2_INLINE void set_range64(struct sums *out, const struct range64 *r)
{
    double min[4], max[4];
    int64_t zeros[4];
    _mm256_storeu_pd(min, r->min);
    _mm256_storeu_pd(max, r->max);
    _mm256_storeu_si256((__m256i *)(void *)zeros, r->zeros);
    out->min = min[0];
    out->max = max[0];
    out->zeros = -(zeros[0] + zeros[1] + zeros[2] + zeros[3]);
    for (int i = 1; i < 4; i++) {
        out->min = min[i] < out->min ? min[i] : out->min;
        out->max = max[i] > out->max ? max[i] : out->max;
    }
}

/* n is a multiple of 8, and above 0. */
AVX2 static void sum_f64(struct sums *out, const unsigned char *data, int64_t n, double by)
{
    const __m256d zero = _mm256_setzero_pd(), shift = _mm256_set1_pd(by);
    const double infinity = (double)INFINITY;
    struct range64 r = {_mm256_set1_pd(infinity), _mm256_set1_pd(-infinity),
                        _mm256_setzero_si256()};
    struct group64 g = {{zero, zero}, {zero, zero}};
    *out = (struct sums){.n = n};
    for (; n > 0; n -= 8, data += 64) {
        fetch_ahead(data, 64);
        take4_f64(&g, 0, &r, data, shift);
        take4_f64(&g, 1, &r, data + 32, shift);
    }
    out->sum = total(_mm256_add_pd(g.sum[0], g.sum[1]));
    out->squares = total(_mm256_add_pd(g.squares[0], g.squares[1]));
    set_range64(out, &r);
}

static void take_exactly(struct hcb_stats_work *w, const unsigned char *data, int64_t n)
{
    double x[HCB_BLOCK];
    for (; n > 0; n -= HCB_BLOCK, data += sizeof(x)) {
        int count = (int)smaller(n, HCB_BLOCK);
        memcpy(x, data, (size_t)count * sizeof(*x));
        hcb_take_doubles(w, x, count, true);
    }
}

/* Whether the sums are those of the values, at the scale of the whole: squares of values of
 * this size are kept, or there was nothing to square. */
static bool is_ordinary(struct hcb_stats_work *w, const struct sums *s)
{
    double magnitude = -s->min > s->max ? -s->min : s->max;
    if (!hcb_is_finite(s->squares) || magnitude >= HCB_LARGE)
        return false;
    if (magnitude == 0)
        return w->sum.scale == 0 || w->sum.origin == 0;
    hcb_moments_raise(&w->sum, magnitude);
    return w->sum.scale == 0;
}

static void take_block_f64(struct hcb_stats_work *w, const unsigned char *data, int64_t n)
{
    struct sums s;
    double first;
    memcpy(&first, data, sizeof(first));
    if (!hcb_is_finite(first) || w->sum.scale > 0) {
        take_exactly(w, data, n);
        return;
    }
    if (w->sum.n == 0)
        w->sum.origin = first;
    double origin = w->sum.origin;
    double shift = ldexp(w->sum.mean, w->sum.scale) + origin;
    sum_f64(&s, data, n, shift);
    if (is_far(&s) && s.min < s.max) {
        shift += s.sum / (double)n;
        sum_f64(&s, data, n, shift);
    }
    if (is_ordinary(w, &s))
        add_sums(w, &s, shift - origin, origin);
    else
        take_exactly(w, data, n);
}

AVX2 static void take_f64(struct hcb_stats_work *w, const unsigned char *data, int64_t n)
{
    int64_t whole = n & ~(int64_t)7, count;
    for (int64_t i = 0; i < whole; i += count) {
        count = smaller(whole - i, FAST / 2);
        take_block_f64(w, data + i * 8, count);
    }
    if (n > whole)
        take_exactly(w, data + whole * 8, n - whole);
}

/* The compiler's library asks the processor once, before the program starts. Clang has no
 * name for F16C; all processors with AVX2 have it. */
static bool runs(void)
{
#ifndef __clang__
    if (!__builtin_cpu_supports("f16c"))
        return false;
#endif
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

const struct hcb_kernels hcb_kernels_avx2 = {
    .name = "avx2", .runs = runs,
    .f32 = take_f32, .f64 = take_f64, .f16 = take_f16, .bf16 = take_bf16,
};

#else
typedef int hcb_no_avx2; /* a file of C must not be empty */
#endif
