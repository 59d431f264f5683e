/* The callbacks of a run, and what each op does to them. */
#include "controller/registry.h"
#include "base/array.h"
#include "base/text.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

void hcb_registry_close(struct hcb_registry *r)
{
    for (size_t i = 0; i < r->n; i++)
        hcb_callback_close(r->v[i], &r->world);
    r->world.saved = true;
}

void hcb_registry_release(struct hcb_registry *r)
{
    for (size_t i = 0; i < r->n; i++)
        hcb_callback_free(r->v[i]);
    free(r->v);
    r->v = NULL;
    r->n = r->cap = 0;
}

static size_t index_of(const struct hcb_registry *r, const char *id)
{
    size_t i = 0;
    while (i < r->n && strcmp(r->v[i]->id, id) != 0)
        i++;
    return i;
}

struct hcb_callback *hcb_registry_find(const struct hcb_registry *r, const char *id)
{
    size_t i = id ? index_of(r, id) : r->n;
    return i < r->n ? r->v[i] : NULL;
}

bool hcb_registry_reserve(struct hcb_registry *r, size_t more)
{
    while (r->cap < r->n + more) {
        struct hcb_callback **v = hcb_grow(r->v, r->cap, &r->cap, sizeof *v);
        if (!v)
            return false;
        r->v = v;
    }
    return true;
}

/* ---- outcomes -------------------------------------------------------------- */

static void accept(struct hcb_outcome *out)
{
    out->applied = true;
    out->err.code = 0;
    out->err.text[0] = '\0';
}

static void refuse_fault(struct hcb_outcome *out, const struct hcb_fault *fault)
{
    out->reason = fault->reason;
    hcb_fail(&out->err, HOTCB_EREFUSED, "%s", fault->message);
}

static void note_sum(struct hcb_outcome *out, const struct hcb_callback *cb)
{
    hcb_sha256_hex(cb->sum, out->sha256);
}

static void refuse_unknown(const struct hcb_registry *r, const char *id, struct hcb_outcome *out)
{
    struct hcb_buf known = {0};
    const char **ids = calloc(r->n ? r->n : 1, sizeof *ids);
    for (size_t i = 0; ids && i < r->n; i++) {
        ids[i] = r->v[i]->id;
        if (known.len < 200)
            hcb_buf_printf(&known, "%s%s", i ? ", " : "", ids[i]);
        else if (known.data[known.len - 1] != '.')
            hcb_buf_str(&known, ", ...");
    }
    char hint[HCB_NEAR_CHARS];
    hcb_fail(&out->err, HOTCB_ENOENT, "no callback '%s'%s (known: %s)", id,
             hcb_near_hint(id, ids, ids ? r->n : 0, hint),
             known.len ? hcb_buf_text(&known) : "none");
    free(ids);
    hcb_buf_release(&known);
}

/* ---- load ------------------------------------------------------------------ */

static void close_and_free(struct hcb_registry *r, struct hcb_callback *cb)
{
    if (cb)
        hcb_callback_close(cb, &r->world);
    hcb_callback_free(cb);
}

static void replace(struct hcb_registry *r, size_t i, struct hcb_callback *cb)
{
    struct hcb_callback *old = i < r->n ? r->v[i] : NULL;
    if (i == r->n)
        r->n++;
    r->v[i] = cb;
    r->relisted = true;
    close_and_free(r, old);
}

static void mark_unloaded(struct hcb_callback *cb, const struct hcb_fault *fault)
{
    cb->failed = true;
    hcb_callback_keep_fault(cb, fault);
    cb->fault_event = -1;
    cb->fault_repeats = 1;
}

/* What YAML wants stays wanted: listed as failed where nothing runs yet, or waiting
 * behind the version that runs, until its file changes. */
static void keep_wanted(struct hcb_registry *r, size_t i, struct hcb_callback *cb,
                        const struct hcb_fault *fault, struct hcb_outcome *out)
{
    struct hcb_callback *old = i < r->n ? r->v[i] : NULL;
    mark_unloaded(cb, fault);
    if (!old || !old->script) {
        replace(r, i, cb);
        return;
    }
    hcb_callback_free(old->heir);
    old->heir = cb;
    if (!cb->enabled && old->enabled) { /* that does not wait */
        hcb_callback_enable(old, &r->world, false);
        hcb_fail(&out->err, HOTCB_EREFUSED, "%s; the version that runs is disabled, as is wanted",
                 fault->message);
    }
    hcb_callback_touch(old);
    r->relisted = true;
}

/* Loads cb and puts it at i, or keeps what was there; takes over cb. */
static void load_at(struct hcb_registry *r, size_t i, struct hcb_callback *cb, bool desired,
                    struct hcb_outcome *out)
{
    struct hcb_fault fault;
    if (hcb_callback_load(cb, &r->world, &fault) == 0) {
        note_sum(out, cb);
        replace(r, i, cb);
        accept(out);
        return;
    }
    refuse_fault(out, &fault);
    if (desired)
        keep_wanted(r, i, cb, &fault, out);
    else
        hcb_callback_free(cb);
}

