/* The kernels for x86-64 processors with AVX-512 (F, BW, DQ, VL); see kernels.h and blocks.h.
 * What is left at an end goes through the same lanes, by masks. Memory is not asked for ahead:
 * the processor does that better by itself where lines are read whole. Knows no shapes. */
#include "stats/kernels.h"

#ifdef HCB_HAS_AVX512

#include "stats/blocks.h"

#include <immintrin.h>
#include <math.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma,f16c,popcnt")))
#define AVX512_INLINE AVX512 __attribute__((always_inline)) static inline

/* Of an element that is not f64. */
#define BYTES(dtype) ((dtype) == HCB_F32 ? 4 : 2)

/* The first n lanes, of 32 at most. */
#define LANES(n) ((__mmask32)(((uint64_t)1 << (n)) - 1))

/* Of _mm512_fpclass: either sort of NaN; or that or an infinity. */
#define NAN_CLASS 0x81
#define ODD_CLASS 0x99

AVX512_INLINE int64_t count_of(__mmask16 mask)
{
    return __builtin_popcount(mask);
}

/* 16 elements of 16 bits as floats. */
AVX512_INLINE __m512 widen(__m256i halves, enum hcb_dtype dtype)
{
    if (dtype == HCB_F16)
        return _mm512_cvtph_ps(halves);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

AVX512_INLINE __m512d widen_low(__m512 x)
{
    return _mm512_cvtps_pd(_mm512_castps512_ps256(x));
}

AVX512_INLINE __m512d widen_high(__m512 x)
{
    return _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
}

/* ---- range: min, max, zeros ---- */

/* For f32 min and max are floats. For 16 bits they are found in the integers that the elements
 * are: negative ones are the larger the farther from 0 they are, in signed order too, where
 * they are all below the others. */
struct range {
    __m512 min, max;
    __m512i lowest, highest; /* in unsigned order */
    __m512i top;             /* the highest in signed order */
    __m512i zeros;           /* less their number, for each lane */
};

AVX512_INLINE struct range no_range(void)
{
    return (struct range){
        .min = _mm512_set1_ps(INFINITY), .max = _mm512_set1_ps(-INFINITY),
        .lowest = _mm512_set1_epi16(-1), .highest = _mm512_setzero_si512(),
        .top = _mm512_set1_epi16(INT16_MIN), .zeros = _mm512_setzero_si512(),
    };
}

AVX512_INLINE void see_floats(struct range *r, __m512 x, __mmask16 there)
{
    const __m512i magnitude = _mm512_set1_epi32(INT32_MAX), one = _mm512_set1_epi32(1);
    __mmask16 zero = _mm512_mask_testn_epi32_mask(there, _mm512_castps_si512(x), magnitude);
    r->min = _mm512_mask_min_ps(r->min, there, r->min, x);
    r->max = _mm512_mask_max_ps(r->max, there, r->max, x);
    r->zeros = _mm512_mask_add_epi32(r->zeros, zero, r->zeros, one);
}

AVX512_INLINE void see_halves(struct range *r, __m512i x, __mmask32 there)
{
    const __m512i magnitude = _mm512_set1_epi16(INT16_MAX), one = _mm512_set1_epi16(1);
    __mmask32 zero = _mm512_mask_testn_epi16_mask(there, x, magnitude);
    r->lowest = _mm512_mask_min_epu16(r->lowest, there, r->lowest, x);
    r->highest = _mm512_mask_max_epu16(r->highest, there, r->highest, x);
    r->top = _mm512_mask_max_epi16(r->top, there, r->top, x);
    r->zeros = _mm512_mask_add_epi16(r->zeros, zero, r->zeros, one);
}

AVX512_INLINE void set_range_of_floats(struct hcb_sums *out, const struct range *r)
{
    out->min = (double)_mm512_reduce_min_ps(r->min);
    out->max = (double)_mm512_reduce_max_ps(r->max);
    out->zeros = _mm512_reduce_add_epi32(r->zeros);
}

/* The least in unsigned order, of what was turned round by `turn`. */
AVX512_INLINE unsigned least(__m512i x, int turn)
{
    x = _mm512_xor_si512(x, _mm512_set1_epi16((short)turn));
    __m256i y = _mm256_min_epu16(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
    __m128i z = _mm_min_epu16(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
    return (unsigned)(_mm_cvtsi128_si32(_mm_minpos_epu16(z)) & 0xffff) ^ (unsigned)turn;
}

/* Where there are negative ones, the least is the highest in unsigned order; where all are
 * negative, the largest is the lowest. */
AVX512_INLINE void set_range_of_halves(struct hcb_sums *out, const struct range *r,
                                       enum hcb_dtype dtype)
{
    unsigned lowest = least(r->lowest, 0), highest = least(r->highest, 0xffff);
    unsigned top = least(r->top, 0x7fff);
    unsigned min = highest & 0x8000 ? highest : lowest, max = lowest & 0x8000 ? lowest : top;
    __m128i both = _mm_cvtsi32_si128((int)(min | max << 16));
    __m128 x = _mm512_castps512_ps128(widen(_mm256_castsi128_si256(both), dtype));
    out->min = (double)_mm_cvtss_f32(x);
    out->max = (double)_mm_cvtss_f32(_mm_movehdup_ps(x));
    __m512i zeros = _mm512_madd_epi16(r->zeros, _mm512_set1_epi16(1));
    out->zeros = _mm512_reduce_add_epi32(zeros);
}

/* ---- fast: f32 and what is widened to it ---- */

/* Sums in f32 of differences and of their squares. They are made of pairs, and of pairs of
 * those, before they go on in double: on its way there a value meets so few roundings that it
 * does no harm if all go the same way. */
struct part {
    __m512 sum, squares;
};

struct fast {
    struct range range;
    __m512d sum, squares;
};

/* How elements are taken. */
struct how {
    enum hcb_dtype dtype;
    bool is_shifted; /* if not, the shift is 0 */
    __m512 shift;
};

struct loaded {
    __m512 x[2];
    __mmask16 there[2]; /* which lanes of them hold elements; the others are 0 */
};

AVX512_INLINE struct loaded load_floats(struct range *r, const unsigned char *data, int n)
{
    struct loaded l;
    l.there[0] = (__mmask16)LANES(n);
    l.there[1] = (__mmask16)(LANES(n) >> 16);
    for (int i = 0; i < 2; i++) {
        l.x[i] = _mm512_maskz_loadu_ps(l.there[i], data + 64 * i);
        see_floats(r, l.x[i], l.there[i]);
    }
    return l;
}

AVX512_INLINE struct loaded load_f16(struct range *r, const unsigned char *data, int n)
{
    struct loaded l;
    l.there[0] = (__mmask16)LANES(n);
    l.there[1] = (__mmask16)(LANES(n) >> 16);
    see_halves(r, _mm512_maskz_loadu_epi16(LANES(n), data), LANES(n));
    for (int i = 0; i < 2; i++) /* to load them again takes less than to move them */
        l.x[i] = _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(l.there[i], data + 32 * i));
    return l;
}

/* Those at even places, those at odd ones. */
AVX512_INLINE struct loaded load_bf16(struct range *r, const unsigned char *data, int n)
{
    const __m512i upper = _mm512_set1_epi32((int)0xffff0000);
    __m512i x = _mm512_maskz_loadu_epi16(LANES(n), data);
    see_halves(r, x, LANES(n));
    return (struct loaded){
        {_mm512_castsi512_ps(_mm512_slli_epi32(x, 16)),
         _mm512_castsi512_ps(_mm512_and_si512(x, upper))},
        {(__mmask16)LANES((n + 1) / 2), (__mmask16)LANES(n / 2)},
    };
}

AVX512_INLINE struct loaded load(struct range *r, const unsigned char *data, int n,
                                 enum hcb_dtype dtype)
{
    return dtype == HCB_F32 ? load_floats(r, data, n)
        : dtype == HCB_F16 ? load_f16(r, data, n) : load_bf16(r, data, n);
}

/* n elements, 1 to 32. */
AVX512_INLINE struct part take(struct fast *f, const unsigned char *data, int n,
                               const struct how *how)
{
    struct loaded l = load(&f->range, data, n, how->dtype);
    if (how->is_shifted)
        for (int i = 0; i < 2; i++)
            l.x[i] = _mm512_maskz_fmsub_ps(l.there[i], l.x[i], _mm512_set1_ps(1), how->shift);
    __m512 square = _mm512_mul_ps(l.x[0], l.x[0]);
    return (struct part){_mm512_add_ps(l.x[0], l.x[1]),
                         _mm512_fmadd_ps(l.x[1], l.x[1], square)};
}

/* Some additions are multiplications by 1 with addition: on some processors these go through
 * other units than sums, minima and maxima, and the result is the same. */
AVX512_INLINE struct part both(struct part a, struct part b)
{
    return (struct part){_mm512_add_ps(a.sum, b.sum),
                         _mm512_fmadd_ps(a.squares, _mm512_set1_ps(1), b.squares)};
}

AVX512_INLINE struct part take32(struct fast *f, const unsigned char *data, const struct how *how)
{
    return take(f, data, 32, how);
}

/* Twice what `of` takes, which is n elements. */
#define TWICE(name, of, n)                                                                     \
    AVX512_INLINE struct part name(struct fast *f, const unsigned char *data,                  \
                                   const struct how *how)                                      \
    {                                                                                          \
        struct part a = of(f, data, how);                                                      \
        return both(a, of(f, data + n * BYTES(how->dtype), how));                              \
    }

TWICE(take64, take32, 32)
TWICE(take128, take64, 64)
TWICE(take256, take128, 128)
TWICE(take512, take256, 256)

AVX512_INLINE void add_part(struct fast *f, struct part p)
{
    f->sum = _mm512_add_pd(f->sum, _mm512_add_pd(widen_low(p.sum), widen_high(p.sum)));
    f->squares = _mm512_add_pd(f->squares,
                               _mm512_add_pd(widen_low(p.squares), widen_high(p.squares)));
}

/* Squares of 16 bits are exact in f32, which leaves room for one more rounding. */
AVX512_INLINE void take_all(struct fast *f, const unsigned char *data, int64_t n,
                            const struct how *how)
{
    const int bytes = BYTES(how->dtype);
    if (how->dtype != HCB_F32 && !how->is_shifted)
        for (; n >= 512; n -= 512, data += 512 * bytes)
            add_part(f, take512(f, data, how));
    for (; n >= 256; n -= 256, data += 256 * bytes)
        add_part(f, take256(f, data, how));
    for (; n >= 64; n -= 64, data += 64 * bytes)
        add_part(f, take64(f, data, how));
    for (; n > 0; n -= 32, data += 32 * bytes)
        add_part(f, take(f, data, n < 32 ? (int)n : 32, how));
}

AVX512_INLINE void sum_fast_as(struct hcb_sums *out, const unsigned char *data, int64_t n,
                               const struct how *how)
{
    struct fast f = {no_range(), _mm512_setzero_pd(), _mm512_setzero_pd()};
    take_all(&f, data, n, how);
    *out = (struct hcb_sums){.n = n};
    out->sum = _mm512_reduce_add_pd(f.sum);
    out->squares = _mm512_reduce_add_pd(f.squares);
    if (how->dtype == HCB_F32)
        set_range_of_floats(out, &f.range);
    else
        set_range_of_halves(out, &f.range, how->dtype);
}

AVX512_INLINE void sum_fast(struct hcb_sums *out, const unsigned char *data, int64_t n,
                            float shift, enum hcb_dtype dtype)
{
    if (shift == 0)
        sum_fast_as(out, data, n, &(struct how){dtype, false, _mm512_setzero_ps()});
    else
        sum_fast_as(out, data, n, &(struct how){dtype, true, _mm512_set1_ps(shift)});
}

/* ---- careful: in double, which holds all squares of f32 ---- */

struct careful {
    __m512 min, max;
    __m512d sum[2], squares[2];
    int64_t n, zeros, nan;
};

AVX512_INLINE __m512 load16(const unsigned char *data, __mmask16 there, enum hcb_dtype dtype)
{
    if (dtype == HCB_F32)
        return _mm512_maskz_loadu_ps(there, data);
    return widen(_mm256_maskz_loadu_epi16(there, data), dtype);
}

AVX512_INLINE void take8(struct careful *c, int which, __m512d x, __mmask8 finite, __m512d shift)
{
    __m512d d = _mm512_sub_pd(x, shift);
    c->sum[which] = _mm512_mask_add_pd(c->sum[which], finite, c->sum[which], d);
    c->squares[which] = _mm512_mask3_fmadd_pd(d, d, c->squares[which], finite);
}

AVX512_INLINE void take16(struct careful *c, __m512 x, __mmask16 there, __m512d shift)
{
    const __m512i magnitude = _mm512_set1_epi32(INT32_MAX);
    __mmask16 odd = _mm512_mask_fpclass_ps_mask(there, x, ODD_CLASS);
    __mmask16 finite = _kandn_mask16(odd, there);
    c->n += count_of(finite);
    c->nan += count_of(_mm512_mask_fpclass_ps_mask(odd, x, NAN_CLASS));
    c->zeros += count_of(_mm512_mask_testn_epi32_mask(finite, _mm512_castps_si512(x), magnitude));
    c->min = _mm512_mask_min_ps(c->min, finite, c->min, x);
    c->max = _mm512_mask_max_ps(c->max, finite, c->max, x);
    take8(c, 0, widen_low(x), (__mmask8)finite, shift);
    take8(c, 1, widen_high(x), (__mmask8)(finite >> 8), shift);
}

AVX512_INLINE void sum_carefully(struct hcb_sums *out, const unsigned char *data, int64_t n,
                                 float by, enum hcb_dtype dtype)
{
    const __m512d shift = _mm512_set1_pd((double)by), zero = _mm512_setzero_pd();
    struct careful c = {.min = _mm512_set1_ps(INFINITY), .max = _mm512_set1_ps(-INFINITY)};
    c.sum[0] = c.sum[1] = c.squares[0] = c.squares[1] = zero;
    for (int64_t i = 0; i < n; i += 16) {
        __mmask16 there = (__mmask16)LANES(n - i < 16 ? n - i : 16);
        take16(&c, load16(data + i * BYTES(dtype), there, dtype), there, shift);
    }
    *out = (struct hcb_sums){
        .sum = _mm512_reduce_add_pd(_mm512_add_pd(c.sum[0], c.sum[1])),
        .squares = _mm512_reduce_add_pd(_mm512_add_pd(c.squares[0], c.squares[1])),
        .min = (double)_mm512_reduce_min_ps(c.min), .max = (double)_mm512_reduce_max_ps(c.max),
        .n = c.n, .zeros = c.zeros, .nan = c.nan, .inf = n - c.n - c.nan,
    };
}

/* ---- f64 ---- */

struct sums64 {
    __m512d min, max, sum[2], squares[2];
    __m512i zeros;
};

/* n elements, 1 to 8. */
AVX512_INLINE void take_f64s(struct sums64 *s, int which, const unsigned char *data, int n,
                             __m512d shift)
{
    const __m512i magnitude = _mm512_set1_epi64(INT64_MAX), less = _mm512_set1_epi64(1);
    const __m512d one = _mm512_set1_pd(1);
    __mmask8 there = (__mmask8)LANES(n);
    __m512d x = _mm512_maskz_loadu_pd(there, data);
    __mmask8 zero = _mm512_mask_testn_epi64_mask(there, _mm512_castpd_si512(x), magnitude);
    s->min = _mm512_mask_min_pd(s->min, there, s->min, x);
    s->max = _mm512_mask_max_pd(s->max, there, s->max, x);
    s->zeros = _mm512_mask_add_epi64(s->zeros, zero, s->zeros, less);
    __m512d d = _mm512_maskz_fmsub_pd(there, x, one, shift);
    s->sum[which] = _mm512_fmadd_pd(d, one, s->sum[which]);
    s->squares[which] = _mm512_fmadd_pd(d, d, s->squares[which]);
}

AVX512 static void sum_f64(struct hcb_sums *out, const unsigned char *data, int64_t n, double by)
{
    const __m512d zero = _mm512_setzero_pd(), shift = _mm512_set1_pd(by);
    const double infinity = (double)INFINITY;
    struct sums64 s = {_mm512_set1_pd(infinity), _mm512_set1_pd(-infinity), {zero, zero},
                       {zero, zero}, _mm512_setzero_si512()};
    *out = (struct hcb_sums){.n = n};
    for (; n >= 16; n -= 16, data += 128) {
        take_f64s(&s, 0, data, 8, shift);
        take_f64s(&s, 1, data + 64, 8, shift);
    }
    for (; n > 0; n -= 8, data += 64)
        take_f64s(&s, 0, data, n < 8 ? (int)n : 8, shift);
    out->sum = _mm512_reduce_add_pd(_mm512_add_pd(s.sum[0], s.sum[1]));
    out->squares = _mm512_reduce_add_pd(_mm512_add_pd(s.squares[0], s.squares[1]));
    out->min = _mm512_reduce_min_pd(s.min);
    out->max = _mm512_reduce_max_pd(s.max);
    out->zeros = _mm512_reduce_add_epi64(s.zeros);
}

AVX512 static void take_f64(struct hcb_stats_work *w, const unsigned char *data, int64_t n)
{
    hcb_take_blocks64(sum_f64, 1, w, data, n);
}

/* ---- the rows ---- */

HCB_BLOCK_KERNEL(AVX512, f32, HCB_F32)
HCB_BLOCK_KERNEL(AVX512, f16, HCB_F16)
HCB_BLOCK_KERNEL(AVX512, bf16, HCB_BF16)

/* All processors with these have FMA, F16C and POPCNT as well. */
static bool runs(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

const struct hcb_kernels hcb_kernels_avx512 = {
    .name = "avx512", .runs = runs,
    .f32 = take_f32, .f64 = take_f64, .f16 = take_f16, .bf16 = take_bf16,
};

#else
typedef int hcb_no_avx512; /* a file of C must not be empty */
#endif
