/* The kernels for x86-64 processors with AVX2, FMA and F16C; see kernels.h and blocks.h. Knows
 * no shapes. */
#include "stats/kernels.h"

#ifdef HCB_HAS_AVX2

#include "stats/blocks.h"
#include "stats/convert.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,fma,f16c")))
#define AVX2_INLINE AVX2 __attribute__((always_inline)) static inline

/* Of an element that is not f64. */
#define BYTES(dtype) ((dtype) == HCB_F32 ? 4 : 2)

/* Bytes that memory is asked for ahead of the work. */
#define AHEAD 8192

static void fetch_ahead(const unsigned char *data, int bytes)
{
    for (int i = 0; i < bytes; i += 64) /* as a number: it may lead out of the tensor */
        _mm_prefetch((const char *)((uintptr_t)data + AHEAD + (unsigned)i), _MM_HINT_T0);
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

/* 8 elements of 16 bits as floats. */
AVX2_INLINE __m256 widen(__m128i halves, enum hcb_dtype dtype)
{
    if (dtype == HCB_F16)
        return _mm256_cvtph_ps(halves);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

AVX2_INLINE __m256 load8(const unsigned char *data, enum hcb_dtype dtype)
{
    if (dtype == HCB_F32)
        return _mm256_loadu_ps((const float *)(const void *)data);
    return widen(_mm_loadu_si128((const __m128i *)(const void *)data), dtype);
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

AVX2_INLINE float least_of(__m256 x)
{
    __m128 y = _mm_min_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_min_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_min_ss(y, _mm_movehdup_ps(y)));
}

/* ---- range: min, max, zeros ---- */

/* For f32 min and max are floats. For 16 bits they are found in the integers that the elements
 * are: negative ones are the larger the farther from 0 they are, in signed order too, where
 * they are all below the others. */
struct range {
    __m256 min, max;
    __m256i lowest, highest; /* in unsigned order */
    __m256i top;             /* the highest in signed order */
    __m256i zeros;
};

AVX2_INLINE struct range no_range(void)
{
    return (struct range){
        .min = _mm256_set1_ps(INFINITY), .max = _mm256_set1_ps(-INFINITY),
        .lowest = _mm256_set1_epi16(-1), .highest = _mm256_setzero_si256(),
        .top = _mm256_set1_epi16(INT16_MIN), .zeros = _mm256_setzero_si256(),
    };
}

AVX2_INLINE void see_floats(struct range *r, __m256 x)
{
    r->min = _mm256_min_ps(r->min, x);
    r->max = _mm256_max_ps(r->max, x);
    r->zeros = add_mask(r->zeros, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_EQ_OQ));
}

AVX2_INLINE void see_halves(struct range *r, __m256i x)
{
    __m256i twice = _mm256_add_epi16(x, x); /* that has no sign */
    r->lowest = _mm256_min_epu16(r->lowest, x);
    r->highest = _mm256_max_epu16(r->highest, x);
    r->top = _mm256_max_epi16(r->top, x);
    r->zeros = _mm256_add_epi16(r->zeros, _mm256_cmpeq_epi16(twice, _mm256_setzero_si256()));
}

AVX2_INLINE void set_range_of_floats(struct hcb_sums *out, const struct range *r)
{
    out->min = (double)least_of(r->min);
    out->max = -(double)least_of(_mm256_sub_ps(_mm256_setzero_ps(), r->max));
    out->zeros = count_of(r->zeros);
}

/* The least in unsigned order, of what was turned round by `turn`. */
AVX2_INLINE unsigned least(__m256i x, int turn)
{
    x = _mm256_xor_si256(x, _mm256_set1_epi16((short)turn));
    __m128i y = _mm_min_epu16(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return (unsigned)(_mm_cvtsi128_si32(_mm_minpos_epu16(y)) & 0xffff) ^ (unsigned)turn;
}

/* Where there are negative ones, the least is the highest in unsigned order; where all are
 * negative, the largest is the lowest. */
AVX2_INLINE void set_range_of_halves(struct hcb_sums *out, const struct range *r,
                                     enum hcb_dtype dtype)
{
    unsigned lowest = least(r->lowest, 0), highest = least(r->highest, 0xffff);
    unsigned top = least(r->top, 0x7fff);
    unsigned min = highest & 0x8000 ? highest : lowest, max = lowest & 0x8000 ? lowest : top;
    __m128i both = _mm_cvtsi32_si128((int)(min | max << 16));
    __m128 x = _mm256_castps256_ps128(widen(both, dtype));
    out->min = (double)_mm_cvtss_f32(x);
    out->max = (double)_mm_cvtss_f32(_mm_movehdup_ps(x));
    out->zeros = count_of(_mm256_madd_epi16(r->zeros, _mm256_set1_epi16(1)));
}

/* ---- fast: f32 and what is widened to it ---- */

/* Sums in f32 of differences and of their squares. They are made of pairs, and of pairs of
 * those, before they go on in double: on its way there a value meets so few roundings that it
 * does no harm if all go the same way. */
struct part {
    __m256 sum, squares;
};

struct fast {
    struct range range;
    __m256d sum, squares;
    int surplus; /* zeros that were counted too many */
};

/* How elements are taken. */
struct how {
    enum hcb_dtype dtype;
    bool is_shifted; /* if not, the shift is 0 */
    __m256 shift;
};

struct loaded {
    __m256 x[2];
    __m256i place[2]; /* of each of them, from 0 */
};

/* Places from a on and from b on, each `step` further. */
#define PLACE(a, step)                                                                         \
    _mm256_setr_epi32(a, (a) + (step), (a) + 2 * (step), (a) + 3 * (step), (a) + 4 * (step),   \
                      (a) + 5 * (step), (a) + 6 * (step), (a) + 7 * (step))
#define PLACES(a, b, step) {PLACE(a, step), PLACE(b, step)}

AVX2_INLINE struct loaded load_floats(struct range *r, const unsigned char *data)
{
    struct loaded l = {{load8(data, HCB_F32), load8(data + 32, HCB_F32)}, PLACES(0, 8, 1)};
    see_floats(r, l.x[0]);
    see_floats(r, l.x[1]);
    return l;
}

AVX2_INLINE struct loaded load_f16(struct range *r, const unsigned char *data)
{
    see_halves(r, _mm256_loadu_si256((const __m256i *)(const void *)data));
    return (struct loaded){{load8(data, HCB_F16), load8(data + 16, HCB_F16)}, PLACES(0, 8, 1)};
}

/* Those at even places, those at odd ones. */
AVX2_INLINE struct loaded load_bf16(struct range *r, const unsigned char *data)
{
    const __m256i upper = _mm256_set1_epi32((int)0xffff0000);
    __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)data);
    see_halves(r, x);
    return (struct loaded){{_mm256_castsi256_ps(_mm256_slli_epi32(x, 16)),
                            _mm256_castsi256_ps(_mm256_and_si256(x, upper))}, PLACES(0, 1, 2)};
}

