/* A look at hotcb.yaml: what changed in it becomes ops, of which one look carries out a part.
 * What the next file is compared with is what was carried out of this one. */
#include "base/text.h"
#include "controller/run.h"
#include <stdlib.h>
#include <string.h>

/* ---- what goes wrong ------------------------------------------------------- */

/* What memory was missing for is read again at the next look. false: it was before, too,
 * and that was said. */
static bool read_later(struct hotcb *h)
{
    bool news = !h->config_again;
    h->config_again = true;
    hcb_watch_again(&h->config_watch);
    return news;
}

/* A file that is no configuration is said once, in the log, the ledger and, while it
 * lasts, the status. Returns how many ops that was. */
static int refuse_config(struct hotcb *h, const struct hcb_err *err)
{
    struct hcb_op op;
    struct hcb_outcome out = {.err = *err};
    if (err->code != HOTCB_ENOMEM)
        h->config_again = false;
    else if (!read_later(h))
        return 0;
    hcb_op_init(&op);
    op.kind = HCB_OP_CONFIG;
    op.origin = HCB_FROM_YAML;
    free(h->config_error);
    h->config_error = hcb_strdup(err->text);
    hcb_record(h, &op, &out);
    return 1;
}

static void forget_config_error(struct hotcb *h)
{
    if (h->config_error)
        h->changed = true;
    free(h->config_error);
    h->config_error = NULL;
}

/* Makes entry[key] what it is in `before`, or takes it away; so it counts as new, too. false:
 * there is no memory for that. */
static bool put_back(struct hcb_value *entry, const struct hcb_value *before, const char *key)
{
    const struct hcb_value *old = hcb_map_get(before, key);
    if (old)
        return hcb_map_set(entry, key, old);
    hcb_map_remove(entry, key);
    return true;
}

/* Those of an entry, which may have lost the last of them. NULL: there is no memory. */
static struct hcb_value *params_of(struct hcb_value *entry)
{
    struct hcb_value *params = hcb_map_get(entry, "params");
    if (params && params->type == HCB_MAP)
        return params;
    params = hcb_map_put(entry, "params");
    if (params)
        hcb_value_map(params);
    return params;
}

/* A key whose change was refused counts as not read: the next file that says the same is
 * not taken for one that says nothing new. false: there is no memory for that. */
static bool unread(struct hcb_value *after, const struct hcb_value *before,
                   const struct hcb_op *op)
{
    struct hcb_value *entry = hcb_map_get(after, op->id);
    const struct hcb_value *old = hcb_map_get(before, op->id);
    struct hcb_value *params = entry && op->kind == HCB_OP_SET ? params_of(entry) : NULL;
    bool ok = !entry || op->kind != HCB_OP_SET || params;
    if (entry && op->kind == HCB_OP_LIMITS)
        ok = put_back(entry, old, "limits");
    for (size_t i = 0; params && ok && i < op->params.u.map.n; i++)
        ok = put_back(params, hcb_map_get(old, "params"), op->params.u.map.p[i].key);
    return ok;
}

/* What came of one op of a file. */
enum step { STEP_DONE, STEP_LATER, STEP_STUCK };

/* LATER: it is to be tried again with the file, since memory ran out; that is recorded once.
 * STUCK: not even that can be noted, so that it has to be tried again before all others. */
static enum step apply_config_op(struct hotcb *h, struct hcb_value *after, const struct hcb_op *op)
{
    struct hcb_outcome out;
    bool noted = true;
    hcb_registry_apply(&h->registry, op, &out);
    bool starved = !out.applied && out.err.code == HOTCB_ENOMEM;
    h->taking.differs |= !out.applied;
    if (!starved || read_later(h))
        hcb_record(h, op, &out);
    if (starved && op->kind == HCB_OP_LOAD) {
        if (!put_back(after, &h->config, op->id))
            hcb_map_remove(after, op->id);
    } else if (!out.applied && (!out.wanted || starved)) {
        noted = unread(after, &h->config, op);
    }
    return !noted ? STEP_STUCK : starved ? STEP_LATER : STEP_DONE;
}

/* ---- taking in ------------------------------------------------------------- */

void hcb_config_taking_release(struct hcb_config_taking *t)
{
    hcb_value_release(&t->after);
    hcb_buf_release(&t->text);
    hcb_ops_release(&t->ops);
    memset(t, 0, sizeof *t);
}

/* In `config`, makes entry[key] what it is in `after`. */
static bool bring(struct hcb_value *config, const struct hcb_value *after, const char *id,
                  const char *key)
{
    struct hcb_value *entry = hcb_map_get(config, id);
    const struct hcb_value *new = hcb_map_get(hcb_map_get(after, id), key);
    if (entry && !new)
        hcb_map_remove(entry, key);
    return !entry || !new || hcb_map_set(entry, key, new);
}

/* Makes `config` what it is after an op of those that lead to `after`. */
static bool bring_op(struct hcb_value *config, const struct hcb_value *after,
                     const struct hcb_op *op)
{
    const struct hcb_value *entry = hcb_map_get(after, op->id);
    if (!entry) {
        hcb_map_remove(config, op->id);
        return true;
    }
    switch (op->kind) {
    case HCB_OP_LOAD: return hcb_map_set(config, op->id, entry);
    case HCB_OP_LIMITS: return bring(config, after, op->id, "limits");
    case HCB_OP_SET: return bring(config, after, op->id, "params");
    default: return bring(config, after, op->id, "enabled");
    }
}

