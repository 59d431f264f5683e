/* JSON text -> values; see json.h, and json_write.c for the other way. The only
 * door to cJSON, which keeps only doubles, cuts long numbers, ends strings at
 * \u0000 and takes a good deal that is not JSON. So the text is first checked by
 * a scan of our own, which also rewrites it: every number becomes the string
 * "#<its text>" and every string gets a '$' in front. What cJSON then sees is
 * known to be good, and it loses nothing. */
#include "base/json.h"

#include "base/number.h"
#include "base/text.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What may come next. */
enum state { VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, COMMA_OR_END, DONE };

struct scan {
    const char *text;
    size_t n, at;
    enum state state;
    char open[HCB_VALUE_DEPTH]; /* the brackets we are inside of */
    int depth;
    size_t nodes, nodes_max;
    struct hcb_buf out; /* the rewritten text */
    struct hcb_err *err;
};

static int fail_at(struct scan *s, size_t at, const char *fmt, ...) HCB_PRINTF(3, 4);

static int fail_at(struct scan *s, size_t at, const char *fmt, ...)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at; i++) {
        column = s->text[i] == '\n' ? 1 : column + 1;
        line += s->text[i] == '\n';
    }
    char what[300], where[60];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    if (memchr(s->text, '\n', at))
        snprintf(where, sizeof(where), "line %zu, column %zu", line, column);
    else
        snprintf(where, sizeof(where), "column %zu", column);
    return hcb_fail(s->err, HOTCB_EFORMAT, "not valid JSON at %s: %s", where, what);
}

static const char *wanted(const struct scan *s)
{
    bool in_map = s->depth > 0 && s->open[s->depth - 1] == '{';
    switch (s->state) {
    case VALUE: return "a value";
    case VALUE_OR_END: return "a value or ']'";
    case KEY: return "a key in double quotes";
    case KEY_OR_END: return "a key in double quotes or '}'";
    case COLON: return "':' after the key";
    case COMMA_OR_END: return in_map ? "',' or '}'" : "',' or ']'";
    case DONE: return "the end of the text";
    }
    return "";
}

/* What was found instead: a word, a character, a byte, or the end. */
static int fail_unexpected(struct scan *s)
{
    const char *p = s->text + s->at;
    size_t left = s->n - s->at, word = 0;
    if (left == 0)
        return fail_at(s, s->at, "the text ends where %s should be", wanted(s));
    while (word < left && word < 20 && ((p[word] | 32) >= 'a') && ((p[word] | 32) <= 'z'))
        word++;
    if (word == 0)
        word = hcb_utf8_len(p, left);
    if (word == 0 || (word == 1 && (*p < ' ' || *p == 127)))
        return fail_at(s, s->at, "found byte 0x%02x, expected %s", (unsigned char)*p, wanted(s));
    return fail_at(s, s->at, "found %.*s, expected %s", (int)word, p, wanted(s));
}

static void after_value(struct scan *s)
{
    s->state = s->depth == 0 ? DONE : COMMA_OR_END;
}

static int count_node(struct scan *s)
{
    if (++s->nodes > s->nodes_max)
        return fail_at(s, s->at, "more than %zu values", s->nodes_max);
    return 0;
}

static bool hex4(const char *p, size_t left, unsigned *out)
{
    *out = 0;
    for (size_t i = 0; i < 4; i++) {
        char c = i < left ? p[i] : '\0';
        unsigned digit;
        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            digit = (unsigned)((c | 32) - 'a' + 10);
        else
            return false;
        *out = *out << 4 | digit;
    }
    return true;
}

/* \uXXXX at s->at, with its other half where it is one of a pair. */
static int scan_unicode(struct scan *s)
{
    const char *p = s->text + s->at;
    size_t left = s->n - s->at;
    unsigned high, low;
    if (!hex4(p + 2, left - 2, &high))
        return fail_at(s, s->at, "\\u needs four hexadecimal digits");
    if (high == 0)
        return fail_at(s, s->at, "\\u0000 is not allowed in a text");
    if (high < 0xd800 || high > 0xdfff) {
        s->at += 6;
        return 0;
    }
    if (high > 0xdbff || left < 12 || p[6] != '\\' || p[7] != 'u' ||
        !hex4(p + 8, left - 8, &low) || low < 0xdc00 || low > 0xdfff)
        return fail_at(s, s->at, "\\u%.4s is half of a surrogate pair", p + 2);
    s->at += 12;
    return 0;
}

static int scan_escape(struct scan *s)
{
    char c = s->at + 1 < s->n ? s->text[s->at + 1] : '\0';
    if (c == 'u')
        return scan_unicode(s);
    if (c == '\0' || !strchr("\"\\/bfnrt", c))
        return fail_at(s, s->at, "a backslash that escapes nothing; write \\\\ for one");
    s->at += 2;
    return 0;
}

