/* A look: what changed in the run directory becomes ops, ops become effects, and what
 * came of them is published. */
#include "base/clock.h"
#include "base/platform.h"
#include "base/text.h"
#include "controller/run.h"
#include <stdlib.h>
#include <string.h>

#define STATUS_INTERVAL_NS 250000000
#define LOCK_INTERVAL_NS 250000000
#define ANSWERED_BYTES (4 << 20) /* of the ledger's end, looked through after a restart */
#define PENDING_BYTES (256 << 10) /* of lines that the ledger cannot take */
#define LINES_EACH 3              /* an op, and a stop and a disable that come of it */
#define WAIT_LOOKS 100            /* for memory to read a command */
#define HCB_NAME(path) (strrchr(path, '/') ? strrchr(path, '/') + 1 : (path))

static void apply_op(struct hotcb *h, struct hcb_op *op)
{
    struct hcb_outcome outcome;
    hcb_registry_apply(&h->registry, op, &outcome);
    hcb_record_last(h, op, &outcome);
}

/* ---- memory ---------------------------------------------------------------- */

/* What cannot be answered is not taken in; it stays where it is, for a later look. */
static bool can_answer(struct hotcb *h, size_t ops)
{
    bool can = hcb_ledger_room(&h->ledger, ops * LINES_EACH);
    if (!can && !h->starved)
        hcb_log(&h->log, HOTCB_WARN, NULL, "out of memory: what changed is taken in later");
    h->starved = !can;
    return can;
}

/* ---- scripts --------------------------------------------------------------- */

static void said(void *user, const struct hcb_op *op, const struct hcb_outcome *outcome)
{
    hcb_record(user, op, outcome);
}

static int look_scripts(struct hotcb *h)
{
    int n = 0;
    for (size_t i = 0; i < h->registry.n && can_answer(h, 2); i++)
        n += hcb_registry_check_files(&h->registry, i, said, h);
    return n;
}

/* ---- hotcb.yaml ------------------------------------------------------------ */

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

/* Makes entry[key] what it is in `before`, or takes it away; so it counts as new, too. */
static void put_back(struct hcb_value *entry, const struct hcb_value *before, const char *key)
{
    const struct hcb_value *old = hcb_map_get(before, key);
    if (!old || !hcb_map_set(entry, key, old))
        hcb_map_remove(entry, key);
}

/* A key whose change was refused counts as not read: the next file that says the same is
 * not taken for one that says nothing new. */
static void unread(struct hcb_value *after, const struct hcb_value *before,
                   const struct hcb_op *op)
{
    struct hcb_value *entry = hcb_map_get(after, op->id);
    const struct hcb_value *old = hcb_map_get(before, op->id);
    struct hcb_value *params = entry ? hcb_map_get(entry, "params") : NULL;
    if (entry && op->kind == HCB_OP_LIMITS)
        put_back(entry, old, "limits");
    if (params && params->type == HCB_MAP && op->kind == HCB_OP_SET)
        for (size_t i = 0; i < op->params.u.map.n; i++)
            put_back(params, hcb_map_get(old, "params"), op->params.u.map.p[i].key);
}

/* false: it is to be tried again, since memory ran out; that is recorded once. */
static bool apply_config_op(struct hotcb *h, struct hcb_value *after, const struct hcb_op *op)
{
    struct hcb_outcome out;
    hcb_registry_apply(&h->registry, op, &out);
    bool starved = !out.applied && out.err.code == HOTCB_ENOMEM;
    if (!starved || read_later(h))
        hcb_record(h, op, &out);
    if (starved && op->kind == HCB_OP_LOAD)
        put_back(after, &h->config, op->id);
    else if (!out.applied)
        unread(after, &h->config, op);
    return !starved;
}

/* The ops that lead from what was read to what is there now, and all that is needed so that
 * none of them is lost. */
static int prepare_config(struct hotcb *h, const struct hcb_value *after,
                          const struct hcb_buf *text, struct hcb_ops *ops, struct hcb_err *err)
{
    int status = hcb_config_diff(&h->config, after, h->config_dir, ops, err);
    if (status < 0)
        return status;
    bool room = hcb_buf_reserve(&h->config_text, text->len);
    h->config_text.oom = false;
    return room && can_answer(h, ops->n) ? 0 : hcb_fail_nomem(err);
}

static int apply_config(struct hotcb *h, struct hcb_value *after, const struct hcb_buf *text)
{
    struct hcb_ops ops = {0};
    struct hcb_err err;
    if (prepare_config(h, after, text, &ops, &err) < 0) {
        hcb_ops_release(&ops);
        hcb_value_release(after);
        return refuse_config(h, &err);
    }
    int n = (int)ops.n;
    forget_config_error(h);
    bool whole = true;
    for (size_t i = 0; i < ops.n; i++)
        whole = apply_config_op(h, after, &ops.v[i]) && whole;
    h->config_again = !whole;
    hcb_ops_release(&ops);
    hcb_value_release(&h->config);
    h->config = *after;
    hcb_buf_reset(&h->config_text);
    hcb_buf_add(&h->config_text, text->data, text->len);
    h->changed = true;
    return n;
}

