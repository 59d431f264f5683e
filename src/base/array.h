/* Room for one more in an array that grows by doubling. */
#ifndef HCB_ARRAY_H
#define HCB_ARRAY_H

#include <stddef.h>

/* The array `items`, which holds n of *cap things of item_bytes each, with room for at
 * least one more; perhaps elsewhere than before. NULL when out of memory: the array
 * then is as it was. What is new is not set. */
void *hcb_grow(void *items, size_t n, size_t *cap, size_t item_bytes);

#endif