void hcb_registry_adopt(struct hcb_registry *r, struct hcb_callback *cb, struct hcb_outcome *out)
{
    if (hcb_registry_reserve(r, 1)) {
        load_at(r, index_of(r, cb->id), cb, true, out);
        return;
    }
    hcb_callback_free(cb);
    hcb_fail_nomem(&out->err);
}

static void op_load(struct hcb_registry *r, const struct hcb_op *op, struct hcb_outcome *out)
{
    size_t i = index_of(r, op->id);
    if (!hcb_registry_reserve(r, 1)) {
        hcb_fail_nomem(&out->err);
        return;
    }
    struct hcb_callback *cb = hcb_callback_new(op, &r->world, &out->err);
    if (!cb)
        return;
    if (op->enabled == HCB_UNSET && i < r->n) /* YAML may have said so of what waits behind it */
        cb->enabled = (op->desired && r->v[i]->heir ? r->v[i]->heir : r->v[i])->enabled;
    load_at(r, i, cb, op->desired, out);
}

/* ---- the other ops --------------------------------------------------------- */

static int load_again(struct hcb_registry *r, struct hcb_callback *cb, struct hcb_fault *fault)
{
    if (cb->script)
        return hcb_callback_reload(cb, &r->world, fault);
    int status = hcb_callback_load(cb, &r->world, fault);
    if (status == 0)
        hcb_callback_clear_failure(cb);
    else
        mark_unloaded(cb, fault);
    return status;
}

/* By what came of loading it, what waits behind a callback takes over, or waits on. */
static void settle_heir(struct hcb_registry *r, size_t i, int status,
                        const struct hcb_fault *fault)
{
    struct hcb_callback *cb = r->v[i], *heir = cb->heir;
    if (status < 0) {
        mark_unloaded(heir, fault);
        hcb_callback_touch(cb); /* it says why */
        return;
    }
    cb->heir = NULL;
    hcb_callback_clear_failure(heir);
    replace(r, i, heir);
}

/* true: it took over, and cb is no more. */
static bool heir_loads(struct hcb_registry *r, struct hcb_callback *cb)
{
    struct hcb_fault fault;
    int status = hcb_callback_load(cb->heir, &r->world, &fault);
    settle_heir(r, index_of(r, cb->id), status, &fault);
    return status == 0;
}

/* Clears a failure, which takes a state that can run. Where there is none, enabled it
 * is all the same: it runs once its file loads. */
static void op_enable(struct hcb_registry *r, struct hcb_callback *cb, struct hcb_outcome *out)
{
    struct hcb_fault fault;
    int status = 0;
    hcb_callback_enable(cb, &r->world, true);
    if (!cb->script)
        status = load_again(r, cb, &fault);
    else if (hcb_script_dead(cb->script))
        status = hcb_callback_rebuild(cb, &r->world, &fault);
    if (status < 0) {
        out->reason = fault.reason;
        hcb_fail(&out->err, HOTCB_EREFUSED, "%s; it is enabled, and runs once its file loads",
                 fault.message);
        return;
    }
    hcb_callback_clear_failure(cb);
    accept(out);
}

/* What waits behind it comes first: why it did not load may have nothing to do with its file. */
static void op_reload(struct hcb_registry *r, struct hcb_callback *cb, struct hcb_outcome *out)
{
    struct hcb_fault fault;
    struct hcb_callback *heir = cb->heir;
    if (heir && heir_loads(r, cb)) {
        cb = heir;
    } else if (load_again(r, cb, &fault) < 0) {
        refuse_fault(out, &fault);
        return;
    }
    note_sum(out, cb);
    accept(out);
}

static void op_unload(struct hcb_registry *r, struct hcb_callback *cb, struct hcb_outcome *out)
{
    size_t i = index_of(r, cb->id);
    memmove(&r->v[i], &r->v[i + 1], (r->n - i - 1) * sizeof *r->v);
    r->n--;
    r->relisted = true;
    close_and_free(r, cb);
    accept(out);
}

static void op_disable(struct hcb_registry *r, struct hcb_callback *cb, struct hcb_outcome *out)
{
    hcb_callback_enable(cb, &r->world, false);
    accept(out);
}

/* Says of YAML's values, which come later, that these are not to be set any more. */
static void forget_since(struct hcb_callback *cb, const struct hcb_value *params)
{
    for (size_t i = 0; cb->since.type == HCB_MAP && i < params->u.map.n; i++)
        hcb_map_remove(&cb->since, params->u.map.p[i].key);
}

