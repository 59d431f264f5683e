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

#endif
