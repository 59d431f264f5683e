/* A tensor in blocks: a set of vector kernels makes the sums of one, in a fast way or a careful
 * one, and here is what they amount to, and which of the two is needed. Knows no processors. */
#ifndef HCB_BLOCKS_H
#define HCB_BLOCKS_H

#include "stats/stats.h"

/* Elements of a block: so many, or at the end less than twice that. */
#define HCB_FAST 16384

/* Of one block. */
struct hcb_sums {
    double sum, squares; /* of x - shift, for finite x */
    double min, max;     /* an infinity and its negative if none is finite */
    int64_t n, zeros, nan, inf; /* n: finite ones */
};

/* Makes the sums of n elements, 1 to 2 * HCB_FAST - 1. */
typedef void hcb_sum32(struct hcb_sums *out, const unsigned char *data, int64_t n, float shift);
typedef void hcb_sum64(struct hcb_sums *out, const unsigned char *data, int64_t n, double shift);

/* For f32, and for what is widened to it. */
struct hcb_blocks {
    enum hcb_dtype dtype;
    /* In f32, a few at a time, and then in double. All elements are taken to be finite: the
     * squares are not, if one is not. Faster where the shift is 0. */
    hcb_sum32 *fast;
    /* In double, which holds all squares of f32; tells NaNs and infinities. */
    hcb_sum32 *careful;
};

void hcb_take_blocks(const struct hcb_blocks *by, struct hcb_stats_work *w,
                     const unsigned char *data, int64_t n);

/* The kernel of a set for one of them, from functions of the set that take the type as one
 * more argument, always inline; TARGET says for what the compiler works. */
#define HCB_BLOCK_KERNEL(TARGET, name, dtype)                                                  \
    TARGET static void fast_##name(struct hcb_sums *out, const unsigned char *data, int64_t n, \
                                   float shift)                                                \
    {                                                                                          \
        sum_fast(out, data, n, shift, dtype);                                                  \
    }                                                                                          \
    TARGET static void careful_##name(struct hcb_sums *out, const unsigned char *data,         \
                                      int64_t n, float shift)                                  \
    {                                                                                          \
        sum_carefully(out, data, n, shift, dtype);                                             \
    }                                                                                          \
    static void take_##name(struct hcb_stats_work *w, const unsigned char *data, int64_t n)    \
    {                                                                                          \
        static const struct hcb_blocks by = {dtype, fast_##name, careful_##name};              \
        hcb_take_blocks(&by, w, data, n);                                                      \
    }

/* For f64: by `fast` where its sums show that it will do, else as in plain C. `fast` takes
 * multiples of `unit` elements, a power of 2. */
void hcb_take_blocks64(hcb_sum64 *fast, int unit, struct hcb_stats_work *w,
                       const unsigned char *data, int64_t n);

#endif