static int scan_string(struct scan *s)
{
    size_t start = s->at++;
    for (;;) {
        s->at += hcb_plain_run(s->text + s->at, s->n - s->at);
        if (s->at == s->n)
            return fail_at(s, start, "a text in quotes that does not end");
        unsigned char c = (unsigned char)s->text[s->at];
        if (c == '"')
            break;
        if (c == '\\') {
            int rc = scan_escape(s);
            if (rc < 0)
                return rc;
        } else if (c < 0x20) {
            return fail_at(s, s->at, "a control character (0x%02x) inside a text", c);
        } else {
            size_t len = hcb_utf8_len(s->text + s->at, s->n - s->at);
            if (len == 0)
                return fail_at(s, s->at, "a byte (0x%02x) that is not UTF-8", c);
            s->at += len;
        }
    }
    s->at++;
    hcb_buf_str(&s->out, "\"$");
    hcb_buf_add(&s->out, s->text + start + 1, s->at - start - 1);
    return 0;
}

static size_t scan_digits(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && p[i] >= '0' && p[i] <= '9')
        i++;
    return i;
}

/* The length of the number at p by JSON's grammar, 0 if it is none. */
static size_t number_length(const char *p, size_t n, bool *real)
{
    size_t at = n > 0 && p[0] == '-';
    size_t whole = scan_digits(p + at, n - at);
    *real = false;
    if (whole == 0 || (whole > 1 && p[at] == '0'))
        return 0;
    at += whole;
    if (at < n && p[at] == '.') {
        size_t digits = scan_digits(p + at + 1, n - at - 1);
        if (digits == 0)
            return 0;
        at += 1 + digits;
        *real = true;
    }
    if (at < n && (p[at] | 32) == 'e') {
        size_t sign = at + 1 < n && (p[at + 1] == '-' || p[at + 1] == '+');
        size_t digits = scan_digits(p + at + 1 + sign, n - at - 1 - sign);
        if (digits == 0)
            return 0;
        at += 1 + sign + digits;
        *real = true;
    }
    return at;
}

bool hcb_json_is_number(const char *text, size_t n)
{
    bool real;
    return n > 0 && number_length(text, n, &real) == n;
}

#define SHOWN 40

static int scan_number(struct scan *s)
{
    const char *p = s->text + s->at;
    bool real, overflow = false;
    int64_t i;
    double d = 0;
    size_t n = number_length(p, s->n - s->at, &real);
    if (n == 0) {
        size_t word = 0;
        while (s->at + word < s->n && word < SHOWN && strchr("0123456789+-.eE", p[word]))
            word++;
        return fail_at(s, s->at, "%.*s is not a number as JSON writes them", (int)word, p);
    }
    int shown = n > SHOWN ? SHOWN : (int)n;
    const char *dots = n > SHOWN ? "..." : "";
    if (real && (!hcb_parse_real(p, n, &d) || !hcb_is_finite(d)))
        return fail_at(s, s->at, "the number %.*s%s is too large", shown, p, dots);
    if (!real && !hcb_parse_int(p, n, &i, &overflow))
        return fail_at(s, s->at, "the integer %.*s%s is beyond 64 bits", shown, p, dots);
    hcb_buf_str(&s->out, "\"#");
    hcb_buf_add(&s->out, p, n);
    hcb_buf_char(&s->out, '"');
    s->at += n;
    return 0;
}

static bool take_word(struct scan *s, const char *word)
{
    size_t n = strlen(word);
    if (s->n - s->at < n || memcmp(s->text + s->at, word, n) != 0)
        return false;
    hcb_buf_add(&s->out, word, n);
    s->at += n;
    return true;
}

static int open_bracket(struct scan *s, char c)
{
    if (s->depth == HCB_VALUE_DEPTH)
        return fail_at(s, s->at, "nested more than %d levels deep", HCB_VALUE_DEPTH);
    s->open[s->depth++] = c;
    s->state = c == '{' ? KEY_OR_END : VALUE_OR_END;
    hcb_buf_char(&s->out, c);
    s->at++;
    return 0;
}

static int scan_value(struct scan *s)
{
    char c = s->text[s->at];
    int rc = count_node(s);
    if (rc < 0)
        return rc;
    if (c == '{' || c == '[')
        return open_bracket(s, c);
    if (c == '"')
        rc = scan_string(s);
    else if (c == '-' || (c >= '0' && c <= '9'))
        rc = scan_number(s);
    else if (!take_word(s, "true") && !take_word(s, "false") && !take_word(s, "null"))
        rc = fail_unexpected(s);
    after_value(s);
    return rc;
}

static bool closes(const struct scan *s, char c)
{
    if (s->state == COMMA_OR_END)
        return c == (s->open[s->depth - 1] == '{' ? '}' : ']');
    return (s->state == KEY_OR_END && c == '}') || (s->state == VALUE_OR_END && c == ']');
}

static void take_char(struct scan *s, char c, enum state next)
{
    hcb_buf_char(&s->out, c);
    s->at++;
    s->state = next;
}

