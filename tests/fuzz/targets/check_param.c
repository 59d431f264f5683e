/* Does a value satisfy its declaration? Written anew, to be compared with script/params.c. */
#include "checks.h"

#include "base/number.h"

static double as_real(const struct hcb_value *v)
{
    return v->type == HCB_INT ? (double)v->u.i : v->u.d;
}

static bool is_number(const struct hcb_value *v)
{
    return v->type == HCB_INT || v->type == HCB_REAL;
}

static bool is_one_of(const struct hcb_value *v, const struct hcb_value *choices)
{
    bool found = choices->type != HCB_LIST;
    for (size_t i = 0; !found && i < choices->u.list.n; i++) {
        const struct hcb_value *c = &choices->u.list.v[i];
        found = hcb_value_equal(v, c) || (is_number(v) && is_number(c) && as_real(v) == as_real(c));
    }
    return found;
}

static void check_bounds(const struct hcb_param *p, const struct hcb_value *v)
{
    bool whole = is_one_of(v, &p->choices);
    for (size_t i = 0; v->type == HCB_LIST && i < v->u.list.n; i++)
        check_bounds(p, &v->u.list.v[i]);
    MUST(whole || v->type == HCB_LIST);
    if (!is_number(v))
        return;
    double d = as_real(v);
    MUST(!hcb_is_nan(d));
    MUST(!is_number(&p->min) || d >= as_real(&p->min));
    MUST(!is_number(&p->max) || d <= as_real(&p->max));
    if (!hcb_is_finite(d))
        MUST(as_real(d > 0 ? &p->max : &p->min) == d);
}

void fuzz_check_param(const struct hcb_param *p, const struct hcb_value *v)
{
    static const enum hcb_type types[] = {
        [HCB_PARAM_INTEGER] = HCB_INT, [HCB_PARAM_NUMBER] = HCB_REAL,
        [HCB_PARAM_BOOLEAN] = HCB_BOOL, [HCB_PARAM_STRING] = HCB_TEXT,
        [HCB_PARAM_LIST] = HCB_LIST,
    };
    fuzz_must_be_sound(v, false);
    if (v->type == HCB_NULL) /* no default, and not set */
        return;
    MUST(p->type == HCB_PARAM_ANY || v->type == types[p->type]);
    check_bounds(p, v);
}
