/* What changed between two configurations, as ops; see config.h. Both are valid.
 * Knows nothing of what runs: a key that did not change makes no op, whatever was
 * done since by command. */
#include "control/config.h"

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct diff {
    const char *dir;
    struct hcb_ops *ops;
    struct hcb_err *err;
};

void hcb_ops_release(struct hcb_ops *ops)
{
    for (size_t i = 0; i < ops->n; i++)
        hcb_op_release(&ops->v[i]);
    free(ops->v);
    memset(ops, 0, sizeof(*ops));
}

/* A new op of the kind for id; NULL when out of memory. */
static struct hcb_op *add_op(struct diff *d, enum hcb_op_kind kind, const char *id, int line)
{
    struct hcb_ops *ops = d->ops;
    struct hcb_op *v = hcb_grow(ops->v, ops->n, &ops->cap, sizeof(*v));
    if (!v)
        return NULL;
    ops->v = v;
    struct hcb_op *op = &ops->v[ops->n++];
    hcb_op_init(op);
    op->kind = kind;
    op->origin = HCB_FROM_YAML;
    op->line = line;
    op->id = hcb_strdup(id);
    return op->id ? op : NULL;
}

/* ---- comparing ---- */

static bool spelt_alike(const struct hcb_value *a, const struct hcb_value *b);

/* Equal maps may have their keys in another order. */
static bool maps_spelt_alike(const struct hcb_value *a, const struct hcb_value *b)
{
    struct hcb_map_search search = {.map = b};
    bool alike = true;
    for (size_t i = 0; i < a->u.map.n && alike; i++) {
        const struct hcb_pair *p = &a->u.map.p[i], *q = hcb_map_search(&search, p->key);
        alike = q && spelt_alike(&p->value, &q->value);
    }
    hcb_map_search_end(&search);
    return alike;
}

/* 1.10 and 1.1 are the same number, but not to a callback whose parameter is
 * text. Text is its own spelling. Both values are equal. */
static bool spelt_alike(const struct hcb_value *a, const struct hcb_value *b)
{
    bool alike = true;
    if (a->type == HCB_LIST) {
        for (size_t i = 0; i < a->u.list.n && alike; i++)
            alike = spelt_alike(&a->u.list.v[i], &b->u.list.v[i]);
    } else if (a->type == HCB_MAP) {
        alike = maps_spelt_alike(a, b);
    } else if (a->type != HCB_TEXT && a->source && b->source) {
        alike = strcmp(a->source, b->source) == 0;
    }
    return alike;
}

static bool is_none(const struct hcb_value *v)
{
    return !v || v->type == HCB_NULL;
}

static bool same(const struct hcb_value *a, const struct hcb_value *b)
{
    if (!a || !b)
        return a == b;
    return hcb_value_equal(a, b) && spelt_alike(a, b);
}

/* Of two maps that may be missing: an empty one is as good as none. */
static bool same_maps(const struct hcb_value *a, const struct hcb_value *b)
{
    bool no_a = is_none(a) || a->u.map.n == 0, no_b = is_none(b) || b->u.map.n == 0;
    return no_a || no_b ? no_a == no_b : same(a, b);
}

static bool same_target(const struct hcb_value *a, const struct hcb_value *b)
{
    return hcb_streq(hcb_map_text(a, "kind", NULL), hcb_map_text(b, "kind", NULL)) &&
           hcb_streq(hcb_map_text(a, "path", NULL), hcb_map_text(b, "path", NULL)) &&
           hcb_streq(hcb_map_text(a, "symbol", NULL), hcb_map_text(b, "symbol", NULL));
}

/* The line of a key of the entry, or of the entry where that key is not there. */
static int line_of(const struct hcb_pair *entry, const char *key)
{
    const struct hcb_pair *p = hcb_map_pair(&entry->value, key);
    return p ? p->line : entry->line;
}

/* ---- ops ---- */

static bool copy_part(const struct hcb_value *entry, const char *key, struct hcb_value *to)
{
    const struct hcb_value *v = hcb_map_get(entry, key);
    return !v || hcb_value_copy(to, v);
}

static int add_load(struct diff *d, const struct hcb_pair *entry, enum hcb_tristate enabled)
{
    struct hcb_op *op = add_op(d, HCB_OP_LOAD, entry->key, entry->line);
    if (!op)
        return hcb_fail_nomem(d->err);
    op->enabled = enabled;
    op->desired = true;
    int rc = hcb_target_read(&op->target, hcb_map_get(&entry->value, "target"), d->err);
    if (rc < 0)
        return rc;
    if (op->target.kind == HCB_TARGET_FILE) {
        char *path = hcb_path_join(d->dir, op->target.path);
        if (!path)
            return hcb_fail_nomem(d->err);
        free(op->target.path);
        op->target.path = path;
    }
    if (copy_part(&entry->value, "init", &op->init) &&
        copy_part(&entry->value, "params", &op->params) &&
        copy_part(&entry->value, "limits", &op->limits))
        return 0;
    return hcb_fail_nomem(d->err);
}

