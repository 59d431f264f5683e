/* Reads what one callback may use from plain data; see limits.h. Knows nothing of
 * how a limit is enforced. */
#include "control/limits.h"

#include "control/shape.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* coroutines, the only one that is no number, has no row with a range. */
static const struct number_limit {
    const char *name;
    size_t offset;
    int64_t min, max;
} numbers[] = {
    {"time_ms", offsetof(struct hcb_limits, time_ms), 1, 3600000},
    {"memory_mb", offsetof(struct hcb_limits, memory_mb), 1, 4096},
    {"errors", offsetof(struct hcb_limits, errors), 0, 100},
};

static const char *const names[] = {"time_ms", "memory_mb", "errors", "coroutines"};

static int64_t *field(struct hcb_limits *limits, const struct number_limit *n)
{
    return (int64_t *)((char *)limits + n->offset);
}

static int read_number(struct hcb_limits *limits, struct hcb_limits *defaults,
                       const struct number_limit *n, const struct hcb_value *v,
                       struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS];
    if (v->type == HCB_NULL) {
        *field(limits, n) = *field(defaults, n);
        return 0;
    }
    if (v->type != HCB_INT || v->u.i < n->min || v->u.i > n->max)
        return hcb_fail(err, HOTCB_EFORMAT,
                        "limits.%s: must be a whole number from %" PRId64 " to %" PRId64
                        ", not %s",
                        n->name, n->min, n->max, hcb_show(v, shown));
    *field(limits, n) = v->u.i;
    return 0;
}

static int read_one(struct hcb_limits *limits, struct hcb_limits *defaults,
                    const struct hcb_pair *p, struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS], hint[HCB_HINT_CHARS];
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (strcmp(p->key, numbers[i].name) == 0)
            return read_number(limits, defaults, &numbers[i], &p->value, err);
    if (strcmp(p->key, "coroutines") != 0)
        return hcb_fail(err, HOTCB_EFORMAT, "limits.%s: unknown limit%s",
                        hcb_show_text(p->key, shown), hcb_hint(p->key, names, COUNT(names), hint));
    if (p->value.type == HCB_NULL)
        limits->coroutines = defaults->coroutines;
    else if (p->value.type == HCB_BOOL)
        limits->coroutines = p->value.u.b;
    else
        return hcb_fail(err, HOTCB_EFORMAT, "limits.coroutines: must be true or false, not %s",
                        hcb_show(&p->value, shown));
    return 0;
}

int hcb_limits_read(struct hcb_limits *limits, const struct hcb_limits *defaults,
                    const struct hcb_value *v, struct hcb_err *err)
{
    struct hcb_limits next = *limits, usual = *defaults;
    char shown[HCB_SHOW_CHARS];
    if (!v || v->type == HCB_NULL)
        return 0;
    if (v->type != HCB_MAP)
        return hcb_fail(err, HOTCB_EFORMAT, "limits: must be a map of names and values, not %s",
                        hcb_show(v, shown));
    for (size_t i = 0; i < v->u.map.n; i++) {
        int rc = read_one(&next, &usual, &v->u.map.p[i], err);
        if (rc < 0)
            return rc;
    }
    *limits = next;
    return 0;
}

void hcb_limits_clamp(struct hcb_limits *limits)
{
    for (size_t i = 0; i < COUNT(numbers); i++) {
        int64_t *v = field(limits, &numbers[i]);
        *v = *v < numbers[i].min ? numbers[i].min : *v > numbers[i].max ? numbers[i].max : *v;
    }
}
