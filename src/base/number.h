/* Numbers <-> text, the same under every locale. */
#ifndef HCB_NUMBER_H
#define HCB_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* [-+]?[0-9]+ and nothing else. *overflow (may be NULL): it is, but beyond int64. */
bool hcb_parse_int(const char *s, size_t n, int64_t *out, bool *overflow);

/* [-+]?(digits[.digits?] | .digits)([eE][-+]?digits)? and nothing else. What is
 * too large comes back as an infinity. */
bool hcb_parse_real(const char *s, size_t n, double *out);

/* By its exponent bits: holds in a file built with -ffast-math, too. */
bool hcb_is_nan(double d);
bool hcb_is_finite(double d);

#define HCB_REAL_CHARS 32
/* The shortest text that reads back as the same double, with a '.' or an 'e' in
 * it so that it stays a real; "nan", "inf", "-inf". Returns its length. */
int hcb_format_real(char out[HCB_REAL_CHARS], double d);

#endif