AVX2_INLINE struct loaded load(struct range *r, const unsigned char *data, enum hcb_dtype dtype)
{
    return dtype == HCB_F32 ? load_floats(r, data)
        : dtype == HCB_F16 ? load_f16(r, data) : load_bf16(r, data);
}

/* Additions are multiplications by 1 with addition: on some processors these go through
 * other units than minima, maxima and comparisons, and the result is the same. */
AVX2_INLINE __m256 sum_of(__m256 a, __m256 b)
{
    return _mm256_fmadd_ps(a, _mm256_set1_ps(1), b);
}

/* n elements, 1 to 16; there are 16 to load. */
AVX2_INLINE struct part take(struct fast *f, const unsigned char *data, int n,
                             const struct how *how)
{
    struct loaded l = load(&f->range, data, how->dtype);
    for (int i = 0; i < 2; i++) {
        if (how->is_shifted)
            l.x[i] = _mm256_fmsub_ps(l.x[i], _mm256_set1_ps(1), how->shift);
        if (n < 16) {
            __m256i there = _mm256_cmpgt_epi32(_mm256_set1_epi32(n), l.place[i]);
            l.x[i] = _mm256_and_ps(l.x[i], _mm256_castsi256_ps(there));
        }
    }
    __m256 square = _mm256_mul_ps(l.x[0], l.x[0]);
    return (struct part){sum_of(l.x[0], l.x[1]), _mm256_fmadd_ps(l.x[1], l.x[1], square)};
}

AVX2_INLINE struct part both(struct part a, struct part b)
{
    return (struct part){sum_of(a.sum, b.sum), sum_of(a.squares, b.squares)};
}

AVX2_INLINE struct part take16(struct fast *f, const unsigned char *data, const struct how *how)
{
    return take(f, data, 16, how);
}

/* Twice what `of` takes, which is n elements. */
#define TWICE(name, of, n)                                                                     \
    AVX2_INLINE struct part name(struct fast *f, const unsigned char *data,                    \
                                 const struct how *how)                                        \
    {                                                                                          \
        struct part a = of(f, data, how);                                                      \
        return both(a, of(f, data + n * BYTES(how->dtype), how));                              \
    }

TWICE(take32, take16, 16)
TWICE(take64, take32, 32)
TWICE(take128, take64, 64)

