/* What is said of a tensor: statistics, norms, histograms. All of it is done in pieces, so
 * that who asked can stop between two of them: begin, then step until it returns 0.
 *
 * Exactness. NaN and infinities are told by their exponent bits and stay out of mean, std,
 * min, max and l2. Counts, min and max are exact for every type. Mean, std and l2 are those
 * of the values as stored: of f32, f16 and bf16 within 1e-7 (the mean relative to
 * max(|mean|, std), the others to themselves; values made so that each rounding goes the same
 * way, lane by lane, can get to four times that), of all other types within 1e-12, also where
 * the sum of squares leaves the range of the type or of a double. Floating point runs in the
 * default environment (round to nearest, denormals kept) whatever the host has set. */
#ifndef HCB_STATS_H
#define HCB_STATS_H

#include "stats/tensor.h"

/* Bytes of memory that a step may bring from a device at once. */
#define HCB_STAGE_BYTES 65536

/* The place of some work in a tensor. In row-major order, or in whatever order is fastest. */
struct hcb_walk {
    struct hcb_tensor t;      /* dimensions that lie one after the other in memory are one */
    int64_t at[HCB_DIMS];     /* of the next element */
    int64_t left;             /* elements */
    unsigned char *stage;     /* HCB_STAGE_BYTES, for tensors on a device; else unused */
};

/* `stage` may be NULL for a tensor in plain memory. */
void hcb_walk_begin(struct hcb_walk *w, const struct hcb_tensor *t, bool in_order,
                    unsigned char *stage);

/* ---- statistics ---- */

struct hcb_stats {
    int64_t n;               /* elements in all */
    int64_t nan, inf, zeros; /* zeros of either sign */
    double mean, std;        /* std is that of the population: divided by n. NaN if there is no */
    double min, max;         /* finite element, as are these */
    double l2;               /* 0 if there is none */
    struct hcb_element min_element, max_element; /* the same exactly, where there is one */
};

/* Moments of some finite values x, as those of (x - origin) * 2^-scale: what varies is kept
 * apart from what is common to all, and near 1. */
struct hcb_moments {
    double n, mean, m2; /* m2: sum of the squares of what differs from the mean */
    double origin;      /* one of the values if they are f64, else 0 */
    int64_t origin_int; /* in its place for integers, and one of them */
    int scale;
};

struct hcb_stats_work {
    struct hcb_walk walk;
    struct hcb_moments sum;
    int64_t finite, nan, inf, zeros;
    double min, max;         /* of floating types */
    int64_t min_int;         /* of integers, those of u64 less 2^63 */
    int64_t max_int;
};

void hcb_stats_begin(struct hcb_stats_work *w, const struct hcb_tensor *t, unsigned char *stage);

/* Goes on for about `most` elements. 1: there is more; 0: done; -1: the device failed. */
int hcb_stats_step(struct hcb_stats_work *w, int64_t most);
void hcb_stats_end(const struct hcb_stats_work *w, struct hcb_stats *out);

/* ---- values in row-major order, as doubles ---- */

/* Fills out with the next values, at most n of them, and advances. How many: 0 at the end,
 * -1 where the device failed. 64-bit integers are rounded to doubles. */
int64_t hcb_read(struct hcb_walk *w, double *out, int64_t n);

/* ---- the norm of order 1 ---- */

struct hcb_norm1_work {
    struct hcb_walk walk;
    double sum; /* of |x|; NaN and infinities have their way */
};

void hcb_norm1_begin(struct hcb_norm1_work *w, const struct hcb_tensor *t, unsigned char *stage);
int hcb_norm1_step(struct hcb_norm1_work *w, int64_t most);

/* ---- histogram ---- */

struct hcb_histogram_work {
    struct hcb_walk walk;
    double lo, hi;
    int bins;
    int64_t *counts; /* (bins), the caller's, zeroed by begin */
};

/* bins equal intervals from lo to hi, lo < hi, both finite; the last one includes hi. What lies
 * outside, and NaN, is not counted. */
void hcb_histogram_begin(struct hcb_histogram_work *w, const struct hcb_tensor *t,
                         unsigned char *stage, double lo, double hi, int bins, int64_t *counts);
int hcb_histogram_step(struct hcb_histogram_work *w, int64_t most);

/* The lower edge of bin i; i = bins is the upper edge of the last one. */
double hcb_histogram_edge(double lo, double hi, int bins, int i);

#endif