static bool add_name(struct hcb_value *out, const char *name, const struct hcb_value *value)
{
    struct hcb_value *to = hcb_map_append(out, name);
    return to && (!value || hcb_value_copy(to, value));
}

/* The names in `after` whose values are new or other. *line is that of the first. */
static bool add_changed(const struct hcb_value *before, const struct hcb_value *after,
                        struct hcb_value *out, int64_t *line)
{
    struct hcb_map_search old = {.map = before};
    bool ok = true;
    for (size_t i = 0; ok && !is_none(after) && i < after->u.map.n; i++) {
        const struct hcb_pair *p = &after->u.map.p[i], *was = hcb_map_search(&old, p->key);
        if (was && same(&was->value, &p->value))
            continue;
        ok = add_name(out, p->key, &p->value);
        if (out->u.map.n == 1)
            *line = p->line;
    }
    hcb_map_search_end(&old);
    return ok;
}

/* Those it no longer has, as null. */
static bool add_removed(const struct hcb_value *before, const struct hcb_value *after,
                        struct hcb_value *out)
{
    struct hcb_map_search new = {.map = after};
    bool ok = true;
    for (size_t i = 0; ok && !is_none(before) && i < before->u.map.n; i++)
        if (!hcb_map_search(&new, before->u.map.p[i].key))
            ok = add_name(out, before->u.map.p[i].key, NULL);
    hcb_map_search_end(&new);
    return ok;
}

static bool changed_names(const struct hcb_value *before, const struct hcb_value *after,
                          struct hcb_value *out, int64_t *line)
{
    hcb_value_map(out);
    return add_changed(before, after, out, line) && add_removed(before, after, out);
}

static int diff_names(struct diff *d, enum hcb_op_kind kind, const char *key,
                      const struct hcb_pair *before, const struct hcb_pair *after)
{
    const struct hcb_value *old = hcb_map_get(&before->value, key);
    const struct hcb_value *new = hcb_map_get(&after->value, key);
    if (same_maps(old, new))
        return 0;
    struct hcb_op *op = add_op(d, kind, after->key, line_of(after, key));
    struct hcb_value *to = op && kind == HCB_OP_SET ? &op->params : op ? &op->limits : NULL;
    if (!op || !changed_names(old, new, to, &op->line))
        return hcb_fail_nomem(d->err);
    return 0;
}

static int diff_entry(struct diff *d, const struct hcb_pair *before, const struct hcb_pair *after)
{
    if (before && same(&before->value, &after->value)) /* so are most */
        return 0;
    bool enabled = hcb_map_bool(&after->value, "enabled", true);
    bool other = !before || hcb_map_bool(&before->value, "enabled", true) != enabled;
    if (!before ||
        !same_target(hcb_map_get(&before->value, "target"), hcb_map_get(&after->value, "target")) ||
        !same_maps(hcb_map_get(&before->value, "init"), hcb_map_get(&after->value, "init")))
        return add_load(d, after, !other ? HCB_UNSET : enabled ? HCB_YES : HCB_NO);
    /* Limits and values first, so that what is switched on runs with them. */
    int rc = diff_names(d, HCB_OP_LIMITS, "limits", before, after);
    if (rc == 0)
        rc = diff_names(d, HCB_OP_SET, "params", before, after);
    if (rc == 0 && other && !add_op(d, enabled ? HCB_OP_ENABLE : HCB_OP_DISABLE, after->key,
                                    line_of(after, "enabled")))
        rc = hcb_fail_nomem(d->err);
    return rc;
}

static int diff_removed(struct diff *d, const struct hcb_value *before,
                        const struct hcb_value *after)
{
    struct hcb_map_search new = {.map = after};
    int rc = 0;
    for (size_t i = 0; rc == 0 && !is_none(before) && i < before->u.map.n; i++) {
        const char *id = before->u.map.p[i].key;
        if (!hcb_map_search(&new, id) && !add_op(d, HCB_OP_DISABLE, id, 0))
            rc = hcb_fail_nomem(d->err);
    }
    hcb_map_search_end(&new);
    return rc;
}

static int diff_entries(struct diff *d, const struct hcb_value *before,
                        const struct hcb_value *after)
{
    struct hcb_map_search old = {.map = before};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < after->u.map.n; i++) {
        const struct hcb_pair *p = &after->u.map.p[i];
        rc = diff_entry(d, hcb_map_search(&old, p->key), p);
    }
    hcb_map_search_end(&old);
    return rc;
}

int hcb_config_diff(const struct hcb_value *before, const struct hcb_value *after,
                    const char *dir, struct hcb_ops *ops, struct hcb_err *err)
{
    struct diff d = {.dir = dir, .ops = ops, .err = err};
    if (is_none(after)) /* an empty file asks for nothing */
        return 0;
    int rc = diff_removed(&d, before, after);
    if (rc == 0)
        rc = diff_entries(&d, before, after);
    if (rc < 0)
        hcb_ops_release(ops);
    return rc;
}
