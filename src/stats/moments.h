/* How values are taken into the work on statistics, exactly: all in double, what is finite
 * told by exponent bits. Every kernel falls back on this. Knows no shapes. */
#ifndef HCB_MOMENTS_H
#define HCB_MOMENTS_H

#include "stats/stats.h"

/* Elements that are taken in at once. */
#define HCB_BLOCK 256

/* Where the largest magnitude is not between these, the scale is HCB_SCALE or -HCB_SCALE in
 * place of 0, so that no square over- or underflows. */
#define HCB_SMALL 0x1p-400
#define HCB_LARGE 0x1p400
#define HCB_SCALE 600

void hcb_moments_begin(struct hcb_moments *m, enum hcb_dtype dtype);

/* Adds those of n more values, at the same origin and scale. */
void hcb_moments_add(struct hcb_moments *m, double n, double mean, double m2);

/* Makes the scale of m the one that values up to this magnitude need, if it is larger. */
void hcb_moments_raise(struct hcb_moments *m, double magnitude);

/* Takes in n <= HCB_BLOCK values, of any kind and size, and spoils x. f64: they are not
 * known to have squares in range. */
void hcb_take_doubles(struct hcb_stats_work *w, double *x, int n, bool f64);

/* Takes in n integers or bools that lie one after the other. */
void hcb_take_ints(struct hcb_stats_work *w, const unsigned char *data, int64_t n);

#endif
