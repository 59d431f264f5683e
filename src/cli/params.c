/* Lays out values and declarations of parameters. Judges nothing. */
#include "cli/params.h"

#include "base/json.h"
#include "base/text.h"
#include <string.h>

static bool is_plain_word(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strchr(" \"'\\[]{}", s[i]) || (unsigned char)s[i] < 0x20)
            return false;
    }
    return n > 0;
}

void cli_value_text(struct hcb_buf *b, const struct hcb_value *v)
{
    struct hcb_buf json = {0};
    if (v->type == HCB_TEXT && is_plain_word(v->u.text.s, v->u.text.n)) {
        hcb_text_printable(b, v->u.text.s, v->u.text.n);
        return;
    }
    hcb_json_value(&json, v);
    cli_safe(b, hcb_buf_text(&json));
    cli_drop(b, &json);
}

/* NULL where there is none; an infinite bound is text, and no bound to people. */
static const struct hcb_value *bound(const struct hcb_value *declaration, const char *key)
{
    const struct hcb_value *v = hcb_map_get(declaration, key);
    return v && (v->type == HCB_INT || v->type == HCB_REAL) ? v : NULL;
}

static void choices_text(struct hcb_buf *b, const struct hcb_value *choices)
{
    for (size_t i = 0; i < choices->u.list.n; i++) {
        hcb_buf_str(b, i > 0 ? "|" : "[");
        cli_value_text(b, &choices->u.list.v[i]);
    }
    hcb_buf_char(b, ']');
}

void cli_range_text(struct hcb_buf *b, const struct hcb_value *declaration)
{
    const struct hcb_value *choices = hcb_map_get(declaration, "choices");
    const struct hcb_value *min = bound(declaration, "min"), *max = bound(declaration, "max");
    if (choices && choices->type == HCB_LIST && choices->u.list.n > 0) {
        choices_text(b, choices);
        return;
    }
    if (!min && !max)
        return;
    hcb_buf_str(b, min && max ? "[" : min ? "[>=" : "[<=");
    if (min)
        cli_value_text(b, min);
    if (min && max)
        hcb_buf_str(b, "..");
    if (max)
        cli_value_text(b, max);
    hcb_buf_char(b, ']');
}

static const struct hcb_value *declaration_of(const struct hcb_value *declared, const char *name)
{
    for (size_t i = 0; declared && declared->type == HCB_LIST && i < declared->u.list.n; i++) {
        if (hcb_streq(hcb_map_text(&declared->u.list.v[i], "name", NULL), name))
            return &declared->u.list.v[i];
    }
    return NULL;
}

static void param_word(struct hcb_buf *b, const struct hcb_pair *pair,
                       const struct hcb_value *declaration)
{
    struct hcb_buf word = {0};
    cli_safe(&word, pair->key);
    hcb_buf_char(&word, '=');
    cli_value_text(&word, &pair->value);
    size_t before_range = word.len;
    hcb_buf_char(&word, ' ');
    cli_range_text(&word, declaration);
    if (word.len == before_range + 1)
        word.data[--word.len] = '\0';
    cli_glue(b, hcb_buf_text(&word));
    cli_drop(b, &word);
}

void cli_params_line(struct hcb_buf *b, const struct hcb_value *callback)
{
    const struct hcb_value *params = hcb_map_get(callback, "params");
    const struct hcb_value *declared = hcb_map_get(callback, "declared");
    if (!params || params->type != HCB_MAP)
        return;
    for (size_t i = 0; i < params->u.map.n; i++) {
        const struct hcb_pair *pair = &params->u.map.p[i];
        hcb_buf_str(b, i > 0 ? "  " : "");
        param_word(b, pair, declaration_of(declared, pair->key));
    }
}

/* ---- the table ------------------------------------------------------------------ */

#define NAME_COLUMNS_MAX 32

/* "integer, default 50, [>=0], steps - 0 = never" */
static void declaration_text(struct hcb_buf *b, const struct hcb_value *declaration)
{
    const struct hcb_value *fallback = hcb_map_get(declaration, "default");
    const char *unit = hcb_map_text(declaration, "unit", NULL);
    const char *help = hcb_map_text(declaration, "help", NULL);
    struct hcb_buf range = {0};
    cli_safe(b, hcb_map_text(declaration, "type", "any"));
    cli_range_text(&range, declaration);
    if (range.len > 0)
        hcb_buf_printf(b, " %s", hcb_buf_text(&range));
    if (unit && *unit) {
        hcb_buf_char(b, ' ');
        cli_safe(b, unit);
    }
    if (fallback && fallback->type != HCB_NULL) {
        hcb_buf_str(b, ", default ");
        cli_value_text(b, fallback);
    }
    if (help && *help) {
        hcb_buf_str(b, " - ");
        cli_safe(b, help);
    }
    cli_drop(b, &range);
}

/* "every" or "every=50" */
static void name_text(struct hcb_buf *b, const struct hcb_value *declaration,
                      const struct hcb_value *params)
{
    const char *name = hcb_map_text(declaration, "name", "?");
    const struct hcb_value *value = hcb_map_get(params, name);
    cli_safe(b, name);
    if (value) {
        hcb_buf_char(b, '=');
        cli_value_text(b, value);
    }
}

static int widest_name(const struct hcb_value *declared, const struct hcb_value *params)
{
    int widest = 0;
    for (size_t i = 0; i < declared->u.list.n; i++) {
        struct hcb_buf name = {0};
        name_text(&name, &declared->u.list.v[i], params);
        int columns = cli_columns(hcb_buf_text(&name), name.len);
        if (columns > widest && columns <= NAME_COLUMNS_MAX)
            widest = columns;
        hcb_buf_release(&name);
    }
    return widest;
}

void cli_params_table(struct hcb_buf *b, const struct cli_screen *s,
                      const struct hcb_value *declared, const struct hcb_value *params)
{
    int column = widest_name(declared, params) + 4;
    if (column > s->width / 2)
        column = s->width / 2;
    for (size_t i = 0; i < declared->u.list.n; i++) {
        struct hcb_buf name = {0}, text = {0};
        name_text(&name, &declared->u.list.v[i], params);
        declaration_text(&text, &declared->u.list.v[i]);
        cli_spaces(b, 2);
        cli_wrap(b, hcb_buf_text(&name), 2, 4, s->width);
        if (cli_columns(hcb_buf_text(&name), name.len) + 4 > column)
            hcb_buf_char(b, '\n');
        cli_pad_to(b, column);
        cli_wrap(b, hcb_buf_text(&text), column, column, s->width);
        hcb_buf_char(b, '\n');
        cli_drop(b, &name);
        cli_drop(b, &text);
    }
}

void cli_text_list(struct hcb_buf *b, const struct hcb_value *list)
{
    for (size_t i = 0; list && list->type == HCB_LIST && i < list->u.list.n; i++) {
        hcb_buf_str(b, i > 0 ? ", " : "");
        cli_value_text(b, &list->u.list.v[i]);
    }
}
