/* Checking values against declared parameters. */
#include "script/params.h"
#include "base/json.h"
#include "base/number.h"
#include "base/scalar.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *hcb_param_type_name(enum hcb_param_type type)
{
    static const char *const names[] = {
#define HCB_PARAM_NAME(t, name) name,
        HCB_PARAM_TYPES(HCB_PARAM_NAME)
#undef HCB_PARAM_NAME
    };
    return names[type];
}

static void param_release(struct hcb_param *p)
{
    struct hcb_value *const values[] = {&p->preset, &p->initial, &p->value, &p->min,
                                        &p->max,    &p->step,    &p->choices};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        hcb_value_release(values[i]);
    free(p->name);
    free(p->unit);
    free(p->help);
}

void hcb_params_release(struct hcb_params *ps)
{
    for (size_t i = 0; i < ps->n; i++)
        param_release(&ps->v[i]);
    free(ps->v);
    memset(ps, 0, sizeof *ps);
}

struct hcb_param *hcb_params_find(const struct hcb_params *ps, const char *name)
{
    for (size_t i = 0; i < ps->n; i++)
        if (strcmp(ps->v[i].name, name) == 0)
            return &ps->v[i];
    return NULL;
}

static double as_real(const struct hcb_value *v)
{
    return v->type == HCB_INT ? (double)v->u.i : v->u.d;
}

/* -1, 0, 1; exact for two integers. */
static int compare(const struct hcb_value *a, const struct hcb_value *b)
{
    if (a->type == HCB_INT && b->type == HCB_INT)
        return (a->u.i > b->u.i) - (a->u.i < b->u.i);
    double x = as_real(a), y = as_real(b);
    return (x > y) - (x < y);
}

static bool is_number(const struct hcb_value *v)
{
    return v->type == HCB_INT || v->type == HCB_REAL;
}

static bool bounded(const struct hcb_value *bound)
{
    return bound->type == HCB_INT || (bound->type == HCB_REAL && hcb_is_finite(bound->u.d));
}

static void describe_range(struct hcb_buf *b, const struct hcb_param *p)
{
    if (bounded(&p->min) && bounded(&p->max)) {
        hcb_buf_str(b, " from ");
        hcb_json_value(b, &p->min);
        hcb_buf_str(b, " to ");
        hcb_json_value(b, &p->max);
    } else if (bounded(&p->min)) {
        hcb_buf_str(b, " >= ");
        hcb_json_value(b, &p->min);
    } else if (bounded(&p->max)) {
        hcb_buf_str(b, " <= ");
        hcb_json_value(b, &p->max);
    }
}

static void describe_choices(struct hcb_buf *b, const struct hcb_param *p)
{
    hcb_buf_str(b, "one of ");
    for (size_t i = 0; i < p->choices.u.list.n; i++) {
        const struct hcb_value *c = &p->choices.u.list.v[i];
        hcb_buf_str(b, i ? ", " : "");
        if (c->type == HCB_TEXT)
            hcb_buf_str(b, c->u.text.s);
        else
            hcb_json_value(b, c);
    }
}

/* JSON has no infinity, so it travels as text; whether it is allowed is a matter
 * of the declared range. */
