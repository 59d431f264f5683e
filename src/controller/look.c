/* A look: what changed in the run directory becomes ops, ops become effects, and what
 * came of them is published. */
#include "base/clock.h"
#include "base/platform.h"
#include "base/text.h"
#include "controller/run.h"
#include <stdlib.h>
#include <string.h>

#define LOCK_INTERVAL_NS 250000000
#define ANSWERED_BYTES (4 << 20) /* of the ledger's end, looked through after a restart */
#define PENDING_BYTES (256 << 10) /* of lines that the ledger cannot take */
#define LINES_EACH 3              /* an op, and a stop and a disable that come of it */
#define WAIT_LOOKS 100            /* for memory to read a command */
#define BY_STAT_INTERVAL_NS INT64_C(1000000000)

static void apply_op(struct hotcb *h, struct hcb_op *op)
{
    struct hcb_outcome outcome;
    hcb_registry_apply(&h->registry, op, &outcome);
    hcb_record_last(h, op, &outcome);
}

/* ---- how much -------------------------------------------------------------- */

bool hcb_may_take(struct hotcb *h, int taken, int loads_left)
{
    const struct hcb_world *w = &h->registry.world;
    if (h->starting || taken == 0)
        return true;
    return taken < HOTCB_LOOK_OPS && w->loads > loads_left && w->glance.bytes > 0;
}

bool hcb_can_answer(struct hotcb *h, size_t ops)
{
    bool can = hcb_ledger_room(&h->ledger, ops * LINES_EACH);
    if (!can && !h->starved)
        hcb_log(&h->log, HOTCB_WARN, NULL, "out of memory: what changed is taken in later");
    h->starved = !can;
    return can;
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
    if (!hcb_can_answer(h, 1))
        return false;
    hcb_op_init(&op);
    if (line->too_long) {
        h->long_from = h->ledger.bytes;
        status = hcb_fail(&why, HOTCB_EFORMAT, "longer than %d KiB", HCB_LINE_BYTES >> 10);
    } else {
        status = hcb_op_parse(line->text, line->n, &op, &why);
    }
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
    if (h->repeated > 0)
        h->changed = true; /* no line of the ledger says how far it has come */
    if (h->commands.more)
        return;
    if (h->repeated > 0)
        hcb_log(&h->log, HOTCB_INFO, NULL, "%lld commands in it were answered before and are not "
                "executed again", (long long)h->repeated);
    h->repeated = 0;
}