AVX2_INLINE void add_part(struct fast *f, struct part p)
{
    f->sum = _mm256_add_pd(f->sum, widen_sum(p.sum));
    f->squares = _mm256_add_pd(f->squares, widen_sum(p.squares));
}

/* n elements, fewer than 16, made 16 by the first of them, which leaves min and max as they
 * are. */
AVX2_INLINE void take_rest(struct fast *f, const unsigned char *data, int n, const struct how *how)
{
    const int bytes = BYTES(how->dtype);
    unsigned char rest[64];
    memcpy(rest, data, (size_t)(n * bytes));
    for (int i = n; i < 16; i++)
        memcpy(rest + i * bytes, data, (size_t)bytes);
    add_part(f, take(f, rest, n, how));
    if (_mm256_cvtss_f32(load8(rest, how->dtype)) == 0)
        f->surplus = 16 - n;
}

AVX2_INLINE void take_all(struct fast *f, const unsigned char *data, int64_t n,
                          const struct how *how)
{
    const int bytes = BYTES(how->dtype);
    for (; n >= 128; n -= 128, data += 128 * bytes) {
        fetch_ahead(data, 128 * bytes);
        add_part(f, take128(f, data, how));
    }
    for (; n >= 32; n -= 32, data += 32 * bytes)
        add_part(f, take32(f, data, how));
    if (n >= 16) {
        add_part(f, take16(f, data, how));
        n -= 16, data += 16 * bytes;
    }
    if (n > 0)
        take_rest(f, data, (int)n, how);
}

AVX2_INLINE void sum_fast_as(struct hcb_sums *out, const unsigned char *data, int64_t n,
                             const struct how *how)
{
    struct fast f = {no_range(), _mm256_setzero_pd(), _mm256_setzero_pd(), 0};
    take_all(&f, data, n, how);
    *out = (struct hcb_sums){.n = n};
    out->sum = total(f.sum);
    out->squares = total(f.squares);
    if (how->dtype == HCB_F32)
        set_range_of_floats(out, &f.range);
    else
        set_range_of_halves(out, &f.range, how->dtype);
    out->zeros -= f.surplus;
}

AVX2_INLINE void sum_fast(struct hcb_sums *out, const unsigned char *data, int64_t n,
                          float shift, enum hcb_dtype dtype)
{
    if (shift == 0)
        sum_fast_as(out, data, n, &(struct how){dtype, false, _mm256_setzero_ps()});
    else
        sum_fast_as(out, data, n, &(struct how){dtype, true, _mm256_set1_ps(shift)});
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

/* Without has_odd the squares are not finite if something is odd. */
AVX2_INLINE void sum_carefully_as(struct hcb_sums *out, const unsigned char *data, int64_t n,
                                  float by, enum hcb_dtype dtype, bool has_odd)
{
    const int bytes = BYTES(dtype);
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
    set_range_of_floats(out, &c.range);
}

AVX2_INLINE void sum_carefully(struct hcb_sums *out, const unsigned char *data, int64_t n,
                               float shift, enum hcb_dtype dtype)
{
    sum_carefully_as(out, data, n, shift, dtype, false);
    if (!hcb_is_finite(out->squares))
        sum_carefully_as(out, data, n, shift, dtype, true);
}

/* ---- f64 ---- */

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

AVX2_INLINE void set_range64(struct hcb_sums *out, const struct range64 *r)
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
AVX2 static void sum_f64(struct hcb_sums *out, const unsigned char *data, int64_t n, double by)
{
    const __m256d zero = _mm256_setzero_pd(), shift = _mm256_set1_pd(by);
    const double infinity = (double)INFINITY;
    struct range64 r = {_mm256_set1_pd(infinity), _mm256_set1_pd(-infinity),
                        _mm256_setzero_si256()};
    struct group64 g = {{zero, zero}, {zero, zero}};
    *out = (struct hcb_sums){.n = n};
    for (; n > 0; n -= 8, data += 64) {
        fetch_ahead(data, 64);
        take4_f64(&g, 0, &r, data, shift);
        take4_f64(&g, 1, &r, data + 32, shift);
    }
    out->sum = total(_mm256_add_pd(g.sum[0], g.sum[1]));
    out->squares = total(_mm256_add_pd(g.squares[0], g.squares[1]));
    set_range64(out, &r);
}

AVX2 static void take_f64(struct hcb_stats_work *w, const unsigned char *data, int64_t n)
{
    hcb_take_blocks64(sum_f64, 8, w, data, n);
}

/* ---- the rows ---- */

HCB_BLOCK_KERNEL(AVX2, f32, HCB_F32)
HCB_BLOCK_KERNEL(AVX2, f16, HCB_F16)
HCB_BLOCK_KERNEL(AVX2, bf16, HCB_BF16)

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
