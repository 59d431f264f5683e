/* Elements that lie one after the other, at any alignment, as numbers. Knows no shapes. */
#ifndef HCB_CONVERT_H
#define HCB_CONVERT_H

#include "base/number.h"
#include "stats/tensor.h"

#include <string.h>

/* n elements, of any type; 64-bit integers are rounded. */
void hcb_to_doubles(enum hcb_dtype dtype, const unsigned char *data, int64_t n, double *out);

/* n elements of integers or bools, those of u64 less 2^63. */
void hcb_to_ints(enum hcb_dtype dtype, const unsigned char *data, int64_t n, int64_t *out);

/* One that hcb_to_ints() gave, as what it stands for. */
struct hcb_element hcb_element_of_int(enum hcb_dtype dtype, int64_t x);

#endif
