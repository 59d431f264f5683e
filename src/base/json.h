/* JSON text <-> values; the only door to cJSON.
 *
 * Reading is strict (RFC 8259): one value, nothing after it, no key twice, valid
 * UTF-8, no NUL character, integers within int64, reals finite. Writing is done
 * here, not by cJSON, because it must not allocate per line once warm, keep all
 * digits, and never write what a strict reader refuses: NaN and infinities
 * become the strings "NaN", "Infinity", "-Infinity", bytes that are not UTF-8 and
 * NUL become U+FFFD. */
#ifndef HCB_JSON_H
#define HCB_JSON_H

#include "base/buf.h"
#include "base/err.h"
#include "base/value.h"

/* Is all of it one number by JSON's grammar (RFC 8259, 6)? It may still be too large. */
bool hcb_json_is_number(const char *text, size_t n);

/* *out must be null; on failure it is null again. Errors: EFORMAT, ENOMEM. */
int hcb_json_parse(const char *text, size_t n, struct hcb_value *out, struct hcb_err *err);
/* The same for at most so many values, those of lists and maps and they themselves. */
int hcb_json_parse_within(const char *text, size_t n, size_t nodes, struct hcb_value *out,
                          struct hcb_err *err);

/* Each of these puts a comma first where one is due, which it sees from the last
 * byte of the buffer, so that a record is written by just naming its parts. */
void hcb_json_open(struct hcb_buf *b, char bracket);  /* '{' or '[' */
void hcb_json_close(struct hcb_buf *b, char bracket); /* '}' or ']' */
void hcb_json_key(struct hcb_buf *b, const char *key);
void hcb_json_null(struct hcb_buf *b);
void hcb_json_bool(struct hcb_buf *b, bool v);
void hcb_json_int(struct hcb_buf *b, int64_t v);
void hcb_json_real(struct hcb_buf *b, double v);
void hcb_json_millionths(struct hcb_buf *b, int64_t v); /* as a real */
void hcb_json_text(struct hcb_buf *b, const char *s, size_t n);
void hcb_json_str(struct hcb_buf *b, const char *s); /* NULL is written as null */
void hcb_json_value(struct hcb_buf *b, const struct hcb_value *v);
void hcb_json_raw(struct hcb_buf *b, const char *json, size_t n); /* as it is; n may be 0 */

/* A key with its value; NULL is written as null. */
void hcb_json_put_null(struct hcb_buf *b, const char *key);
void hcb_json_put_bool(struct hcb_buf *b, const char *key, bool v);
void hcb_json_put_int(struct hcb_buf *b, const char *key, int64_t v);
void hcb_json_put_real(struct hcb_buf *b, const char *key, double v);
void hcb_json_put_str(struct hcb_buf *b, const char *key, const char *s);
void hcb_json_put_value(struct hcb_buf *b, const char *key, const struct hcb_value *v);

/* The same over several lines, for people: short lists and maps stay on one. */
void hcb_json_pretty(struct hcb_buf *b, const struct hcb_value *v, int indent);

#endif