/* *out becomes what commands have set since the heir waits, these included. Of what is null
 * only that counts which takes a value of YAML's away. */
static int add_since(const struct hcb_callback *heir, const struct hcb_value *params,
                     struct hcb_value *out, struct hcb_err *err)
{
    struct hcb_value none = {0};
    hcb_value_map(&none);
    return hcb_with_changes(heir->since.type == HCB_MAP ? &heir->since : &none, params, &heir->set,
                            out, err);
}

static void swap(struct hcb_value *a, struct hcb_value *b)
{
    struct hcb_value was = *a;
    *a = *b;
    *b = was;
}

/* Of a callback that has not loaded yet the values or limits may be what was wrong: it is
 * tried with those of this op. YAML's stay wanted, whatever comes of it; false: they are a
 * command's, and go again. */
static bool stay(struct hcb_registry *r, struct hcb_callback *cb, const struct hcb_op *op,
                 const struct hcb_fault *before, struct hcb_outcome *out)
{
    struct hcb_fault fault;
    if (load_again(r, cb, &fault) == 0) {
        accept(out);
        return true;
    }
    refuse_fault(out, &fault);
    out->wanted = op->origin == HCB_FROM_YAML;
    if (!out->wanted)
        hcb_callback_keep_fault(cb, before);
    return out->wanted;
}

static void set_unloaded(struct hcb_registry *r, struct hcb_callback *cb,
                         const struct hcb_op *op, struct hcb_outcome *out)
{
    struct hcb_value before = {0};
    struct hcb_fault fault = *hcb_callback_fault(cb);
    if (!hcb_value_copy(&before, &cb->set)) {
        hcb_fail_nomem(&out->err);
    } else if (hcb_callback_want(cb, &op->params, &out->err) == 0) {
        forget_since(cb, &op->params);
        if (!stay(r, cb, op, &fault, out))
            swap(&cb->set, &before);
    }
    hcb_value_release(&before);
}

/* A key that is gone from YAML may be gone from the script, too. */
static int set_from_yaml(struct hcb_registry *r, struct hcb_callback *cb,
                         const struct hcb_value *given, struct hcb_err *err)
{
    struct hcb_value params = {0}, gone = {0};
    hcb_value_map(&gone);
    int status = hcb_value_copy(&params, given) ? 0 : hcb_fail_nomem(err);
    for (size_t i = 0; status == 0 && i < given->u.map.n; i++) {
        const struct hcb_pair *pair = &given->u.map.p[i];
        if (pair->value.type != HCB_NULL || hcb_script_has_initial(cb->script, pair->key))
            continue;
        hcb_map_remove(&params, pair->key);
        hcb_map_put(&gone, pair->key);
    }
    if (status == 0 && params.u.map.n > 0)
        status = hcb_callback_set(cb, &r->world, &params, err);
    if (status == 0 && gone.u.map.n > 0)
        status = hcb_callback_want(cb, &gone, err);
    hcb_value_release(&params);
    hcb_value_release(&gone);
    return status;
}

/* What waits behind it is to have the values, too, once it loads. */
static int set_by_command(struct hcb_registry *r, struct hcb_callback *cb,
                          const struct hcb_value *params, struct hcb_err *err)
{
    struct hcb_value since = {0};
    if (cb->heir && add_since(cb->heir, params, &since, err) < 0)
        return HOTCB_ENOMEM;
    int status = hcb_callback_set(cb, &r->world, params, err);
    if (status == 0 && cb->heir) {
        swap(&cb->heir->since, &since);
        hcb_callback_touch(cb->heir);
    }
    hcb_value_release(&since);
    return status;
}

/* What YAML says of it is kept for what waits behind a callback. true: that loads with it, and
 * took over. */
static bool suits_heir(struct hcb_registry *r, struct hcb_callback *cb, struct hcb_outcome *out)
{
    out->wanted = true;
    bool loads = heir_loads(r, cb);
    if (loads)
        accept(out);
    return loads;
}

static void op_set(struct hcb_registry *r, struct hcb_callback *cb, const struct hcb_op *op,
                   struct hcb_outcome *out)
{
    bool yaml = op->origin == HCB_FROM_YAML;
    if (!cb->script) {
        set_unloaded(r, cb, op, out);
        return;
    }
    if (yaml && cb->heir) {
        if (hcb_callback_want(cb->heir, &op->params, &out->err) < 0)
            return;
        forget_since(cb->heir, &op->params);
        if (suits_heir(r, cb, out))
            return;
    }
    if ((yaml ? set_from_yaml(r, cb, &op->params, &out->err)
              : set_by_command(r, cb, &op->params, &out->err)) == 0)
        accept(out);
}

