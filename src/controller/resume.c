/* A run goes on where an earlier process left it: callbacks, parameters, counters and
 * what save() gave at the last checkpoint, from hotcb.state.json. Then YAML keys that
 * have changed since, then new commands, as at any look. */
#include "base/json.h"
#include "base/text.h"
#include "controller/exact.h"
#include "controller/run.h"
#include <stdlib.h>
#include <string.h>

static const struct hcb_value *entries(const struct hotcb *h)
{
    const struct hcb_value *list = hcb_map_get(&h->before, "registry");
    return list && list->type == HCB_LIST ? list : NULL;
}

int hcb_resumable(const struct hotcb *h)
{
    const struct hcb_value *list = entries(h);
    int n = 0;
    for (size_t i = 0; list && i < list->u.list.n; i++)
        n += strcmp(hcb_map_text(&list->u.list.v[i], "origin", ""), "command") == 0;
    return n;
}

/* A part is JSON as text, see put_exact() in state.c. */
static int read_part(const struct hcb_value *entry, const char *key, struct hcb_value *out)
{
    const char *text = hcb_map_text(entry, key, NULL);
    struct hcb_value json = {0};
    if (!text)
        return 0;
    int status = hcb_json_parse(text, strlen(text), &json, NULL);
    if (status == 0)
        status = hcb_exact_read(&json, out);
    hcb_value_release(&json);
    return status;
}

static int read_limits(const struct hcb_value *entry, struct hcb_value *out)
{
    const struct hcb_value *limits = hcb_map_get(entry, "limits");
    return !limits || hcb_value_copy(out, limits) ? 0 : HOTCB_ENOMEM;
}

/* An entry of the state as the load that would have made it. */
static int read_entry(const struct hcb_value *entry, struct hcb_op *op, struct hcb_err *err)
{
    const char *id = hcb_map_text(entry, "id", "");
    const struct hcb_value *target = hcb_map_get(entry, "target");
    if (hcb_id_check(id, strlen(id), err) < 0)
        return err->code;
    op->kind = HCB_OP_LOAD;
    op->origin = HCB_FROM_RESUME;
    op->desired = true;
    op->enabled = hcb_map_bool(entry, "enabled", true) ? HCB_YES : HCB_NO;
    const char *symbol = hcb_map_text(target, "symbol", NULL);
    op->id = hcb_strdup(id);
    op->target.kind = strcmp(hcb_map_text(target, "kind", ""), "module") == 0 ? HCB_TARGET_MODULE
                                                                           : HCB_TARGET_FILE;
    op->target.path = hcb_strdup(hcb_map_text(target, "path", ""));
    op->target.symbol = hcb_strdup(symbol);
    if (!op->id || !op->target.path || (symbol && !op->target.symbol))
        return hcb_fail_nomem(err);
    int status = read_part(entry, "init", &op->init);
    if (status == 0)
        status = read_part(entry, "params", &op->params);
    if (status == 0)
        status = read_limits(entry, &op->limits);
    if (status == HOTCB_ENOMEM)
        return hcb_fail_nomem(err);
    return status < 0 ? hcb_fail(err, HOTCB_EFORMAT, "its entry in hotcb.state.json cannot be "
                                 "read") : 0;
}

static enum hcb_origin origin_of(const struct hcb_value *entry)
{
    const char *name = hcb_map_text(entry, "origin", "");
    for (int o = 0; o < HCB_ORIGIN_COUNT; o++)
        if (strcmp(hcb_origin_name((enum hcb_origin)o), name) == 0)
            return (enum hcb_origin)o;
    return HCB_FROM_COMMAND;
}

/* What the load itself does not carry, before the script is set up. */
static int inherit(struct hcb_callback *cb, const struct hcb_value *entry, struct hcb_log *log)
{
    cb->origin = origin_of(entry);
    cb->resumed = hcb_map_bool(entry, "loaded", true);
    cb->calls = hcb_map_int(entry, "calls", 0);
    cb->failed_calls = hcb_map_int(entry, "failures", 0);
    if (read_part(entry, "since", &cb->since) == HOTCB_ENOMEM)
        return HOTCB_ENOMEM;
    int status = read_part(entry, "saved", &cb->saved);
    if (status < 0 && status != HOTCB_ENOMEM)
        hcb_log(log, HOTCB_WARN, cb->id, "what save() gave cannot be read any more");
    return status;
}

/* An entry on its way: the callback, not loaded yet, or why there is none. */
struct revived {
    struct hcb_op op;
    struct hcb_callback *cb;
    struct hcb_err err;
};

static int revive(struct hotcb *h, const struct hcb_value *entry, struct revived *r)
{
    int status = read_entry(entry, &r->op, &r->err);
    if (status < 0)
        return status;
    r->cb = hcb_callback_new(&r->op, &h->registry.world, &r->err);
    return r->cb ? inherit(r->cb, entry, &h->log) : r->err.code;
}