/* One token, whose first byte is neither white space nor the end. */
static int scan_token(struct scan *s)
{
    char c = s->text[s->at];
    if (closes(s, c)) {
        s->depth--;
        take_char(s, c, DONE);
        after_value(s);
        return 0;
    }
    switch (s->state) {
    case VALUE:
    case VALUE_OR_END:
        return scan_value(s);
    case KEY:
    case KEY_OR_END:
        if (c != '"')
            return fail_unexpected(s);
        s->state = COLON;
        return scan_string(s);
    case COLON:
        if (c != ':')
            return fail_unexpected(s);
        take_char(s, c, VALUE);
        return 0;
    case COMMA_OR_END:
        if (c != ',')
            return fail_unexpected(s);
        take_char(s, c, s->open[s->depth - 1] == '{' ? KEY : VALUE);
        return 0;
    case DONE:
        break;
    }
    return fail_unexpected(s);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int scan_text(struct scan *s)
{
    for (;;) {
        while (s->at < s->n && is_space(s->text[s->at]))
            s->at++;
        if (s->at == s->n)
            return s->state == DONE ? 0 : fail_unexpected(s);
        int rc = scan_token(s);
        if (rc < 0)
            return rc;
        if (s->out.oom)
            return hcb_fail_nomem(s->err);
    }
}

static int convert(const cJSON *item, struct hcb_value *out, struct hcb_err *err);

static int convert_number(const char *text, struct hcb_value *out, struct hcb_err *err)
{
    int64_t i;
    double d = 0;
    size_t n = strlen(text);
    out->source = hcb_strdup(text);
    if (!out->source)
        return hcb_fail_nomem(err);
    if (hcb_parse_int(text, n, &i, NULL))
        hcb_value_int(out, i);
    else if (hcb_parse_real(text, n, &d))
        hcb_value_real(out, d);
    return 0;
}

static int convert_list(const cJSON *item, struct hcb_value *out, struct hcb_err *err)
{
    hcb_value_list(out);
    for (const cJSON *child = item->child; child; child = child->next) {
        struct hcb_value *place = hcb_list_add(out);
        int rc = place ? convert(child, place, err) : hcb_fail_nomem(err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int fail_twice(const char *key, struct hcb_err *err)
{
    size_t n = strlen(key);
    int shown = (int)(n > SHOWN ? hcb_utf8_cut(key, SHOWN) : n);
    return hcb_fail(err, HOTCB_EFORMAT,
                    "not valid JSON: the key \"%.*s%s\" stands twice in one map", shown, key,
                    n > SHOWN ? "..." : "");
}

static int convert_map(const cJSON *item, struct hcb_value *out, struct hcb_err *err)
{
    const struct hcb_pair *twice;
    hcb_value_map(out);
    for (const cJSON *child = item->child; child; child = child->next) {
        struct hcb_value *place = hcb_map_append(out, child->string + 1);
        int rc = place ? convert(child, place, err) : hcb_fail_nomem(err);
        if (rc < 0)
            return rc;
    }
    if (!hcb_map_twice(out, &twice))
        return hcb_fail_nomem(err);
    return twice ? fail_twice(twice->key, err) : 0;
}

/* Deep as the scan allowed, no deeper. */
static int convert(const cJSON *item, struct hcb_value *out, struct hcb_err *err)
{
    if (cJSON_IsObject(item))
        return convert_map(item, out, err);
    if (cJSON_IsArray(item))
        return convert_list(item, out, err);
    if (cJSON_IsBool(item)) {
        hcb_value_bool(out, cJSON_IsTrue(item));
    } else if (cJSON_IsString(item)) {
        const char *text = item->valuestring + 1;
        if (item->valuestring[0] == '#')
            return convert_number(text, out, err);
        if (!hcb_value_text(out, text, strlen(text)))
            return hcb_fail_nomem(err);
    }
    return 0;
}

int hcb_json_parse(const char *text, size_t n, struct hcb_value *out, struct hcb_err *err)
{
    return hcb_json_parse_within(text, n, HCB_VALUE_NODES, out, err);
}

int hcb_json_parse_within(const char *text, size_t n, size_t nodes, struct hcb_value *out,
                          struct hcb_err *err)
{
    struct scan s = {.text = text, .n = n, .nodes_max = nodes, .err = err};
    cJSON *tree = NULL;
    const char *end;
    hcb_buf_reserve(&s.out, n + n / 4);
    int rc = s.out.oom ? hcb_fail_nomem(err) : scan_text(&s);
    if (rc == 0) {
        /* Good JSON that cJSON does not take can only mean that memory ran out. */
        tree = cJSON_ParseWithLengthOpts(s.out.data, s.out.len + 1, &end, 1);
        rc = tree ? convert(tree, out, err) : hcb_fail_nomem(err);
    }
    cJSON_Delete(tree);
    hcb_buf_release(&s.out);
    if (rc < 0)
        hcb_value_release(out);
    return rc;
}