/* Once the file stays as it is: one that is written anew in place comes in pieces. */
static void forget_answered(struct hotcb *h, int64_t now_ns)
{
    const struct hcb_commands *c = &h->commands;
    if (h->answered.n == 0 || c->more || c->place.offset == 0 || now_ns < c->settle_until_ns)
        return;
    hcb_names_release(&h->answered);
    h->changed = true;
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

/* Whether the file need not be looked at. What was told of it is so, though stat may see none
 * of it. */
static bool are_quiet(struct hotcb *h, int64_t now_ns)
{
    struct hcb_commands *c = &h->commands;
    struct hcb_noticed *noticed = &h->commands_noticed;
    bool news = hcb_noticed_news(noticed);
    if (hcb_noticed_quiet(noticed) && c->sig.exists && !h->by_stat && !c->more)
        return true;
    if (news || h->by_stat)
        hcb_noticed_look(noticed, h->notice, c->path);
    if (news && c->settle_until_ns <= now_ns)
        c->settle_until_ns = now_ns + 1;
    return false;
}

static int look_commands(struct hotcb *h, int64_t now_ns)
{
    struct hcb_err err;
    struct hcb_line line;
    int n = 0;
    if (!hcb_redo(h))
        return 0;
    bool again = h->restarting;
    if (h->ledger.trouble && h->ledger.pending.len > PENDING_BYTES)
        return 0; /* what cannot be answered waits in its file */
    if (h->restarting && !restart_commands(h))
        return 0;
    if (are_quiet(h, now_ns) && !again) {
        say_unfinished(h, now_ns);
        return 0;
    }
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
        if (!hcb_may_take(h, n, 0) || !take_line(h, &line)) {
            hcb_commands_put_back(&h->commands, &line);
            break;
        }
    h->more |= h->commands.more && n > 0;
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
    h->restarting |= h->commands.place.offset == 0; /* a file that is read from its beginning */
    h->changed = true;
    hcb_log(&h->log, HOTCB_WARN, NULL, "%s%s: looking and writing go on",
            h->locked_out ? h->dir.lock : h->dir.dir,
            h->locked_out ? " is held again" : " is there again");
    h->locked_out = false;
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
    h->locked_out = true;
    hcb_log(&h->log, HOTCB_ERROR, NULL, "%s; training and callbacks go on, nothing is read or "
            "written until it is free", err.text);
    return false;
}

/* One stat a look tells a directory that was deleted, or deleted and made anew; or the notice
 * does. */
static bool directory_is_there(struct hotcb *h)
{
    struct hcb_sig sig;
    if (!h->lost && !h->by_stat && hcb_noticed_quiet(&h->here))
        return true;
    hcb_noticed_look(&h->here, h->notice, h->dir.lock);
    hcb_sig_get(h->dir.dir, &sig);
    if (is_ours(h, &sig) && !h->lost)
        return true;
    if (!h->lost)
        hcb_log(&h->log, HOTCB_WARN, NULL, "the run directory %s is gone; training and callbacks "
                "go on, nothing is read or written until it is there again", h->dir.dir);
    lose(h);
    h->locked_out = h->locked_out && is_ours(h, &sig);
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
    h->rounds.count = 0; /* there may be other files to look at */
    if (h->lost || hcb_is_child(h))
        return;
    hcb_status_write(h, "running");
    check_ledger(h);
    if (hcb_ledger_flush(&h->ledger, &err) < 0) {
        if (!was)
            hcb_log(&h->log, HOTCB_WARN, NULL, "%s; it is tried again at each look", err.text);
        return;
    }
    hcb_state_save(h);
}

/* A host may give thousands of commands at once, and each makes status and state longer: they
 * are recorded together once that has taken many bytes. */
void hcb_publish_command(struct hotcb *h)
{
    int64_t now_ns = hcb_clock_ns(), before = h->written;
    double credit = h->command_credit + (double)(now_ns - h->credit_ns) / 1e9 * HOTCB_BEAT_BYTES;
    h->command_credit = credit < HOTCB_COMMAND_BYTES ? credit : HOTCB_COMMAND_BYTES;
    h->credit_ns = now_ns;
    if (h->command_credit <= 0 && h->ledger.pending.len < PENDING_BYTES)
        return; /* h->changed has the next look or dispatch do it */
    hcb_publish(h);
    h->command_credit -= (double)(h->written - before);
}

static void beat(struct hotcb *h, int64_t now_ns)
{
    if (now_ns < h->next_beat_ns)
        return;
    check_spools(h);
    hcb_status_write(h, "running");
}

/* What this look may do. The first one takes in all that there is: hosts count on it that what
 * hotcb.yaml wants, or what is resumed, runs from the first apply on. */
static void begin_look(struct hotcb *h, int64_t now_ns)
{
    struct hcb_world *w = &h->registry.world;
    h->looks++;
    h->planned = 0;
    h->more = false;
    h->starting = h->looks == 1 || h->resume;
    h->by_stat = h->looks == 1 || now_ns - h->by_stat_ns >= BY_STAT_INTERVAL_NS;
    if (h->by_stat)
        h->by_stat_ns = now_ns;
    w->loads = h->starting ? INT32_MAX : HOTCB_LOOK_LOADS;
    w->glance = (struct hcb_glance){.notice = h->notice, .now_ns = now_ns,
                                    .bytes = h->starting ? INT64_MAX : HOTCB_LOOK_BYTES};
    hcb_notice_read(h->notice, now_ns);
}

/* In this order. Where there are more scripts than one look takes in, the rest waits for them. */
static int take_in(struct hotcb *h, int64_t now_ns)
{
    int n = h->resume ? hcb_resume(h) : 0;
    if (h->resume)
        return n;
    n += hcb_look_scripts(h);
    if (h->rounds.cut)
        return n;
    n += hcb_look_config(h);
    forget_answered(h, now_ns);
    return h->taking.pending ? n : n + look_commands(h, now_ns);
}

int hcb_look(struct hotcb *h)
{
    int64_t begin = hcb_clock_ns();
    int n = 0;
    begin_look(h, begin);
    if (directory_is_there(h) && lock_is_held(h, begin)) {
        hcb_log_gather(&h->log);
        n = take_in(h, begin);
        hcb_log_flush(&h->log); /* before anything else tells of what it says */
        if (h->changed || h->ledger.trouble)
            hcb_publish(h);
        else
            beat(h, begin);
    }
    if (h->more) { /* the next apply looks, whatever count and clock say */
        h->applies_to_look = 0;
        h->last_look_ns = HCB_NEVER_NS;
    }
    h->apply_ns += hcb_clock_ns() - begin;
    return n;
}
