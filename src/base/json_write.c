/* Values -> JSON text; see json.h. Writes into a buffer and allocates nothing
 * beyond it; must not know of cJSON. */
#include "base/json.h"

#include "base/number.h"
#include "base/text.h"

#include <string.h>

/* A comma is due after whatever does not itself begin or part something. */
static bool comma_is_due(const struct hcb_buf *b)
{
    char last = b->len > 0 ? b->data[b->len - 1] : '{';
    return last != '{' && last != '[' && last != ':' && last != ',' && last != '\n' &&
           last != ' ';
}

static void comma(struct hcb_buf *b)
{
    if (comma_is_due(b))
        hcb_buf_char(b, ',');
}

void hcb_json_open(struct hcb_buf *b, char bracket)
{
    comma(b);
    hcb_buf_char(b, bracket);
}

void hcb_json_close(struct hcb_buf *b, char bracket)
{
    hcb_buf_char(b, bracket);
}

static void raw_code(struct hcb_buf *b, unsigned char c)
{
    char text[6] = "\\u00";
    hcb_hex(text + 4, c);
    hcb_buf_add(b, text, sizeof text);
}

static void raw_char(struct hcb_buf *b, char c)
{
    switch (c) {
    case '"': hcb_buf_add(b, "\\\"", 2); break;
    case '\\': hcb_buf_add(b, "\\\\", 2); break;
    case '\n': hcb_buf_add(b, "\\n", 2); break;
    case '\t': hcb_buf_add(b, "\\t", 2); break;
    case '\r': hcb_buf_add(b, "\\r", 2); break;
    default: raw_code(b, (unsigned char)c);
    }
}

static bool needs_escape(char c)
{
    return (unsigned char)c < 0x20 || c == '"' || c == '\\' || c == 0x7f;
}

/* Text that goes as it is, in quotes, with a comma where one is due and a colon if it is a
 * key. false: it does not. */
static bool plain_text(struct hcb_buf *b, const char *s, size_t n, bool is_key)
{
    if (hcb_plain_run(s, n) < n || !hcb_buf_reserve(b, n + 4))
        return false;
    char *to = b->data + b->len;
    if (comma_is_due(b))
        *to++ = ',';
    *to++ = '"';
    memcpy(to, s, n);
    to += n;
    *to++ = '"';
    if (is_key)
        *to++ = ':';
    *to = '\0';
    b->len = (size_t)(to - b->data);
    return true;
}

/* In quotes, without a comma. */
static void raw_text(struct hcb_buf *b, const char *s, size_t n)
{
    size_t plain = 0; /* bytes before s that can go as they are */
    hcb_buf_char(b, '"');
    while (n > 0) {
        size_t run = hcb_plain_run(s, n);
        plain += run;
        s += run;
        n -= run;
        if (n == 0)
            break;
        size_t len = *s ? hcb_utf8_len(s, n) : 0; /* \u0000 is what our own reader refuses */
        if (len > 0 && !needs_escape(*s)) {
            plain += len;
        } else {
            hcb_buf_add(b, s - plain, plain);
            plain = 0;
            if (len == 0)
                hcb_buf_str(b, "\xef\xbf\xbd");
            else
                raw_char(b, *s);
            len = 1;
        }
        s += len;
        n -= len;
    }
    hcb_buf_add(b, s - plain, plain);
    hcb_buf_char(b, '"');
}

