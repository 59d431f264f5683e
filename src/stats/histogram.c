/* Histograms of a tensor; see stats.h. */
#include "stats/convert.h"
#include "stats/fp.h"
#include "stats/stats.h"
#include "stats/walk.h"

#include <float.h>
#include <math.h>
#include <string.h>

void hcb_histogram_begin(struct hcb_histogram_work *w, const struct hcb_tensor *t,
                         unsigned char *stage, double lo, double hi, int bins, int64_t *counts)
{
    hcb_walk_begin(&w->walk, t, false, stage);
    w->lo = lo;
    w->hi = hi;
    w->bins = bins;
    w->counts = counts;
    memset(counts, 0, (size_t)bins * sizeof(*counts));
}

/* Whether the distance from lo to hi, times bins, is a double. */
static bool is_narrow(double lo, double hi, int bins)
{
    return hi / bins - lo / bins < DBL_MAX / 4 / bins / bins;
}

static double edge(double lo, double hi, int bins, int i)
{
    if (i <= 0)
        return lo;
    if (i >= bins)
        return hi;
    double x;
    if (is_narrow(lo, hi, bins))
        x = lo + (hi - lo) * i / bins;
    else
        x = 2 * (lo / 2 + (hi / 2 - lo / 2) * ((double)i / bins));
    return x < hi ? x : hi;
}

struct edge {
    double lo, hi, x;
    int bins, i;
};

static void do_edge(void *of)
{
    struct edge *e = of;
    e->x = edge(e->lo, e->hi, e->bins, e->i);
}

double hcb_histogram_edge(double lo, double hi, int bins, int i)
{
    struct edge e = {lo, hi, 0, bins, i};
    hcb_fp_run(do_edge, &e);
    return e.x;
}

/* How a value finds its bin: at about (x - lo) * per_unit, give or take `doubt`, all of it
 * halved where the numbers are so large that their difference could overflow. Where that is
 * next to an edge, the edge decides. */
struct ruler {
    const struct hcb_histogram_work *w;
    double half, per_unit, doubt;
};

static struct ruler ruler_of(const struct hcb_histogram_work *w)
{
    struct ruler r = {.w = w, .half = is_narrow(w->lo, w->hi, w->bins) ? 1 : 0.5};
    double span = w->hi * r.half - w->lo * r.half;
    double far = fmax(fabs(w->lo), fabs(w->hi)) * r.half;
    r.per_unit = w->bins / span;
    r.doubt = 8 * DBL_EPSILON * (w->bins + far / span * w->bins);
    if (!hcb_is_finite(r.per_unit) || !hcb_is_finite(r.doubt))
        r.doubt = 1;
    return r;
}

/* By halving, from edges alone. */
static int bin_by_edges(const struct hcb_histogram_work *w, double x)
{
    int low = 0, high = w->bins; /* edge(low) <= x < edge(high), but for x = hi */
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (edge(w->lo, w->hi, w->bins, middle) <= x)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int bin_of(const struct ruler *r, double x)
{
    const struct hcb_histogram_work *w = r->w;
    if (r->doubt >= 0.25)
        return bin_by_edges(w, x);
    double at = (x * r->half - w->lo * r->half) * r->per_unit;
    int i = (int)at, next = (int)(at + 0.5);
    if (fabs(at - next) < r->doubt)
        i = x < edge(w->lo, w->hi, w->bins, next) ? next - 1 : next;
    return i < w->bins ? i : w->bins - 1;
}

static void count(void *ruler, const double *x, int64_t n)
{
    const struct ruler *r = ruler;
    const struct hcb_histogram_work *w = r->w;
    for (int64_t i = 0; i < n; i++)
        if (x[i] >= w->lo && x[i] <= w->hi) /* not NaN */
            w->counts[bin_of(r, x[i])]++;
}

static void do_ruler(void *ruler)
{
    struct ruler *r = ruler;
    *r = ruler_of(r->w);
}

int hcb_histogram_step(struct hcb_histogram_work *w, int64_t most)
{
    struct ruler r = {.w = w};
    hcb_fp_run(do_ruler, &r);
    return hcb_walk_doubles(&w->walk, most, count, &r);
}
