/* Numbers <-> text, the same under every locale. */
#ifndef HCB_NUMBER_H
#define HCB_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* [-+]?[0-9]+ and nothing else. *overflow (may be NULL): it is, but beyond int64. */
bool hcb_parse_int(const char *s, size_t n, int64_t *out, bool *overflow);

/* [-+]?(digits[.digits?] | .digits)([eE][-+]?digits)? and nothing else. What is
 * too large comes back as an infinity. */
bool hcb_parse_real(const char *s, size_t n, double *out);

/* By its exponent bits: both hold in a file built with -ffast-math, too. */
#define HCB_EXPONENT_BITS 0x7ff0000000000000u

static inline uint64_t hcb_double_bits(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof(bits));
    return bits;
}

static inline bool hcb_is_finite(double d)
{
    return (hcb_double_bits(d) & HCB_EXPONENT_BITS) != HCB_EXPONENT_BITS;
}

static inline bool hcb_is_nan(double d)
{
    return (hcb_double_bits(d) & ~((uint64_t)1 << 63)) > HCB_EXPONENT_BITS;
}

#define HCB_INT_CHARS 24
int hcb_format_int(char out[HCB_INT_CHARS], int64_t i); /* returns its length */

/* The last `width` decimal digits of v, with zeros in front; no NUL. */
void hcb_put_digits(char *out, uint64_t v, int width);

#define HCB_REAL_CHARS 32
/* The shortest text that reads back as the same double, with a '.' or an 'e' in
 * it so that it stays a real; "nan", "inf", "-inf". Returns its length. */
int hcb_format_real(char out[HCB_REAL_CHARS], double d);
/* The same of so many millionths, exactly. */
int hcb_format_millionths(char out[HCB_REAL_CHARS], int64_t millionths);

#endif