static void raw_real(struct hcb_buf *b, double v)
{
    if (hcb_is_nan(v))
        hcb_buf_str(b, "\"NaN\"");
    else if (!hcb_is_finite(v))
        hcb_buf_str(b, v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    else if (hcb_buf_reserve(b, HCB_REAL_CHARS))
        b->len += (size_t)hcb_format_real(b->data + b->len, v);
}

static void raw_int(struct hcb_buf *b, int64_t v)
{
    if (hcb_buf_reserve(b, HCB_INT_CHARS))
        b->len += (size_t)hcb_format_int(b->data + b->len, v);
}

void hcb_json_key(struct hcb_buf *b, const char *key)
{
    size_t n = strlen(key);
    if (plain_text(b, key, n, true))
        return;
    comma(b);
    raw_text(b, key, n);
    hcb_buf_char(b, ':');
}

void hcb_json_null(struct hcb_buf *b)
{
    comma(b);
    hcb_buf_str(b, "null");
}

void hcb_json_bool(struct hcb_buf *b, bool v)
{
    comma(b);
    hcb_buf_str(b, v ? "true" : "false");
}

void hcb_json_int(struct hcb_buf *b, int64_t v)
{
    comma(b);
    raw_int(b, v);
}

void hcb_json_real(struct hcb_buf *b, double v)
{
    comma(b);
    raw_real(b, v);
}

void hcb_json_millionths(struct hcb_buf *b, int64_t v)
{
    comma(b);
    if (hcb_buf_reserve(b, HCB_REAL_CHARS))
        b->len += (size_t)hcb_format_millionths(b->data + b->len, v);
}

void hcb_json_text(struct hcb_buf *b, const char *s, size_t n)
{
    if (plain_text(b, s, n, false))
        return;
    comma(b);
    raw_text(b, s, n);
}

void hcb_json_str(struct hcb_buf *b, const char *s)
{
    if (s)
        hcb_json_text(b, s, strlen(s));
    else
        hcb_json_null(b);
}

static void raw_scalar(struct hcb_buf *b, const struct hcb_value *v)
{
    switch (v->type) {
    case HCB_BOOL: hcb_buf_str(b, v->u.b ? "true" : "false"); break;
    case HCB_INT: raw_int(b, v->u.i); break;
    case HCB_REAL: raw_real(b, v->u.d); break;
    case HCB_TEXT: raw_text(b, v->u.text.s, v->u.text.n); break;
    default: hcb_buf_str(b, "null");
    }
}

/* Lists and maps as one: how many parts, and each part's key (of a map) and value. */
static size_t part_count(const struct hcb_value *v)
{
    return v->type == HCB_MAP ? v->u.map.n : v->u.list.n;
}

static const struct hcb_value *part(const struct hcb_value *v, size_t i, const char **key)
{
    *key = v->type == HCB_MAP ? v->u.map.p[i].key : NULL;
    return v->type == HCB_MAP ? &v->u.map.p[i].value : &v->u.list.v[i];
}

/* On one line, with these between parts and after keys. */
static void raw_flat(struct hcb_buf *b, const struct hcb_value *v, const char *between,
                     const char *after_key)
{
    if (v->type != HCB_LIST && v->type != HCB_MAP) {
        raw_scalar(b, v);
        return;
    }
    hcb_buf_char(b, v->type == HCB_MAP ? '{' : '[');
    for (size_t i = 0; i < part_count(v); i++) {
        const char *key;
        const struct hcb_value *item = part(v, i, &key);
        if (i > 0)
            hcb_buf_str(b, between);
        if (key) {
            raw_text(b, key, strlen(key));
            hcb_buf_str(b, after_key);
        }
        raw_flat(b, item, between, after_key);
    }
    hcb_buf_char(b, v->type == HCB_MAP ? '}' : ']');
}

void hcb_json_value(struct hcb_buf *b, const struct hcb_value *v)
{
    comma(b);
    raw_flat(b, v, ",", ":");
}

void hcb_json_raw(struct hcb_buf *b, const char *json, size_t n)
{
    comma(b);
    hcb_buf_add(b, json, n);
}

void hcb_json_put_null(struct hcb_buf *b, const char *key)
{
    hcb_json_key(b, key);
    hcb_json_null(b);
}

void hcb_json_put_bool(struct hcb_buf *b, const char *key, bool v)
{
    hcb_json_key(b, key);
    hcb_json_bool(b, v);
}

void hcb_json_put_int(struct hcb_buf *b, const char *key, int64_t v)
{
    hcb_json_key(b, key);
    hcb_json_int(b, v);
}

void hcb_json_put_real(struct hcb_buf *b, const char *key, double v)
{
    hcb_json_key(b, key);
    hcb_json_real(b, v);
}

void hcb_json_put_str(struct hcb_buf *b, const char *key, const char *s)
{
    hcb_json_key(b, key);
    hcb_json_str(b, s);
}

void hcb_json_put_value(struct hcb_buf *b, const char *key, const struct hcb_value *v)
{
    hcb_json_key(b, key);
    if (v)
        hcb_json_value(b, v);
    else
        hcb_json_null(b);
}

#define PRETTY_WIDTH 90
#define PRETTY_INDENT 2

static void new_line(struct hcb_buf *b, int indent)
{
    hcb_buf_printf(b, "\n%*s", indent, "");
}

static void raw_pretty(struct hcb_buf *b, const struct hcb_value *v, int indent)
{
    size_t start = b->len;
    raw_flat(b, v, ", ", ": ");
    bool nested = (v->type == HCB_LIST || v->type == HCB_MAP) && part_count(v) > 0;
    if (!nested || b->oom || (int)(b->len - start) + indent <= PRETTY_WIDTH)
        return;
    b->len = start;
    hcb_buf_char(b, v->type == HCB_MAP ? '{' : '[');
    for (size_t i = 0; i < part_count(v); i++) {
        const char *key;
        const struct hcb_value *item = part(v, i, &key);
        if (i > 0)
            hcb_buf_char(b, ',');
        new_line(b, indent + PRETTY_INDENT);
        if (key) {
            raw_text(b, key, strlen(key));
            hcb_buf_str(b, ": ");
        }
        raw_pretty(b, item, indent + PRETTY_INDENT);
    }
    new_line(b, indent);
    hcb_buf_char(b, v->type == HCB_MAP ? '}' : ']');
}

void hcb_json_pretty(struct hcb_buf *b, const struct hcb_value *v, int indent)
{
    comma(b);
    raw_pretty(b, v, indent);
}
