/* Growing arrays; see array.h. */
#include "base/array.h"

#include <stdlib.h>

void *hcb_grow(void *items, size_t n, size_t *cap, size_t item_bytes)
{
    if (n < *cap)
        return items;
    size_t wanted = *cap ? 2 * *cap : 4;
    void *grown = realloc(items, wanted * item_bytes);
    if (grown)
        *cap = wanted;
    return grown;
}
