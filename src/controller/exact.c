/* Values <-> JSON without a loss. */
#include "controller/exact.h"
#include "base/json.h"
#include "base/number.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_escape(struct hcb_buf *b)
{
    hcb_json_open(b, '{');
    hcb_json_key(b, "$");
}

static void write_real(struct hcb_buf *b, double d)
{
    if (hcb_is_finite(d)) {
        hcb_json_real(b, d);
        return;
    }
    write_escape(b);
    hcb_json_real(b, d); /* as text */
    hcb_json_close(b, '}');
}

static void add_hex(struct hcb_buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char digits[2];
        hcb_hex(digits, (unsigned char)s[i]);
        hcb_buf_add(b, digits, sizeof digits);
    }
}

static void write_text(struct hcb_buf *b, const char *s, size_t n)
{
    if (hcb_utf8_valid(s, n) && !memchr(s, '\0', n)) {
        hcb_json_text(b, s, n);
        return;
    }
    write_escape(b);
    hcb_json_open(b, '[');
    hcb_buf_char(b, '"');
    add_hex(b, s, n);
    hcb_buf_char(b, '"');
    hcb_json_close(b, ']');
    hcb_json_close(b, '}');
}

/* With one more '$' where it begins with one, or as bytes behind a '$': that makes the text
 * no deeper. */
static void write_key(struct hcb_buf *b, const char *key)
{
    struct hcb_buf longer = {0};
    size_t n = strlen(key);
    bool bytes = !hcb_utf8_valid(key, n);
    if (bytes || *key == '$')
        hcb_buf_char(&longer, '$');
    if (bytes)
        add_hex(&longer, key, n);
    else if (longer.len > 0)
        hcb_buf_str(&longer, key);
    hcb_json_key(b, longer.len > 0 ? hcb_buf_text(&longer) : key);
    b->oom |= longer.oom;
    hcb_buf_release(&longer);
}

static void write_map(struct hcb_buf *b, const struct hcb_value *v)
{
    hcb_json_open(b, '{');
    for (size_t i = 0; i < v->u.map.n; i++) {
        write_key(b, v->u.map.p[i].key);
        hcb_exact_write(b, &v->u.map.p[i].value);
    }
    hcb_json_close(b, '}');
}

static void write_plain(struct hcb_buf *b, const struct hcb_value *v)
{
    switch (v->type) {
    case HCB_REAL: write_real(b, v->u.d); break;
    case HCB_TEXT: write_text(b, v->u.text.s, v->u.text.n); break;
    case HCB_MAP: write_map(b, v); break;
    case HCB_LIST:
        hcb_json_open(b, '[');
        for (size_t i = 0; i < v->u.list.n; i++)
            hcb_exact_write(b, &v->u.list.v[i]);
        hcb_json_close(b, ']');
        break;
    default: hcb_json_value(b, v); break;
    }
}

/* The readers return 0, HOTCB_EFORMAT or HOTCB_ENOMEM. */
static int read_value(const struct hcb_value *json, struct hcb_value *out);

/* Whether the spelling says more than the value. */
static bool is_spelt(const struct hcb_value *v)
{
    struct hcb_buf usual = {0};
    if (!v->source || v->type == HCB_TEXT)
        return false;
    hcb_json_value(&usual, v);
    bool differs = usual.oom || strcmp(hcb_buf_text(&usual), v->source) != 0;
    hcb_buf_release(&usual);
    return differs;
}

void hcb_exact_write(struct hcb_buf *b, const struct hcb_value *v)
{
    if (!is_spelt(v)) {
        write_plain(b, v);
        return;
    }
    write_escape(b);
    hcb_json_open(b, '[');
    write_plain(b, v);
    hcb_json_str(b, v->source);
    hcb_json_close(b, ']');
    hcb_json_close(b, '}');
}

static int read_real(const struct hcb_value *word, struct hcb_value *out)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    const double reals[] = {NAN, HUGE_VAL, -HUGE_VAL};
    for (int i = 0; i < 3; i++)
        if (strcmp(word->u.text.s, words[i]) == 0) {
            hcb_value_real(out, reals[i]);
            return 0;
        }
    return HOTCB_EFORMAT;
}

static int read_bytes(const struct hcb_value *list, struct hcb_value *out)
{
    const char *hex = list->u.list.v[0].u.text.s;
    size_t n = list->u.list.v[0].u.text.n / 2;
    if (!hcb_value_text(out, hex, n))
        return HOTCB_ENOMEM;
    return hcb_hex_read(hex, n, out->u.text.s) ? 0 : HOTCB_EFORMAT;
}

static int read_spelt(const struct hcb_value *list, struct hcb_value *out)
{
    int status = read_value(&list->u.list.v[0], out);
    if (status < 0)
        return status;
    free(out->source);
    out->source = hcb_strdup(list->u.list.v[1].u.text.s);
    return out->source ? 0 : HOTCB_ENOMEM;
}

static int read_list_escape(const struct hcb_value *list, struct hcb_value *out)
{
    size_t n = list->u.list.n;
    if (n == 0 || n > 2 || list->u.list.v[n - 1].type != HCB_TEXT)
        return HOTCB_EFORMAT;
    return n == 1 ? read_bytes(list, out) : read_spelt(list, out);
}

/* The place for what stands under a key as it was written; NULL: no memory. What is neither
 * of these forms comes from older versions. */
static struct hcb_value *read_key(struct hcb_value *map, const char *key)
{
    if (key[0] != '$' || key[1] == '$')
        return hcb_map_put(map, key + (key[0] == '$'));
    size_t n = strlen(key + 1) / 2;
    char *bytes = calloc(n + 1, 1);
    bool is_hex = bytes && n > 0 && key[1 + 2 * n] == '\0' && hcb_hex_read(key + 1, n, bytes);
    struct hcb_value *place = bytes ? hcb_map_put(map, is_hex ? bytes : key) : NULL;
    free(bytes);
    return place;
}

static int read_map(const struct hcb_value *json, struct hcb_value *out)
{
    int status = 0;
    hcb_value_map(out);
    for (size_t i = 0; status == 0 && i < json->u.map.n; i++) {
        struct hcb_value *to = read_key(out, json->u.map.p[i].key);
        status = to ? read_value(&json->u.map.p[i].value, to) : HOTCB_ENOMEM;
    }
    return status;
}

static int read_list(const struct hcb_value *json, struct hcb_value *out)
{
    int status = 0;
    hcb_value_list(out);
    for (size_t i = 0; status == 0 && i < json->u.list.n; i++) {
        struct hcb_value *to = hcb_list_add(out);
        status = to ? read_value(&json->u.list.v[i], to) : HOTCB_ENOMEM;
    }
    return status;
}

static int read_value(const struct hcb_value *json, struct hcb_value *out)
{
    const struct hcb_value *escaped =
        json->type == HCB_MAP && json->u.map.n == 1 ? hcb_map_get(json, "$") : NULL;
    if (escaped)
        return escaped->type == HCB_TEXT  ? read_real(escaped, out)
               : escaped->type == HCB_LIST ? read_list_escape(escaped, out)
               : escaped->type == HCB_MAP  ? read_map(escaped, out) : HOTCB_EFORMAT;
    if (json->type == HCB_MAP)
        return read_map(json, out);
    if (json->type == HCB_LIST)
        return read_list(json, out);
    return hcb_value_copy(out, json) ? 0 : HOTCB_ENOMEM;
}

int hcb_exact_read(const struct hcb_value *json, struct hcb_value *out)
{
    int status = read_value(json, out);
    if (status < 0)
        hcb_value_release(out);
    return status;
}
