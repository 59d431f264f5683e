/* Moments, and values taken in exactly; see moments.h. */
#include "stats/moments.h"

#include "stats/convert.h"

#include <math.h>

void hcb_moments_begin(struct hcb_moments *m, enum hcb_dtype dtype)
{
    *m = (struct hcb_moments){.scale = dtype == HCB_F64 ? -HCB_SCALE : 0};
}

/* Chan, Golub, LeVeque: Updating formulae and a pairwise algorithm for computing sample
 * variances (1979). */
void hcb_moments_add(struct hcb_moments *m, double n, double mean, double m2)
{
    if (m->n == 0) {
        m->n = n, m->mean = mean, m->m2 = m2;
        return;
    }
    double both = m->n + n, part = n / both, delta = mean - m->mean;
    m->m2 += m2 + delta * delta * (m->n * part);
    m->mean += delta * part;
    m->n = both;
}

void hcb_moments_raise(struct hcb_moments *m, double magnitude)
{
    int scale = -HCB_SCALE;
    if (magnitude >= HCB_SMALL)
        scale = magnitude < HCB_LARGE ? 0 : HCB_SCALE;
    if (scale <= m->scale)
        return;
    m->mean = ldexp(m->mean, m->scale - scale);
    m->m2 = ldexp(m->m2, 2 * (m->scale - scale));
    m->scale = scale;
}

static bool all_finite(const double *x, int n)
{
    bool is_so = true;
    for (int i = 0; i < n; i++)
        is_so &= hcb_is_finite(x[i]);
    return is_so;
}

/* Moves what is finite to the front and counts the rest. How many there are. */
static int keep_finite(struct hcb_stats_work *w, double *x, int n)
{
    int kept = 0;
    if (all_finite(x, n))
        return n;
    for (int i = 0; i < n; i++) {
        if (hcb_is_finite(x[i]))
            x[kept++] = x[i];
        else if (hcb_is_nan(x[i]))
            w->nan++;
        else
            w->inf++;
    }
    return kept;
}

/* Counts zeros and widens min and max; the largest magnitude there is. */
static double see_range(struct hcb_stats_work *w, const double *x, int n)
{
    double min = x[0], max = x[0];
    int zeros = 0;
    for (int i = 0; i < n; i++) {
        zeros += x[i] == 0;
        min = x[i] < min ? x[i] : min;
        max = x[i] > max ? x[i] : max;
    }
    w->zeros += zeros;
    w->min = min < w->min ? min : w->min;
    w->max = max > w->max ? max : w->max;
    return -min > max ? -min : max;
}

/* The values become what they differ from the origin by, in the scale of the moments. */
static void make_relative(struct hcb_moments *m, double *x, int n, double magnitude)
{
    if (m->n == 0)
        m->origin = x[0];
    hcb_moments_raise(m, magnitude);
    double factor = ldexp(1, -m->scale), origin = m->origin * factor;
    for (int i = 0; i < n; i++)
        x[i] = x[i] * factor - origin;
}

/* Four sums at a time, for one would wait for itself. */
static double sum_of(const double *x, int n)
{
    double a = 0, b = 0, c = 0, d = 0;
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        a += x[i];
        b += x[i + 1];
        c += x[i + 2];
        d += x[i + 3];
    }
    for (; i < n; i++)
        a += x[i];
    return a + b + (c + d);
}

static double squares_of(const double *x, int n, double mean)
{
    double a = 0, b = 0, c = 0, d = 0;
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        a += (x[i] - mean) * (x[i] - mean);
        b += (x[i + 1] - mean) * (x[i + 1] - mean);
        c += (x[i + 2] - mean) * (x[i + 2] - mean);
        d += (x[i + 3] - mean) * (x[i + 3] - mean);
    }
    for (; i < n; i++)
        a += (x[i] - mean) * (x[i] - mean);
    return a + b + (c + d);
}

static void take_relative(struct hcb_moments *m, const double *x, int n)
{
    double mean = sum_of(x, n) / n;
    hcb_moments_add(m, n, mean, squares_of(x, n, mean));
}

