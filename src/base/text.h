/* Small questions about text. */
#ifndef HCB_TEXT_H
#define HCB_TEXT_H

#include "base/buf.h"
#include "base/err.h"
#include <stdint.h>

void hcb_hex(char out[2], unsigned char byte); /* two lower case digits, no NUL */
/* n bytes from 2n such digits; false where they are others, and what is in out is unknown. */
bool hcb_hex_read(const char *hex, size_t n, void *out);

char *hcb_strdup(const char *s); /* NULL for NULL, or when out of memory */
bool hcb_streq(const char *a, const char *b); /* NULL equals NULL only */

/* How many bytes at the beginning are visible ASCII, or spaces, but neither '"' nor '\\':
 * what goes into JSON, and comes out of it, as it is. */
size_t hcb_plain_run(const char *s, size_t n);

/* Length of the valid UTF-8 character at s (n bytes left), 0 if there is none. */
size_t hcb_utf8_len(const char *s, size_t n);
bool hcb_utf8_valid(const char *s, size_t n);
uint32_t hcb_utf8_code(const char *s, size_t len); /* of the character of `len` bytes at s */
size_t hcb_utf8_cut(const char *s, size_t n); /* n less a character cut off at the end */

/* Appends s as one printable line: control characters and bytes that are not
 * UTF-8 are written as \n, \t, \x1b. */
void hcb_text_printable(struct hcb_buf *b, const char *s, size_t n);
bool hcb_text_is_printable(const char *s, size_t n); /* would that leave it as it is? */

/* The candidate nearest to `word` if it is near enough to be a slip of the hand
 * (a third of its letters, swaps count once), else NULL. Among thousands of words it may
 * miss one: the work is bounded, and enough for the usual hundred. */
const char *hcb_near(const char *word, const char *const *candidates, size_t n);

/* The same for names with points in them: where some of the candidates begin as `word` does, up
 * to its last point, only what follows is compared, and only with those. */
const char *hcb_near_dotted(const char *word, const char *const *candidates, size_t n);

/* The two as what a sentence adds: " - did you mean 'x'?", or "". Returns out. */
#define HCB_NEAR_CHARS 96 /* no word longer than 64 bytes is near to any */
const char *hcb_near_hint(const char *word, const char *const *candidates, size_t n,
                          char out[HCB_NEAR_CHARS]);
const char *hcb_near_dotted_hint(const char *word, const char *const *candidates, size_t n,
                                 char out[HCB_NEAR_CHARS]);

/* What an id may be: 1 to 120 bytes of UTF-8 without spaces, control
 * characters, '/', '\' or quotes, not beginning with '.' or '-'. */
int hcb_id_check(const char *id, size_t n, struct hcb_err *err);

#endif