static bool infinity_from_text(const struct hcb_value *in, double *out)
{
    static const struct { const char *text; double d; } rows[] = {
        {"Infinity", HUGE_VAL}, {"-Infinity", -HUGE_VAL}, {"inf", HUGE_VAL}, {"-inf", -HUGE_VAL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (in->type == HCB_TEXT && strcmp(in->u.text.s, rows[i].text) == 0) {
            *out = rows[i].d;
            return true;
        }
    return false;
}

/* An infinity, in whose direction nothing is declared: then numbers are finite. */
static bool is_undeclared_infinity(const struct hcb_param *p, const struct hcb_value *in)
{
    double d = in->type == HCB_REAL && !hcb_is_nan(in->u.d) ? in->u.d : 0;
    if (p->type != HCB_PARAM_NUMBER || (!infinity_from_text(in, &d) && hcb_is_finite(d)))
        return false;
    return (d > 0 ? &p->max : &p->min)->type == HCB_NULL;
}

/* "an integer >= 1 - print once per N steps" */
static void describe(struct hcb_buf *b, const struct hcb_param *p, const struct hcb_value *in)
{
    static const char *const nouns[] = {
        [HCB_PARAM_INTEGER] = "an integer", [HCB_PARAM_NUMBER] = "a number",
        [HCB_PARAM_BOOLEAN] = "true or false", [HCB_PARAM_STRING] = "text",
        [HCB_PARAM_LIST] = "a list", [HCB_PARAM_ANY] = "a value",
    };
    if (p->choices.type == HCB_LIST) {
        describe_choices(b, p);
    } else {
        hcb_buf_str(b, is_undeclared_infinity(p, in) ? "a finite number" : nouns[p->type]);
        describe_range(b, p);
    }
    if (p->help)
        hcb_buf_printf(b, " - %s", p->help);
}

static void show(struct hcb_buf *b, const struct hcb_value *v)
{
    if (v->source)
        hcb_text_printable(b, v->source, strlen(v->source));
    else if (v->type == HCB_TEXT)
        hcb_text_printable(b, v->u.text.s, v->u.text.n);
    else
        hcb_json_value(b, v);
    if (b->len > 80) {
        b->len = hcb_utf8_cut(b->data, 80);
        b->data[b->len] = '\0';
        hcb_buf_str(b, "...");
    }
}

static int refuse(const struct hcb_param *p, const struct hcb_value *in, struct hcb_err *err)
{
    struct hcb_buf given = {0}, wanted = {0};
    show(&given, in);
    describe(&wanted, p, in);
    int status = hcb_fail(err, HOTCB_EREFUSED, "%s=%s: expected %s", p->name,
                          hcb_buf_text(&given), hcb_buf_text(&wanted));
    hcb_buf_release(&given);
    hcb_buf_release(&wanted);
    return status;
}

/* The one refusal that deserves advice: the script's author wrote 30, and whoever
 * sets 30.5 cannot know that it means "whole numbers only". */
static int refuse_fraction(const struct hcb_param *p, const struct hcb_value *in,
                           struct hcb_err *err)
{
    if (p->preset.type != HCB_INT)
        return refuse(p, in, err);
    struct hcb_buf given = {0};
    show(&given, in);
    int status = hcb_fail(err, HOTCB_EREFUSED,
                          "%s=%s: declared as an integer (default %lld); write %lld.0 in the "
                          "script to allow fractions",
                          p->name, hcb_buf_text(&given), (long long)p->preset.u.i,
                          (long long)p->preset.u.i);
    hcb_buf_release(&given);
    return status;
}

static int to_integer(const struct hcb_param *p, const struct hcb_value *in,
                      struct hcb_value *out, struct hcb_err *err)
{
    if (in->type == HCB_INT) {
        hcb_value_int(out, in->u.i);
        return 0;
    }
    if (in->type != HCB_REAL || !hcb_is_finite(in->u.d))
        return refuse(p, in, err);
    if (in->u.d != floor(in->u.d))
        return refuse_fraction(p, in, err);
    if (in->u.d < -9223372036854775808.0 || in->u.d >= 9223372036854775808.0)
        return refuse(p, in, err);
    hcb_value_int(out, (int64_t)in->u.d);
    return 0;
}

static int to_number(const struct hcb_param *p, const struct hcb_value *in,
                     struct hcb_value *out, struct hcb_err *err)
{
    double d = 0;
    if (is_number(in))
        d = as_real(in);
    else if (!infinity_from_text(in, &d))
        return refuse(p, in, err);
    hcb_value_real(out, d); /* whether an infinity may be is a matter of the range */
    return 0;
}

static int to_boolean(const struct hcb_param *p, const struct hcb_value *in,
                      struct hcb_value *out, struct hcb_err *err)
{
    static const char *const words[] = {"false", "true", "off", "on", "no", "yes"};
    if (in->type == HCB_BOOL) {
        hcb_value_bool(out, in->u.b);
        return 0;
    }
    for (size_t i = 0; in->type == HCB_TEXT && i < sizeof words / sizeof *words; i++)
        if (strcasecmp(in->u.text.s, words[i]) == 0) {
            hcb_value_bool(out, i % 2 == 1);
            return 0;
        }
    return refuse(p, in, err);
}

static int to_string(const struct hcb_param *p, const struct hcb_value *in,
                     struct hcb_value *out, struct hcb_err *err)
{
    bool ok = true;
    if (in->type == HCB_TEXT) {
        ok = hcb_value_text(out, in->u.text.s, in->u.text.n);
    } else if (in->source) {
        ok = hcb_value_text(out, in->source, strlen(in->source));
    } else if (in->type == HCB_BOOL || is_number(in)) {
        struct hcb_buf b = {0};
        hcb_json_value(&b, in);
        ok = !b.oom && hcb_value_text(out, b.data, b.len);
        hcb_buf_release(&b);
    } else {
        return refuse(p, in, err);
    }
    return ok ? 0 : hcb_fail_nomem(err);
}

/* In Lua it would be a hole. */
static bool has_null(const struct hcb_value *list)
{
    for (size_t i = 0; i < list->u.list.n; i++)
        if (list->u.list.v[i].type == HCB_NULL)
            return true;
    return false;
}

static int split_list(const struct hcb_param *p, const struct hcb_value *in,
                      struct hcb_value *out, struct hcb_err *err)
{
    struct hcb_err why;
    hcb_value_list(out);
    for (const char *s = in->u.text.s; *s;) {
        size_t n = strcspn(s, ",");
        struct hcb_value *item = hcb_list_add(out);
        int status = item ? hcb_scalar_resolve(s, n, item, &why) : hcb_fail_nomem(&why);
        if (status < 0)
            return hcb_fail(err, status == HOTCB_ENOMEM ? status : HOTCB_EREFUSED, "%s: %s",
                            p->name, why.text);
        s += n + (s[n] == ',');
    }
    return has_null(out) ? refuse(p, in, err) : 0;
}

static int to_list(const struct hcb_param *p, const struct hcb_value *in, struct hcb_value *out,
                   struct hcb_err *err)
{
    if (in->type == HCB_LIST && has_null(in))
        return refuse(p, in, err);
    if (in->type == HCB_LIST)
        return hcb_value_copy(out, in) ? 0 : hcb_fail_nomem(err);
    if (in->type == HCB_MAP) {
        if (in->u.map.n > 0)
            return refuse(p, in, err);
        hcb_value_list(out);
        return 0;
    }
    if (in->type == HCB_TEXT)
        return split_list(p, in, out, err);
    hcb_value_list(out);
    struct hcb_value *item = hcb_list_add(out);
    return item && hcb_value_copy(item, in) ? 0 : hcb_fail_nomem(err);
}

static int to_any(const struct hcb_param *p, const struct hcb_value *in, struct hcb_value *out,
                  struct hcb_err *err)
{
    (void)p;
    return hcb_value_copy(out, in) ? 0 : hcb_fail_nomem(err);
}

bool hcb_params_finite(const struct hcb_value *v)
{
    bool finite = v->type != HCB_REAL || hcb_is_finite(v->u.d);
    for (size_t i = 0; v->type == HCB_LIST && finite && i < v->u.list.n; i++)
        finite = hcb_params_finite(&v->u.list.v[i]);
    for (size_t i = 0; v->type == HCB_MAP && finite && i < v->u.map.n; i++)
        finite = hcb_params_finite(&v->u.map.p[i].value);
    return finite;
}

static bool is_nan(const struct hcb_value *v)
{
    return v->type == HCB_REAL && hcb_is_nan(v->u.d);
}

static bool equal_numbers(const struct hcb_value *a, const struct hcb_value *b)
{
    return is_number(a) && is_number(b) && !is_nan(a) && !is_nan(b) && compare(a, b) == 0;
}

static bool is_choice(const struct hcb_param *p, const struct hcb_value *v)
{
    if (p->choices.type != HCB_LIST)
        return true;
    for (size_t i = 0; i < p->choices.u.list.n; i++) {
        const struct hcb_value *c = &p->choices.u.list.v[i];
        if (hcb_value_equal(v, c) || equal_numbers(v, c))
            return true;
    }
    return false;
}

/* NaN never, infinity only where the range says so. */
static bool is_admitted(const struct hcb_param *p, const struct hcb_value *v)
{
    if (v->type != HCB_REAL || hcb_is_finite(v->u.d))
        return hcb_params_finite(v);
    const struct hcb_value *bound = v->u.d > 0 ? &p->max : &p->min;
    return bound->type == HCB_REAL && !hcb_is_nan(v->u.d) && bound->u.d == v->u.d;
}

/* Of a list, range and choices are about each item. */
static bool within(const struct hcb_param *p, const struct hcb_value *v)
{
    if (is_number(v) && is_number(&p->min) && compare(v, &p->min) < 0)
        return false;
    if (is_number(v) && is_number(&p->max) && compare(v, &p->max) > 0)
        return false;
    if (v->type != HCB_LIST || (p->choices.type == HCB_LIST && is_choice(p, v)))
        return is_choice(p, v) && is_admitted(p, v);
    for (size_t i = 0; i < v->u.list.n; i++)
        if (!within(p, &v->u.list.v[i]))
            return false;
    return true;
}

int hcb_param_convert(const struct hcb_param *p, const struct hcb_value *in,
                      struct hcb_value *out, struct hcb_err *err)
{
    static int (*const convert[])(const struct hcb_param *, const struct hcb_value *,
                                  struct hcb_value *, struct hcb_err *) = {
        [HCB_PARAM_INTEGER] = to_integer, [HCB_PARAM_NUMBER] = to_number,
        [HCB_PARAM_BOOLEAN] = to_boolean, [HCB_PARAM_STRING] = to_string,
        [HCB_PARAM_LIST] = to_list, [HCB_PARAM_ANY] = to_any,
    };
    if (in->type == HCB_NULL)
        return hcb_value_copy(out, &p->initial) ? 0 : hcb_fail_nomem(err);
    int status = convert[p->type](p, in, out, err);
    if (status == 0 && !within(p, out))
        status = refuse(p, in, err);
    if (status < 0)
        hcb_value_release(out);
    return status;
}

static int unknown(const struct hcb_params *ps, const char *name, struct hcb_err *err)
{
    struct hcb_buf has = {0}, word = {0};
    const char **names = calloc(ps->n ? ps->n : 1, sizeof *names);
    for (size_t i = 0; names && i < ps->n; i++) {
        names[i] = ps->v[i].name;
        hcb_buf_printf(&has, "%s%s", i ? ", " : "", names[i]);
    }
    char hint[HCB_NEAR_CHARS];
    hcb_near_hint(name, names, names ? ps->n : 0, hint);
    hcb_text_printable(&word, name, strlen(name));
    int status = hcb_fail(err, HOTCB_EREFUSED, "unknown parameter '%s'%s (has: %s)",
                          hcb_buf_text(&word), hint, has.len ? hcb_buf_text(&has) : "none");
    free(names);
    hcb_buf_release(&has);
    hcb_buf_release(&word);
    return status;
}

int hcb_params_convert(const struct hcb_params *ps, const struct hcb_value *given,
                       struct hcb_value *out, struct hcb_err *err)
{
    int status = 0;
    hcb_value_map(out);
    for (size_t i = 0; given->type == HCB_MAP && i < given->u.map.n && status == 0; i++) {
        const struct hcb_pair *pair = &given->u.map.p[i];
        const struct hcb_param *p = hcb_params_find(ps, pair->key);
        struct hcb_value *to = p ? hcb_map_put(out, pair->key) : NULL;
        if (!p)
            status = unknown(ps, pair->key, err);
        else if (!to)
            status = hcb_fail_nomem(err);
        else
            status = hcb_param_convert(p, &pair->value, to, err);
    }
    if (status < 0)
        hcb_value_release(out);
    return status;
}

static void param_json(struct hcb_buf *b, const struct hcb_param *p)
{
    hcb_json_open(b, '{');
    hcb_json_put_str(b, "name", p->name);
    hcb_json_put_str(b, "type", hcb_param_type_name(p->type));
    hcb_json_put_value(b, "default", &p->preset);
    hcb_json_put_value(b, "min", &p->min);
    hcb_json_put_value(b, "max", &p->max);
    hcb_json_put_value(b, "step", &p->step);
    hcb_json_put_bool(b, "log", p->log);
    hcb_json_put_value(b, "choices", &p->choices);
    hcb_json_put_str(b, "unit", p->unit);
    hcb_json_put_str(b, "help", p->help);
    hcb_json_close(b, '}');
}

void hcb_params_json(struct hcb_buf *b, const struct hcb_params *ps)
{
    hcb_json_open(b, '[');
    for (size_t i = 0; i < ps->n; i++)
        param_json(b, &ps->v[i]);
    hcb_json_close(b, ']');
}