void hcb_take_doubles(struct hcb_stats_work *w, double *x, int n, bool f64)
{
    n = keep_finite(w, x, n);
    if (n == 0)
        return;
    w->finite += n;
    double magnitude = see_range(w, x, n);
    if (f64)
        make_relative(&w->sum, x, n, magnitude);
    take_relative(&w->sum, x, n);
}

/* ---- integers ---- */

/* x - origin, whose magnitude may need 64 bits: by halves, each of which is exact. */
static double difference(int64_t x, int64_t origin)
{
    int64_t low = (int64_t)((uint64_t)x & UINT32_MAX) - (int64_t)((uint64_t)origin & UINT32_MAX);
    return (double)((x >> 32) - (origin >> 32)) * 0x1p32 + (double)low;
}

static void see_int_range(struct hcb_stats_work *w, const int64_t *x, int n, int64_t zero)
{
    int64_t min = w->min_int, max = w->max_int, zeros = 0;
    for (int i = 0; i < n; i++) {
        zeros += x[i] == zero;
        min = x[i] < min ? x[i] : min;
        max = x[i] > max ? x[i] : max;
    }
    w->min_int = min;
    w->max_int = max;
    w->zeros += zeros;
}

/* Elements of 32 or 64 bits that are taken in at once. */
#define WIDE 128

static void take_wide(struct hcb_stats_work *w, const unsigned char *data, int n)
{
    int64_t x[WIDE];
    double d[WIDE];
    enum hcb_dtype dtype = w->walk.t.dtype;
    hcb_to_ints(dtype, data, n, x);
    if (w->sum.n == 0)
        w->sum.origin_int = x[0];
    see_int_range(w, x, n, dtype == HCB_U64 ? INT64_MIN : 0);
    for (int i = 0; i < n; i++)
        d[i] = difference(x[i], w->sum.origin_int);
    take_relative(&w->sum, d, n);
}

/* The sums of a block of 8 or 16 bits, all of them exact. */
struct narrow {
    int32_t sum, min, max, zeros;
    int64_t squares;
};

#define NARROW(type, value)                                       \
    for (int i = 0; i < n; i++) {                                 \
        type x;                                                   \
        memcpy(&x, data + (size_t)i * sizeof(x), sizeof(x));      \
        int32_t v = (value);                                      \
        s.sum += v;                                               \
        s.squares += (uint32_t)v * (uint32_t)v;                   \
        s.min = v < s.min ? v : s.min;                            \
        s.max = v > s.max ? v : s.max;                            \
        s.zeros += v == 0;                                        \
    }                                                             \
    break

static struct narrow sum_narrow(enum hcb_dtype dtype, const unsigned char *data, int n)
{
    struct narrow s = {.min = INT32_MAX, .max = INT32_MIN};
    switch (dtype) {
    case HCB_I8: NARROW(int8_t, x);
    case HCB_U8: NARROW(uint8_t, x);
    case HCB_I16: NARROW(int16_t, x);
    case HCB_U16: NARROW(uint16_t, x);
    default: NARROW(uint8_t, x != 0);
    }
    return s;
}

static void take_narrow(struct hcb_stats_work *w, const unsigned char *data, int n)
{
    struct narrow s = sum_narrow(w->walk.t.dtype, data, n);
    w->zeros += s.zeros;
    w->min_int = s.min < w->min_int ? s.min : w->min_int;
    w->max_int = s.max > w->max_int ? s.max : w->max_int;
    int64_t m2 = n * s.squares - (int64_t)s.sum * s.sum; /* n times that */
    hcb_moments_add(&w->sum, n, (double)s.sum / n, (double)m2 / n);
}

void hcb_take_ints(struct hcb_stats_work *w, const unsigned char *data, int64_t n)
{
    int64_t bytes = (int64_t)hcb_dtype_bytes(w->walk.t.dtype);
    bool is_wide = bytes > 2;
    int most = is_wide ? WIDE : HCB_BLOCK;
    for (; n > 0; n -= most, data += most * bytes) {
        int count = n < most ? (int)n : most;
        if (is_wide)
            take_wide(w, data, count);
        else
            take_narrow(w, data, count);
        w->finite += count;
    }
}
