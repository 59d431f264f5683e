/* The values of a tensor as doubles, and the norm of order 1; see stats.h. */
#include "stats/convert.h"
#include "stats/fp.h"
#include "stats/stats.h"
#include "stats/walk.h"

#include <math.h>

struct reading {
    struct hcb_walk *walk;
    double *out;
    int64_t n, result;
};

static void do_read(void *of)
{
    struct reading *r = of;
    unsigned char block[HCB_BLOCK_BYTES];
    const unsigned char *data;
    while (r->result < r->n) {
        int64_t n = hcb_walk_next(r->walk, r->n - r->result, block, &data);
        if (n <= 0) {
            r->result = n < 0 ? -1 : r->result;
            return;
        }
        hcb_to_doubles(r->walk->t.dtype, data, n, r->out + r->result);
        r->result += n;
    }
}

int64_t hcb_read(struct hcb_walk *w, double *out, int64_t n)
{
    struct reading r = {.walk = w, .out = out, .n = n};
    hcb_fp_run(do_read, &r);
    return r.result;
}

/* ---- the norm of order 1 ---- */

#define BLOCK 256

struct step {
    struct hcb_norm1_work *w;
    int64_t most;
    int result;
};

void hcb_norm1_begin(struct hcb_norm1_work *w, const struct hcb_tensor *t, unsigned char *stage)
{
    hcb_walk_begin(&w->walk, t, false, stage);
    w->sum = 0;
}

static double sum_of_magnitudes(const double *x, int64_t n)
{
    double s[4] = {0};
    for (int64_t i = 0; i < n; i++)
        s[i & 3] += fabs(x[i]);
    return s[0] + s[1] + (s[2] + s[3]);
}

static void do_norm1(void *of)
{
    struct step *step = of;
    double x[BLOCK];
    int64_t n = 0;
    for (int64_t done = 0; done < step->most; done += n) {
        int64_t rest = step->most - done;
        n = hcb_read(&step->w->walk, x, rest < BLOCK ? rest : BLOCK);
        if (n <= 0)
            break;
        step->w->sum += sum_of_magnitudes(x, n);
    }
    step->result = n < 0 ? -1 : step->w->walk.left > 0;
}

int hcb_norm1_step(struct hcb_norm1_work *w, int64_t most)
{
    struct step step = {w, most, 0};
    hcb_fp_run(do_norm1, &step);
    return step.result;
}
