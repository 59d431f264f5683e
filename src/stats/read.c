/* The values of a tensor as doubles, and the norm of order 1; see stats.h. */
#include "stats/convert.h"
#include "stats/fp.h"
#include "stats/stats.h"
#include "stats/walk.h"

#include <math.h>

#define BLOCK 256

static int64_t read_on(struct hcb_walk *w, double *out, int64_t n)
{
    unsigned char block[HCB_BLOCK_BYTES];
    const unsigned char *data;
    int64_t done = 0, got;
    for (; done < n; done += got) {
        got = hcb_walk_next(w, n - done, block, &data);
        if (got <= 0)
            return got < 0 ? -1 : done;
        hcb_to_doubles(w->t.dtype, data, got, out + done);
    }
    return done;
}

struct reading {
    struct hcb_walk *walk;
    double *out;
    int64_t n, result;
};

static void do_read(void *of)
{
    struct reading *r = of;
    r->result = read_on(r->walk, r->out, r->n);
}

int64_t hcb_read(struct hcb_walk *w, double *out, int64_t n)
{
    struct reading r = {.walk = w, .out = out, .n = n};
    hcb_fp_run(do_read, &r);
    return r.result;
}

/* ---- for each block ---- */

struct each {
    struct hcb_walk *walk;
    int64_t most;
    hcb_take_fn *take;
    void *of;
    int result;
};

static void do_each(void *each)
{
    struct each *e = each;
    double x[BLOCK];
    int64_t n = 0;
    for (int64_t done = 0; done < e->most; done += n) {
        int64_t rest = e->most - done;
        n = read_on(e->walk, x, rest < BLOCK ? rest : BLOCK);
        if (n <= 0)
            break;
        e->take(e->of, x, n);
    }
    e->result = n < 0 ? -1 : e->walk->left > 0;
}

int hcb_walk_doubles(struct hcb_walk *w, int64_t most, hcb_take_fn *take, void *of)
{
    struct each e = {w, most, take, of, 0};
    hcb_fp_run(do_each, &e);
    return e.result;
}

/* ---- the norm of order 1 ---- */

void hcb_norm1_begin(struct hcb_norm1_work *w, const struct hcb_tensor *t, unsigned char *stage)
{
    hcb_walk_begin(&w->walk, t, false, stage);
    w->sum = 0;
}

static void add_magnitudes(void *work, const double *x, int64_t n)
{
    struct hcb_norm1_work *w = work;
    double s[4] = {0};
    for (int64_t i = 0; i < n; i++)
        s[i & 3] += fabs(x[i]);
    w->sum += s[0] + s[1] + (s[2] + s[3]);
}

int hcb_norm1_step(struct hcb_norm1_work *w, int64_t most)
{
    return hcb_walk_doubles(&w->walk, most, add_magnitudes, w);
}