static void limit_unloaded(struct hcb_registry *r, struct hcb_callback *cb,
                           const struct hcb_op *op, struct hcb_outcome *out)
{
    struct hcb_value given = {0};
    struct hcb_limits before = cb->limits;
    struct hcb_fault fault = *hcb_callback_fault(cb);
    if (!hcb_value_copy(&given, &cb->limits_given)) {
        hcb_fail_nomem(&out->err);
    } else if (hcb_callback_set_limits(cb, &r->world, &op->limits, &out->err) == 0 &&
               !stay(r, cb, op, &fault, out)) {
        cb->limits = before;
        swap(&cb->limits_given, &given);
    }
    hcb_value_release(&given);
}

static void op_limits(struct hcb_registry *r, struct hcb_callback *cb, const struct hcb_op *op,
                      struct hcb_outcome *out)
{
    bool yaml = op->origin == HCB_FROM_YAML;
    if (!cb->script) {
        limit_unloaded(r, cb, op, out);
        return;
    }
    if (yaml && cb->heir) {
        if (hcb_callback_set_limits(cb->heir, &r->world, &op->limits, &out->err) < 0 ||
            suits_heir(r, cb, out))
            return;
    }
    if (hcb_callback_set_limits(cb, &r->world, &op->limits, &out->err) < 0)
        return;
    if (yaml || !cb->heir ||
        hcb_callback_set_limits(cb->heir, &r->world, &op->limits, &out->err) == 0)
        accept(out);
}

void hcb_registry_apply(struct hcb_registry *r, const struct hcb_op *op,
                        struct hcb_outcome *out)
{
    memset(out, 0, sizeof *out);
    if (op->kind == HCB_OP_LOAD) {
        op_load(r, op, out);
        return;
    }
    struct hcb_callback *cb = hcb_registry_find(r, op->id);
    if (!cb) {
        refuse_unknown(r, op->id, out);
        return;
    }
    switch (op->kind) {
    case HCB_OP_ENABLE: op_enable(r, cb, out); break;
    case HCB_OP_DISABLE: op_disable(r, cb, out); break;
    case HCB_OP_SET: op_set(r, cb, op, out); break;
    case HCB_OP_LIMITS: op_limits(r, cb, op, out); break;
    case HCB_OP_UNLOAD: op_unload(r, cb, out); break;
    case HCB_OP_RELOAD: op_reload(r, cb, out); break;
    default: assert(!"an op that changes no callback");
    }
}

/* ---- files ----------------------------------------------------------------- */

static void report(struct hcb_callback *cb, int status, const struct hcb_fault *fault,
                   hcb_said_fn *say, void *user)
{
    struct hcb_op op;
    struct hcb_outcome out = {0};
    hcb_op_init(&op);
    op.kind = HCB_OP_RELOAD;
    op.origin = HCB_FROM_FILE;
    op.id = cb->id; /* borrowed: not released */
    if (status == 0) {
        note_sum(&out, cb);
        accept(&out);
    } else if (cb->script) {
        out.reason = fault->reason;
        hcb_fail(&out.err, HOTCB_EREFUSED, "%s; %s", fault->message,
                 cb->failed ? "it stays stopped" : "the version that ran goes on");
    } else {
        refuse_fault(&out, fault);
    }
    say(user, &op, &out);
}

static bool may_load(struct hcb_registry *r)
{
    r->world.glance.later |= r->world.loads <= 0;
    return !r->world.glance.later;
}

/* What YAML wants in the place of a callback that runs: tried when its file changes. */
static int try_heir(struct hcb_registry *r, size_t i, hcb_said_fn *say, void *user)
{
    struct hcb_callback *cb = r->v[i], *heir = cb->heir;
    struct hcb_fault fault;
    bool differs;
    if (!heir || !may_load(r) || !hcb_callback_changed(heir, &r->world, &differs) || !differs)
        return 0;
    int status = hcb_callback_load(heir, &r->world, &fault);
    report(heir, status, &fault, say, user);
    settle_heir(r, i, status, &fault);
    return 1;
}

static int try_own(struct hcb_registry *r, struct hcb_callback *cb, hcb_said_fn *say,
                     void *user)
{
    struct hcb_fault fault;
    bool differs;
    if (!may_load(r) || !hcb_callback_changed(cb, &r->world, &differs))
        return 0;
    if (!differs && !cb->failed) { /* back to what runs */
        hcb_callback_clear_pending(cb);
        return 0;
    }
    int status = load_again(r, cb, &fault);
    report(cb, status, &fault, say, user);
    return 1;
}

int hcb_registry_check_files(struct hcb_registry *r, size_t i, hcb_said_fn *say, void *user)
{
    struct hcb_callback *cb = r->v[i], *heir = cb->heir;
    int n = try_own(r, cb, say, user);
    hcb_callback_forget_found(cb);
    if (!heir)
        return n;
    n += try_heir(r, i, say, user);
    hcb_callback_forget_found(heir);
    return n;
}
