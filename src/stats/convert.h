/* Elements that lie one after the other, at any alignment, as numbers. Knows no shapes. */
#ifndef HCB_CONVERT_H
#define HCB_CONVERT_H

#include "stats/tensor.h"

#include <string.h>

/* The exponent bits of a double: all of them set is an infinity or a NaN. */
#define HCB_EXPONENT 0x7ff0000000000000u

static inline uint64_t hcb_double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* By bits, so that it holds whatever the compiler was told about floating point. */
static inline bool hcb_is_finite(double x)
{
    return (hcb_double_bits(x) & HCB_EXPONENT) != HCB_EXPONENT;
}

static inline bool hcb_is_nan(double x)
{
    return (hcb_double_bits(x) & ~((uint64_t)1 << 63)) > HCB_EXPONENT;
}

/* n elements, of any type; 64-bit integers are rounded. */
void hcb_to_doubles(enum hcb_dtype dtype, const unsigned char *data, int64_t n, double *out);

/* n elements of integers or bools, those of u64 less 2^63. */
void hcb_to_ints(enum hcb_dtype dtype, const unsigned char *data, int64_t n, int64_t *out);

/* One that hcb_to_ints() gave, as what it stands for. */
struct hcb_element hcb_element_of_int(enum hcb_dtype dtype, int64_t x);

#endif