bool hcb_config_carried(const struct hotcb *h, struct hcb_value *out)
{
    const struct hcb_config_taking *t = &h->taking;
    bool ok = hcb_value_copy(out, &h->config);
    if (ok && t->done > 0 && out->type == HCB_NULL)
        hcb_value_map(out);
    for (size_t i = 0; ok && i < t->done; i++)
        ok = bring_op(out, &t->after, &t->ops.v[i]);
    if (!ok)
        hcb_value_release(out);
    return ok;
}

/* h->config becomes all that was carried out, and the rest is forgotten. false: there is no
 * memory, and nothing has changed. */
static bool settle_taken(struct hotcb *h)
{
    struct hcb_value config = {0};
    if (!hcb_config_carried(h, &config))
        return false;
    h->config_partly |= h->taking.done > 0;
    hcb_value_release(&h->config);
    h->config = config;
    h->state.due = true;
    hcb_config_taking_release(&h->taking);
    return true;
}

/* The ops that lead from what was carried out to what is there now, and all that is needed so
 * that none of them is lost. Takes over `after` where it succeeds. */
static int begin_taking(struct hotcb *h, struct hcb_value *after, const struct hcb_buf *text,
                        struct hcb_err *err)
{
    struct hcb_config_taking next = {.whole = true};
    hcb_buf_add(&next.text, text->data, text->len);
    bool settled = !next.text.oom && (!h->taking.pending || settle_taken(h));
    int status = settled ? hcb_config_diff(&h->config, after, h->config_dir, &next.ops, err)
                         : hcb_fail_nomem(err);
    if (status < 0) {
        hcb_config_taking_release(&next);
        return status;
    }
    next.pending = true;
    next.after = *after;
    h->taking = next;
    return 0;
}

static void end_taking(struct hotcb *h)
{
    struct hcb_config_taking *t = &h->taking;
    struct hcb_value before = h->config;
    struct hcb_buf text = h->config_text;
    h->config_again = !t->whole;
    h->config_partly = false;
    h->config_differs = t->differs;
    h->config = t->after;
    h->config_text = t->text;
    t->after = before;
    t->text = text;
    hcb_config_taking_release(t);
    h->changed = h->state.due = true;
}

static int go_on(struct hotcb *h)
{
    struct hcb_config_taking *t = &h->taking;
    enum step step = STEP_DONE;
    int n = 0;
    for (; t->done < t->ops.n && hcb_may_take(h, n, 1) && hcb_can_answer(h, 1); t->done++, n++) {
        step = apply_config_op(h, &t->after, &t->ops.v[t->done]);
        if (step == STEP_STUCK)
            break;
        t->whole = t->whole && step == STEP_DONE;
    }
    h->state.due |= n > 0;
    if (t->done == t->ops.n)
        end_taking(h);
    else
        h->more |= !h->starved && step != STEP_STUCK;
    return n;
}

/* ---- the file -------------------------------------------------------------- */

/* The first file after a resume, and the one that was read before: what was refused then is
 * tried again once it is saved, as by a process that goes on. */
static bool is_resumed(struct hotcb *h, const struct hcb_buf *text)
{
    bool first = h->config_resumed;
    h->config_resumed = false;
    return first && text->len == h->config_text.len &&
           memcmp(hcb_buf_text(text), hcb_buf_text(&h->config_text), text->len) == 0;
}

static int take_config(struct hotcb *h, const struct hcb_buf *text)
{
    struct hcb_value after = {0};
    struct hcb_err err;
    const char *name = HCB_NAME(h->dir.config);
    if (is_resumed(h, text))
        return 0;
    if (hcb_config_parse(hcb_buf_text(text), text->len, name, &after, &err) < 0)
        return refuse_config(h, &err);
    if (after.type == HCB_NULL) {
        forget_config_error(h);
        h->config_again = false;
        hcb_log(&h->log, HOTCB_INFO, NULL, "%s is empty; what it said before still holds",
                h->dir.config);
        return 0;
    }
    if (begin_taking(h, &after, text, &err) < 0) {
        hcb_value_release(&after);
        return refuse_config(h, &err);
    }
    forget_config_error(h);
    return 0;
}

static int check(struct hotcb *h, struct hcb_err *err)
{
    struct hcb_glance glance = h->registry.world.glance;
    glance.bytes = 1; /* it is read whole, whatever else was read */
    glance.by_stat = h->by_stat;
    glance.again = h->config_again_bytes = hcb_again_more(h->config_again_bytes);
    int event = hcb_watch_check(&h->config_watch, &glance, &h->config_new, err);
    h->config_again_bytes = glance.again;
    return event;
}

static int look_file(struct hotcb *h)
{
    struct hcb_err err;
    int event = check(h, &err);
    if (event < 0 || event == HCB_WATCH_GONE)
        h->config_watch.known = false; /* once it can be read, it is, whatever is in it */
    if (event < 0)
        return refuse_config(h, &err);
    if (event == HCB_WATCH_GONE)
        forget_config_error(h);
    if (event == HCB_WATCH_GONE && h->config.type != HCB_NULL)
        hcb_log(&h->log, HOTCB_INFO, NULL, "%s is gone; what it said before still holds",
                h->dir.config);
    return event == HCB_WATCH_CHANGED ? take_config(h, &h->config_new) : 0;
}

int hcb_look_config(struct hotcb *h)
{
    int n = look_file(h);
    return h->taking.pending ? n + go_on(h) : n;
}
