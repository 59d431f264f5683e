/* From the sums of a block to those of the whole; see blocks.h. */
#include "stats/blocks.h"

#include "stats/convert.h"
#include "stats/moments.h"

#include <math.h>
#include <string.h>

/* Fewer than these go the careful way at once. */
#define FEW 128

/* Elements that give the shift where nothing else is known. */
#define FIRST 32

/* A smaller sum of squares in f32 may have lost some to underflow. */
#define SQUARES_MIN 1e-30

static void add_counts(struct hcb_stats_work *w, const struct hcb_sums *s)
{
    w->finite += s->n;
    w->nan += s->nan;
    w->inf += s->inf;
    w->zeros += s->zeros;
    w->min = s->min < w->min ? s->min : w->min;
    w->max = s->max > w->max ? s->max : w->max;
}

/* `shift` is told from the origin of the moments. */
static void add_sums(struct hcb_stats_work *w, const struct hcb_sums *s, double shift,
                     double origin)
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
static bool is_far(const struct hcb_sums *s)
{
    return s->sum * s->sum * 5 > s->squares * (double)s->n;
}

/* ---- f32, f16, bf16 ---- */

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

static void take_carefully(const struct hcb_blocks *by, struct hcb_stats_work *w,
                           const unsigned char *data, int64_t n)
{
    struct hcb_sums s;
    float shift = (float)careful_shift(w, data, by->dtype);
    by->careful(&s, data, n, shift);
    if (!hcb_is_finite((double)shift) && s.n > 0) { /* now some number is known */
        shift = (float)s.min;
        by->careful(&s, data, n, shift);
    }
    add_sums(w, &s, (double)shift, 0);
}

/* The mean as far as it is known, or 0 if it is not far from that. */
static float fast_shift(const struct hcb_blocks *by, const struct hcb_stats_work *w,
                        const unsigned char *data)
{
    double n = w->sum.n, mean = w->sum.mean, m2 = w->sum.m2;
    if (n == 0) {
        struct hcb_sums s;
        by->fast(&s, data, FIRST, 0);
        n = FIRST, mean = s.sum / n, m2 = s.squares - s.sum * mean;
    }
    return mean * mean * n * 8 <= m2 ? 0 : (float)mean;
}

/* Whether sums in f32 are good enough: all was finite; no square was lost; the shift was not
 * far off; and no few values are most of it, so that roundings even out. */
static bool is_exact(const struct hcb_sums *s, double shift)
{
    double below = shift - s->min, above = s->max - shift, most = below > above ? below : above;
    if (!hcb_is_finite(s->squares))
        return false;
    if (s->min == s->max)
        return true;
    return s->squares >= SQUARES_MIN && !is_far(s) && most * most * 16 <= s->squares;
}

static void take_fast(const struct hcb_blocks *by, struct hcb_stats_work *w,
                      const unsigned char *data, int64_t n)
{
    struct hcb_sums s;
    float shift = fast_shift(by, w, data);
    by->fast(&s, data, n, shift);
    if (is_exact(&s, (double)shift))
        add_sums(w, &s, (double)shift, 0);
    else
        take_carefully(by, w, data, n);
}

void hcb_take_blocks(const struct hcb_blocks *by, struct hcb_stats_work *w,
                     const unsigned char *data, int64_t n)
{
    int64_t bytes = by->dtype == HCB_F32 ? 4 : 2, count;
    for (; n >= FEW; n -= count, data += count * bytes) {
        count = n < 2 * HCB_FAST ? n : HCB_FAST;
        take_fast(by, w, data, count);
    }
    if (n > 0)
        take_carefully(by, w, data, n);
}

/* ---- f64: fast, or as in plain C ---- */

static void take_exactly(struct hcb_stats_work *w, const unsigned char *data, int64_t n)
{
    double x[HCB_BLOCK];
    for (; n > 0; n -= HCB_BLOCK, data += sizeof(x)) {
        int count = n < HCB_BLOCK ? (int)n : HCB_BLOCK;
        memcpy(x, data, (size_t)count * sizeof(*x));
        hcb_take_doubles(w, x, count, true);
    }
}

/* Whether the sums are those of the values, at the scale of the whole: squares of values of
 * this size are kept, or there was nothing to square. */
static bool is_ordinary(struct hcb_stats_work *w, const struct hcb_sums *s)
{
    double magnitude = -s->min > s->max ? -s->min : s->max;
    if (!hcb_is_finite(s->squares) || magnitude >= HCB_LARGE)
        return false;
    if (magnitude == 0)
        return w->sum.scale == 0 || w->sum.origin == 0;
    hcb_moments_raise(&w->sum, magnitude);
    return w->sum.scale == 0;
}

static void take_block64(hcb_sum64 *fast, struct hcb_stats_work *w, const unsigned char *data,
                         int64_t n)
{
    struct hcb_sums s;
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
    if (w->sum.n == 0 && n > FIRST) {
        fast(&s, data, FIRST, shift);
        shift += s.sum / FIRST;
    }
    fast(&s, data, n, shift);
    if (is_far(&s) && s.min < s.max) {
        shift += s.sum / (double)n;
        fast(&s, data, n, shift);
    }
    if (is_ordinary(w, &s))
        add_sums(w, &s, shift - origin, origin);
    else
        take_exactly(w, data, n);
}

void hcb_take_blocks64(hcb_sum64 *fast, int unit, struct hcb_stats_work *w,
                       const unsigned char *data, int64_t n)
{
    int64_t whole = n & ~(int64_t)(unit - 1), count;
    for (int64_t i = 0; i < whole; i += count) {
        count = whole - i < HCB_FAST / 2 ? whole - i : HCB_FAST / 2;
        take_block64(fast, w, data + i * 8, count);
    }
    if (n > whole)
        take_exactly(w, data + whole * 8, n - whole);
}
