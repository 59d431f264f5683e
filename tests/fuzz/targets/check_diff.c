/* The ops between two configurations, carried out on the first as a run would. */
#include "checks.h"

#include "control/config.h"

#include <string.h>

static bool same_names(const struct hcb_value *a, const struct hcb_value *b)
{
    for (size_t i = 0; a && a->type == HCB_MAP && i < a->u.map.n; i++) {
        const struct hcb_value *other = hcb_map_get(b, a->u.map.p[i].key);
        const struct hcb_value *v = &a->u.map.p[i].value;
        if (other ? !hcb_value_equal(v, other) : v->type != HCB_NULL)
            return false;
    }
    return true;
}

static void merge(struct hcb_value *entry, const char *key, const struct hcb_value *names)
{
    struct hcb_value *to = hcb_map_get(entry, key);
    if (!to || to->type != HCB_MAP)
        hcb_value_map(to = hcb_map_put(entry, key));
    for (size_t i = 0; i < names->u.map.n; i++)
        hcb_map_set(to, names->u.map.p[i].key, &names->u.map.p[i].value);
}

static void load(struct hcb_value *entry, const struct hcb_op *op)
{
    bool was_on = hcb_map_bool(entry, "enabled", true);
    struct hcb_value on = {0};
    hcb_value_release(entry);
    hcb_value_map(entry);
    hcb_value_bool(&on, op->enabled == HCB_UNSET ? was_on : op->enabled == HCB_YES);
    hcb_map_set(entry, "enabled", &on);
    hcb_map_set(entry, "init", &op->init);
    hcb_map_set(entry, "params", &op->params);
    hcb_map_set(entry, "limits", &op->limits);
    MUST(op->desired && op->target.path && *op->target.path);
    MUST(op->target.kind == HCB_TARGET_MODULE || op->target.path[0] == '/');
}

static void carry_out(struct hcb_value *config, const struct hcb_op *op)
{
    struct hcb_value *entry = hcb_map_get(config, op->id);
    struct hcb_value on = {0};
    if (!entry)
        entry = hcb_map_put(config, op->id);
    MUST(op->origin == HCB_FROM_YAML && op->id && !op->cmd && op->offset == -1);
    switch (op->kind) {
    case HCB_OP_LOAD: load(entry, op); return;
    case HCB_OP_SET: merge(entry, "params", &op->params); return;
    case HCB_OP_LIMITS: merge(entry, "limits", &op->limits); return;
    case HCB_OP_ENABLE:
    case HCB_OP_DISABLE:
        hcb_value_bool(&on, op->kind == HCB_OP_ENABLE);
        hcb_map_set(entry, "enabled", &on);
        return;
    default: MUST(!"an op that no file asks for");
    }
}

static void check_reached(const struct hcb_value *got, const struct hcb_value *want)
{
    static const char *const keys[] = {"init", "params", "limits"};
    for (size_t i = 0; i < want->u.map.n; i++) {
        const struct hcb_value *w = &want->u.map.p[i].value;
        const struct hcb_value *g = hcb_map_get(got, want->u.map.p[i].key);
        MUST(g && hcb_map_bool(g, "enabled", true) == hcb_map_bool(w, "enabled", true));
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
            const struct hcb_value *a = hcb_map_get(g, keys[k]), *b = hcb_map_get(w, keys[k]);
            MUST(same_names(a, b) && same_names(b, a));
        }
    }
}

void fuzz_check_diff(const struct hcb_value *before, const struct hcb_value *after)
{
    struct hcb_ops ops = {0};
    struct hcb_err err = {0};
    struct hcb_value config = {0};
    MUST(hcb_config_diff(before, after, "/run", &ops, &err) == 0);
    MUST(before != after || ops.n == 0);
    hcb_value_copy(&config, before);
    if (config.type == HCB_NULL)
        hcb_value_map(&config);
    for (size_t i = 0; i < ops.n; i++)
        carry_out(&config, &ops.v[i]);
    if (after->type == HCB_MAP)
        check_reached(&config, after);
    for (size_t i = 0; after->type == HCB_MAP && i < config.u.map.n; i++)
        if (!hcb_map_get(after, config.u.map.p[i].key))
            MUST(!hcb_map_bool(&config.u.map.p[i].value, "enabled", true));
    hcb_ops_release(&ops);
    hcb_value_release(&config);
}
