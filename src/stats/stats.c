/* Statistics of a tensor, in pieces; see stats.h. The inner loops are in kernels.h. */
#include "stats/stats.h"

#include "stats/convert.h"
#include "stats/fp.h"
#include "stats/kernels.h"
#include "stats/moments.h"
#include "stats/walk.h"

#include <math.h>

void hcb_stats_begin(struct hcb_stats_work *w, const struct hcb_tensor *t, unsigned char *stage)
{
    hcb_walk_begin(&w->walk, t, false, stage);
    hcb_moments_begin(&w->sum, t->dtype);
    w->finite = w->nan = w->inf = w->zeros = 0;
    w->min = (double)INFINITY;
    w->max = -(double)INFINITY;
    w->min_int = INT64_MAX;
    w->max_int = INT64_MIN;
}

static void take(const struct hcb_kernels *kernels, struct hcb_stats_work *w,
                 const unsigned char *data, int64_t n)
{
    switch (w->walk.t.dtype) {
    case HCB_F32: kernels->f32(w, data, n); break;
    case HCB_F64: kernels->f64(w, data, n); break;
    case HCB_F16: kernels->f16(w, data, n); break;
    case HCB_BF16: kernels->bf16(w, data, n); break;
    default: hcb_take_ints(w, data, n); break;
    }
}

struct step {
    const struct hcb_kernels *kernels;
    struct hcb_stats_work *w;
    int64_t most;
    int result;
};

static void do_step(void *of)
{
    struct step *step = of;
    unsigned char block[HCB_BLOCK_BYTES];
    const unsigned char *data;
    int64_t n = 0;
    for (int64_t done = 0; done < step->most; done += n) {
        n = hcb_walk_next(&step->w->walk, step->most - done, block, &data);
        if (n <= 0)
            break;
        take(step->kernels, step->w, data, n);
    }
    step->result = n < 0 ? -1 : step->w->walk.left > 0;
}

int hcb_stats_step_by(const struct hcb_kernels *kernels, struct hcb_stats_work *w, int64_t most)
{
    struct step step = {kernels, w, most, 0};
    hcb_fp_run(do_step, &step);
    return step.result;
}

int hcb_stats_step(struct hcb_stats_work *w, int64_t most)
{
    return hcb_stats_step_by(hcb_kernels_best(), w, most);
}

/* ---- the end ---- */

static bool is_int(enum hcb_dtype dtype)
{
    return hcb_dtype_is_integer(dtype) || dtype == HCB_BOOL8;
}

/* A zero has no sign here: which of the two was met first depends on the kernel. */
static struct hcb_element element_of(double x)
{
    return (struct hcb_element){.d = x == 0 ? 0 : x};
}

static void set_range(const struct hcb_stats_work *w, struct hcb_stats *out)
{
    enum hcb_dtype dtype = w->walk.t.dtype;
    if (is_int(dtype)) {
        out->min_element = hcb_element_of_int(dtype, w->min_int);
        out->max_element = hcb_element_of_int(dtype, w->max_int);
    } else {
        out->min_element = element_of(w->min);
        out->max_element = element_of(w->max);
    }
    out->min = out->min_element.d;
    out->max = out->max_element.d;
}

/* x * 2^scale, which is mostly x. */
static double scaled(double x, int scale)
{
    return scale == 0 ? x : ldexp(x, scale);
}

static void set_moments(const struct hcb_stats_work *w, struct hcb_stats *out)
{
    const struct hcb_moments *m = &w->sum;
    enum hcb_dtype dtype = w->walk.t.dtype;
    double origin = scaled(m->origin, -m->scale);
    if (is_int(dtype))
        origin = hcb_element_of_int(dtype, m->origin_int).d;
    double mean = origin + m->mean;
    out->std = scaled(sqrt(m->m2 / m->n), m->scale);
    out->l2 = scaled(sqrt(m->m2 + m->n * mean * mean), m->scale);
    out->mean = scaled(mean, m->scale);
    /* Rounding may have led it out of the range. */
    out->mean = out->mean < out->min ? out->min : out->mean > out->max ? out->max : out->mean;
}

struct end {
    const struct hcb_stats_work *w;
    struct hcb_stats *out;
};

static void do_end(void *of)
{
    const struct end *end = of;
    set_range(end->w, end->out);
    set_moments(end->w, end->out);
}

void hcb_stats_end(const struct hcb_stats_work *w, struct hcb_stats *out)
{
    struct end end = {w, out};
    out->n = w->finite + w->nan + w->inf;
    out->nan = w->nan;
    out->inf = w->inf;
    out->zeros = w->zeros;
    if (w->finite > 0) {
        hcb_fp_run(do_end, &end);
        return;
    }
    out->mean = out->std = out->min = out->max = (double)NAN;
    out->l2 = 0;
    out->min_element = out->max_element = (struct hcb_element){.d = (double)NAN};
}