static void release_all(struct revived *all, size_t n)
{
    for (size_t i = 0; all && i < n; i++) {
        hcb_op_release(&all[i].op);
        hcb_callback_free(all[i].cb);
    }
    free(all);
}

/* All that takes memory, before anything is done: what cannot be resumed now can be later,
 * as long as nothing was. NULL: there was not enough. */
static struct revived *revive_all(struct hotcb *h, const struct hcb_value *list, size_t n)
{
    struct revived *all = calloc(n + 1, sizeof *all);
    bool ok = all && hcb_ledger_room(&h->ledger, n) && hcb_registry_reserve(&h->registry, n);
    for (size_t i = 0; all && i < n; i++)
        hcb_op_init(&all[i].op);
    for (size_t i = 0; ok && i < n; i++)
        ok = revive(h, &list->u.list.v[i], &all[i]) != HOTCB_ENOMEM;
    if (ok)
        return all;
    release_all(all, n);
    return NULL;
}

static void resume_entry(struct hotcb *h, struct revived *r)
{
    struct hcb_outcome out = {.err = r->err};
    if (r->cb)
        hcb_registry_adopt(&h->registry, r->cb, &out);
    r->cb = NULL;
    hcb_record(h, &r->op, &out);
}

/* As text, or as what counts as read, where that is something else. */
static int read_config(struct hotcb *h, struct hcb_err *err)
{
    const char *text = hcb_buf_text(&h->config_text);
    h->config_differs = hcb_map_text(&h->before, "config_read", NULL) != NULL;
    if (!h->config_differs)
        return hcb_config_parse(text, h->config_text.len, h->dir.config, &h->config, err);
    h->config_partly = hcb_map_bool(&h->before, "config_again", false);
    h->config_resumed = !h->config_partly;
    int status = read_part(&h->before, "config_read", &h->config);
    if (status < 0)
        return hcb_fail(err, status, "what was taken in of it is damaged");
    status = hcb_config_check(&h->config, h->dir.config, err);
    if (status < 0)
        hcb_value_release(&h->config);
    return status;
}

static int resume_config(struct hotcb *h)
{
    struct hcb_err err;
    hcb_buf_reset(&h->config_text);
    hcb_buf_str(&h->config_text, hcb_map_text(&h->before, "config", ""));
    int status = h->config_text.oom ? HOTCB_ENOMEM : read_config(h, &err);
    if (status < 0) {
        hcb_buf_reset(&h->config_text);
        h->config_differs = h->config_partly = h->config_resumed = false;
    }
    if (status < 0 && status != HOTCB_ENOMEM)
        hcb_log(&h->log, HOTCB_WARN, NULL, "%s: hotcb.yaml as it was read before cannot be read "
                "any more, so all of it is applied anew: %s", h->dir.state, err.text);
    return status;
}

static int starve(struct hotcb *h)
{
    if (!h->starved)
        hcb_log(&h->log, HOTCB_WARN, NULL, "out of memory: what was there before is resumed, and "
                "what changed is taken in, later");
    h->starved = true;
    return 0;
}

/* What waits behind a callback follows it. */
static size_t count_ids(const struct hcb_value *list)
{
    const char *before = "";
    size_t n = 0;
    for (size_t i = 0; list && i < list->u.list.n; i++) {
        const char *id = hcb_map_text(&list->u.list.v[i], "id", "");
        n += strcmp(id, before) != 0;
        before = id;
    }
    return n;
}

/* Where there was a process before, that is not what was asked for. */
static int resume_nothing(struct hotcb *h)
{
    h->resume = false;
    if (h->ledger.seq > 0)
        hcb_log(&h->log, HOTCB_WARN, NULL, "nothing is resumed: %s is missing or damaged; what "
                "commands had changed is not done again", h->dir.state);
    return 0;
}

int hcb_resume(struct hotcb *h)
{
    const struct hcb_value *list = entries(h);
    size_t n = list ? list->u.list.n : 0, ids = count_ids(list);
    if (h->before.type != HCB_MAP)
        return resume_nothing(h);
    struct revived *all = revive_all(h, list, n);
    if (!all || resume_config(h) == HOTCB_ENOMEM) {
        release_all(all, n);
        return starve(h);
    }
    h->resume = h->starved = false;
    hcb_log(&h->log, HOTCB_INFO, NULL, "resuming run %s: %zu callback%s",
            hcb_map_text(&h->before, "run", "?"), ids, ids == 1 ? "" : "s");
    for (size_t i = 0; i < n; i++)
        resume_entry(h, &all[i]);
    release_all(all, n);
    hcb_value_release(&h->before);
    h->changed = h->state.due = true;
    return (int)n;
}