static int take_config(struct hotcb *h, const struct hcb_buf *text)
{
    struct hcb_value after = {0};
    struct hcb_err err;
    const char *name = HCB_NAME(h->dir.config);
    if (hcb_config_parse(hcb_buf_text(text), text->len, name, &after, &err) < 0)
        return refuse_config(h, &err);
    if (after.type == HCB_NULL) {
        forget_config_error(h);
        h->config_again = false;
        hcb_log(&h->log, HOTCB_INFO, NULL, "%s is empty; what it said before still holds",
                h->dir.config);
        return 0;
    }
    return apply_config(h, &after, text);
}

static int look_config(struct hotcb *h, int64_t now_ns)
{
    struct hcb_err err;
    int event = hcb_watch_check(&h->config_watch, now_ns, &h->config_new, &err);
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

/* ---- commands -------------------------------------------------------------- */

/* Memory is missing to read the command that stands here: it waits, but not for ever, or
 * one that needs more than there is would hold up all others. */
static bool can_wait(struct hotcb *h, const struct hcb_line *line)
{
    if (h->waiting_at != line->offset)
        h->waited = 0;
    h->waiting_at = line->offset;
    return h->waited++ < WAIT_LOOKS;
}

/* false: it was not taken in, since memory ran out. */
static bool take_line(struct hotcb *h, const struct hcb_line *line)
{
    struct hcb_op op;
    struct hcb_outcome out = {0};
    struct hcb_err why;
    int status;
    if (!can_answer(h, 1))
        return false;
    hcb_op_init(&op);
    if (line->too_long)
        status = hcb_fail(&why, HOTCB_EFORMAT, "longer than %d KiB", HCB_LINE_BYTES >> 10);
    else
        status = hcb_op_parse(line->text, line->n, &op, &why);
    op.origin = HCB_FROM_COMMAND;
    op.offset = line->offset;
    op.line = line->number;
    if (status == 0)
        status = hcb_run_resolve(h, &op, &why);
    if (status == HOTCB_ENOMEM && can_wait(h, line)) {
        hcb_op_release(&op);
        return false;
    }
    if (status == 0 && hcb_names_have(&h->answered, op.cmd)) {
        h->repeated++;
    } else if (status == 0) {
        apply_op(h, &op);
    } else {
        hcb_fail(&out.err, why.code, "%s:%lld: %s", HCB_NAME(h->dir.commands),
                 (long long)line->number, why.text);
        hcb_record(h, &op, &out);
    }
    hcb_op_release(&op);
    return true;
}

/* The file is read from its beginning, and that must be known to a later process before
 * anything of it is taken in, or it would be taken in twice. Commands with an id that
 * the ledger has are not executed again: a file that was only edited repeats them. */
static bool restart_commands(struct hotcb *h)
{
    struct hcb_err err;
    bool news = !h->restarting;
    h->restarting = true;
    if (news)
        hcb_log_flush(&h->log); /* why, before anything tells that it was so */
    if (h->ledger.trouble || !hcb_state_write(h)) /* what is pending is answered, too */
        return false;
    hcb_names_release(&h->answered);
    if (hcb_ledger_commands(h->dir.ledger, ANSWERED_BYTES, &h->answered, &err) < 0) {
        if (news)
            hcb_log(&h->log, HOTCB_WARN, NULL, "%s; no command is taken in until it can be read",
                    err.text);
        return false;
    }
    h->restarting = false;
    return true;
}

static void say_repeated(struct hotcb *h)
{
    if (h->commands.more)
        return;
    if (h->repeated > 0)
        hcb_log(&h->log, HOTCB_INFO, NULL, "%lld commands in it were answered before and are not "
                "executed again", (long long)h->repeated);
    h->repeated = 0;
    hcb_names_release(&h->answered);
}

/* Who writes by hand may forget the newline, and would wait for ever. */
static void say_unfinished(struct hotcb *h, int64_t now_ns)
{
    const struct hcb_commands *c = &h->commands;
    if (c->more || c->skipping || c->sig.size <= c->place.offset || now_ns < c->settle_until_ns ||
        h->unfinished == c->sig.size)
        return;
    h->unfinished = c->sig.size;
    hcb_log(&h->log, HOTCB_WARN, NULL, "the last line of %s has no newline: it counts once it has "
            "one", h->dir.commands);
}

static int look_commands(struct hotcb *h, int64_t now_ns)
{
    struct hcb_err err;
    struct hcb_line line;
    int n = 0;
    if (h->ledger.trouble && h->ledger.pending.len > PENDING_BYTES)
        return 0; /* what cannot be answered waits in its file */
    if (h->restarting && !restart_commands(h))
        return 0;
    int event = hcb_commands_begin(&h->commands, &err);
    if (event == HCB_COMMANDS_RESTARTED) {
        hcb_log(&h->log, HOTCB_WARN, NULL, "%s", err.text);
        if (!restart_commands(h))
            return 0;
        event = hcb_commands_begin(&h->commands, &err);
    }
    if (event < 0)
        hcb_log(&h->log, HOTCB_WARN, NULL, "%s", err.text);
    if (event != HCB_COMMANDS_NEW) {
        say_unfinished(h, now_ns);
        return 0;
    }
    for (; hcb_commands_next(&h->commands, &line); n++)
        if (!take_line(h, &line)) {
            hcb_commands_put_back(&h->commands, &line);
            break;
        }
    say_repeated(h);
    return n;
}

/* ---- the directory itself -------------------------------------------------- */

static bool is_ours(const struct hotcb *h, const struct hcb_sig *now)
{
    return now->exists && now->dev == h->dir_sig.dev && now->ino == h->dir_sig.ino;
}

/* A file of ours that somebody removed or replaced would be written to unseen. */
static void check_ledger(struct hotcb *h)
{
    if (h->ledger.fd >= 0 && !hcb_file_is_at(h->ledger.fd, h->dir.ledger))
        hcb_ledger_reopen(&h->ledger);
}

static void check_spools(struct hotcb *h)
{
    if (h->log.to_file && !hcb_file_is_at(h->log.spool.fd, h->dir.log))
        hcb_spool_reopen(&h->log.spool);
    hcb_lines_check(&h->metrics);
    hcb_lines_check(&h->media);
}

/* Until come_back() says otherwise. */
static void lose(struct hotcb *h)
{
    h->lost = true;
    if (h->log.to_file)
        hcb_spool_hold(&h->log.spool);
    hcb_lines_hold(&h->metrics);
    hcb_lines_hold(&h->media);
}

/* A directory of that name is there again: our files in it are new. */
static void come_back(struct hotcb *h, const struct hcb_sig *sig)
{
    struct hcb_err err;
    if (hcb_run_lock(h, &err) < 0)
        return; /* somebody else's, or not yet whole: tried again at the next look */
    hcb_file_touch(h->dir.commands, "", &err);
    check_ledger(h);
    check_spools(h);
    h->dir_sig = *sig;
    h->lost = false;
    h->changed = true;
    hcb_log(&h->log, HOTCB_WARN, NULL, "%s is there again: looking and writing go on", h->dir.dir);
}

/* The lock can be lost without a word, see lock.h. */
static bool lock_is_held(struct hotcb *h, int64_t now_ns)
{
    struct hcb_err err;
    if (h->lost || now_ns - h->last_lock_ns < LOCK_INTERVAL_NS)
        return !h->lost;
    h->last_lock_ns = now_ns;
    if (hcb_run_lock(h, &err) == 0)
        return true;
    lose(h);
    hcb_log(&h->log, HOTCB_ERROR, NULL, "%s; training and callbacks go on, nothing is read or "
            "written until it is free", err.text);
    return false;
}

/* One stat a look tells a directory that was deleted, or deleted and made anew. */
static bool directory_is_there(struct hotcb *h)
{
    struct hcb_sig sig;
    hcb_sig_get(h->dir.dir, &sig);
    if (is_ours(h, &sig) && !h->lost)
        return true;
    if (!h->lost)
        hcb_log(&h->log, HOTCB_WARN, NULL, "the run directory %s is gone; training and callbacks "
                "go on, nothing is read or written until it is there again", h->dir.dir);
    lose(h);
    if (sig.exists)
        come_back(h, &sig);
    return !h->lost;
}

/* ---- a look ---------------------------------------------------------------- */

bool hcb_ask_is_child(struct hotcb *h)
{
    if (hcb_platform_process() == h->process)
        return false;
    h->open = false;
    hcb_fail(&h->err, HOTCB_EINVAL, "a forked child applies nothing; its parent owns the run");
    return true;
}

void hcb_publish(struct hotcb *h)
{
    struct hcb_err err;
    bool was = h->ledger.trouble;
    h->changed = false;
    h->planned = 0;
    if (h->lost || hcb_is_child(h))
        return;
    hcb_status_write(h, "running");
    check_ledger(h);
    if (hcb_ledger_flush(&h->ledger, &err) < 0) {
        if (!was)
            hcb_log(&h->log, HOTCB_WARN, NULL, "%s; it is tried again at each look", err.text);
        return;
    }
    hcb_state_write(h);
}

static void beat(struct hotcb *h, int64_t now_ns)
{
    if (now_ns - h->last_status_ns < STATUS_INTERVAL_NS)
        return;
    check_spools(h);
    hcb_status_write(h, "running");
}

int hcb_look(struct hotcb *h)
{
    int64_t begin = hcb_clock_ns();
    int n = 0;
    h->looks++;
    h->planned = 0;
    if (directory_is_there(h) && lock_is_held(h, begin)) {
        h->registry.world.now_ns = begin;
        hcb_log_gather(&h->log);
        if (h->resume)
            n += hcb_resume(h);
        if (!h->resume) {
            n += look_scripts(h);
            n += look_config(h, begin);
            n += look_commands(h, begin);
        }
        hcb_log_flush(&h->log); /* before anything else tells of what it says */
        if (h->changed || h->ledger.trouble)
            hcb_publish(h);
        else
            beat(h, begin);
    }
    h->apply_ns += hcb_clock_ns() - begin;
    return n;
}
