/* Shows values of the wrong shape in messages, and checks what parameters hold.
 * Knows nothing of where the values came from. */
#include "control/shape.h"

#include "base/json.h"
#include "base/number.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Copies what is in b, cut at a character, and releases it. */
static const char *show_buf(struct hcb_buf *b, char out[HCB_SHOW_CHARS])
{
    size_t n = b->len, max = HCB_SHOW_CHARS - 1;
    if (n > max)
        n = hcb_utf8_cut(b->data, max - 3);
    memcpy(out, hcb_buf_text(b), n);
    strcpy(out + n, b->len > max ? "..." : "");
    hcb_buf_release(b);
    return out;
}

/* Only the beginning of a long text is needed; a cut character in it is no matter. */
static void add_printable(struct hcb_buf *b, const char *s, size_t n)
{
    hcb_text_printable(b, s, n > HCB_SHOW_CHARS ? hcb_utf8_cut(s, HCB_SHOW_CHARS) : n);
}

const char *hcb_show_text(const char *s, char out[HCB_SHOW_CHARS])
{
    struct hcb_buf b = {0};
    add_printable(&b, s, strlen(s));
    return show_buf(&b, out);
}

const char *hcb_show(const struct hcb_value *v, char out[HCB_SHOW_CHARS])
{
    struct hcb_buf b = {0};
    if (v->type == HCB_LIST || v->type == HCB_MAP) {
        hcb_buf_str(&b, hcb_type_name(v->type));
    } else if (v->source && v->source[0] != '\0') {
        add_printable(&b, v->source, strlen(v->source));
    } else if (v->type == HCB_TEXT) {
        hcb_buf_char(&b, '"');
        add_printable(&b, v->u.text.s, v->u.text.n);
        hcb_buf_char(&b, '"');
    } else {
        hcb_json_value(&b, v);
    }
    return show_buf(&b, out);
}

const char *hcb_hint(const char *word, const char *const *known, size_t n,
                     char out[HCB_HINT_CHARS])
{
    struct hcb_buf b = {0};
    if (*hcb_near_hint(word, known, n, out))
        return out;
    for (size_t i = 0; i < n; i++)
        hcb_buf_printf(&b, "%s%s", i ? ", " : "", known[i]);
    snprintf(out, HCB_HINT_CHARS, " (known: %s)", hcb_buf_text(&b));
    hcb_buf_release(&b);
    return out;
}

bool hcb_known(const char *word, const char *const *known, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (*word == *known[i] && strcmp(word, known[i]) == 0)
            return true;
    return false;
}

#define DIGITS_(n) #n
#define DIGITS(n) DIGITS_(n)

/* What is wrong with a parameter's value, or NULL. */
static const char *value_fault(const struct hcb_value *v, int depth)
{
    const char *fault = NULL;
    if (v->type == HCB_REAL && hcb_is_nan(v->u.d))
        return "NaN cannot be the value of a parameter";
    if ((v->type == HCB_LIST || v->type == HCB_MAP) && depth == HCB_PARAM_DEPTH)
        return "more than " DIGITS(HCB_PARAM_DEPTH) " lists or maps within one another";
    if (v->type == HCB_LIST)
        for (size_t i = 0; i < v->u.list.n && !fault; i++)
            fault = value_fault(&v->u.list.v[i], depth + 1);
    if (v->type == HCB_MAP)
        for (size_t i = 0; i < v->u.map.n && !fault; i++)
            fault = value_fault(&v->u.map.p[i].value, depth + 1);
    return fault;
}

int hcb_params_check(const char *what, const struct hcb_value *v, const struct hcb_pair **pair,
                     struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS];
    if (pair)
        *pair = NULL;
    if (v->type == HCB_NULL)
        return 0;
    if (v->type != HCB_MAP)
        return hcb_fail(err, HOTCB_EFORMAT, "%s: must be a map of names and values, not %s", what,
                        hcb_show(v, shown));
    if (v->u.map.n > HCB_PARAM_COUNT)
        return hcb_fail(err, HOTCB_EFORMAT, "%s: holds more than %d names", what,
                        HCB_PARAM_COUNT);
    for (size_t i = 0; i < v->u.map.n; i++) {
        const struct hcb_pair *p = &v->u.map.p[i];
        const char *fault = value_fault(&p->value, 0);
        if (!fault)
            continue;
        if (pair)
            *pair = p;
        return hcb_fail(err, HOTCB_EFORMAT, "%s.%s: %s", what, hcb_show_text(p->key, shown),
                        fault);
    }
    return 0;
}
