/* Going through a tensor of any strides, on a device or not, as elements that lie one after
 * the other. Knows nothing of what they mean. */
#ifndef HCB_WALK_H
#define HCB_WALK_H

#include "stats/stats.h"

/* Bytes that a caller lends for elements that do not lie one after the other. */
#define HCB_BLOCK_BYTES 2048

/* The next elements: 1 to `most` of them at *data, good until the next call; 0 at the end,
 * -1 if the device failed. */
int64_t hcb_walk_next(struct hcb_walk *w, int64_t most, unsigned char block[HCB_BLOCK_BYTES],
                      const unsigned char **data);

/* Gives about `most` of the next elements to `take` as doubles, some at a time, all of it in
 * the default floating point environment. 1: there is more; 0: done; -1: the device failed. */
typedef void hcb_take_fn(void *of, const double *x, int64_t n);
int hcb_walk_doubles(struct hcb_walk *w, int64_t most, hcb_take_fn *take, void *of);

#endif
