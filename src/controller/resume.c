/* A run goes on where an earlier process left it: callbacks, parameters, counters and
 * what save() gave at the last checkpoint, from hotcb.state.json. Then YAML keys that
 * have changed since, then new commands, as at any look. */
#include "base/json.h"
#include "base/text.h"
#include "controller/exact.h"
#include "controller/run.h"
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
static bool read_part(const struct hcb_value *entry, const char *key, struct hcb_value *out)
{
    const char *text = hcb_map_text(entry, key, NULL);
    struct hcb_value json = {0};
    if (!text)
        return true;
    bool ok = hcb_json_parse(text, strlen(text), &json, NULL) == 0 && hcb_exact_read(&json, out);
    hcb_value_release(&json);
    return ok;
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
    op->id = hcb_strdup(id);
    op->target.kind = strcmp(hcb_map_text(target, "kind", ""), "module") == 0 ? HCB_TARGET_MODULE
                                                                           : HCB_TARGET_FILE;
    op->target.path = hcb_strdup(hcb_map_text(target, "path", ""));
    op->target.symbol = hcb_strdup(hcb_map_text(target, "symbol", NULL));
    if (!op->id || !op->target.path || !read_part(entry, "init", &op->init) ||
        !read_part(entry, "params", &op->params) || !read_part(entry, "limits", &op->limits))
        return hcb_fail(err, HOTCB_EFORMAT, "its entry in hotcb.state.json cannot be read");
    return 0;
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
static void inherit(struct hcb_callback *cb, const struct hcb_value *entry,
                    struct hcb_log *log)
{
    cb->origin = origin_of(entry);
    cb->resumed = true;
    cb->calls = hcb_map_int(entry, "calls", 0);
    cb->failed_calls = hcb_map_int(entry, "failures", 0);
    if (!read_part(entry, "saved", &cb->saved))
        hcb_log(log, HOTCB_WARN, cb->id, "what save() gave cannot be read any more");
}

static void resume_entry(struct hotcb *h, const struct hcb_value *entry)
{
    struct hcb_op op;
    struct hcb_outcome out = {0};
    hcb_op_init(&op);
    if (read_entry(entry, &op, &out.err) == 0) {
        struct hcb_callback *cb = hcb_callback_new(&op, &h->registry.world, &out.err);
        if (cb) {
            inherit(cb, entry, &h->log);
            hcb_registry_adopt(&h->registry, cb, &out);
        }
    }
    hcb_record(h, &op, &out);
    hcb_op_release(&op);
}

/* Values lose their spelling in JSON, so the text is what was kept. */
static void resume_config(struct hotcb *h)
{
    const char *text = hcb_map_text(&h->before, "config", "");
    struct hcb_err err;
    if (hcb_config_parse(text, strlen(text), h->dir.config, &h->config, &err) < 0)
        hcb_log(&h->log, HOTCB_WARN, NULL, "%s: hotcb.yaml as it was read before cannot be read "
                "any more, so all of it is applied anew: %s", h->dir.state, err.text);
    else
        hcb_buf_str(&h->config_text, text);
}

int hcb_resume(struct hotcb *h)
{
    const struct hcb_value *list = entries(h);
    int n = list ? (int)list->u.list.n : 0;
    h->resume = false;
    if (h->before.type != HCB_MAP)
        return 0;
    hcb_log(&h->log, HOTCB_INFO, NULL, "resuming run %s: %d callback%s",
            hcb_map_text(&h->before, "run", "?"), n, n == 1 ? "" : "s");
    resume_config(h);
    for (int i = 0; i < n; i++)
        resume_entry(h, &list->u.list.v[i]);
    hcb_value_release(&h->before);
    h->changed = true;
    return n;
}
