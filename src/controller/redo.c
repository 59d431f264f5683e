/* Commands whose effect died with a process that had answered them, see struct hcb_redo: they
 * stand in the ledger already, and are taken from the command file once more. hotcb.yaml comes
 * before them as in any look, and as it did in the look in which that process died. */
#include "controller/run.h"

/* What was done before the place is in the state. */
int hcb_redo_plan(struct hotcb *h, int64_t from, int64_t to, struct hcb_err *err)
{
    h->redo = (struct hcb_redo){.pending = true, .from = from, .to = to};
    struct hcb_offsets *applied = &h->redo.applied;
    int status = hcb_ledger_applied(&h->ledger, from, applied, err);
    size_t known = 0;
    while (known < applied->n && applied->v[known] < h->commands.place.offset)
        known++;
    if (known > 0)
        memmove(applied->v, applied->v + known, (applied->n - known) * sizeof *applied->v);
    applied->n -= known;
    return status;
}

static void end_redo(struct hotcb *h)
{
    if (h->redo.at > 0)
        hcb_log(&h->log, HOTCB_INFO, NULL, "%zu earlier command%s which the process before this "
                "one had not saved the effect of: done again", h->redo.at,
                h->redo.at == 1 ? "" : "s");
    h->redo.pending = false;
    hcb_offsets_release(&h->redo.applied);
    h->changed = true;
}

/* It did so once, so that it can be read; only its files may be others now. */
static int do_again(struct hotcb *h, const struct hcb_line *line)
{
    struct hcb_op op;
    struct hcb_outcome out = {0};
    int status = hcb_op_parse(line->text, line->n, &op, &out.err);
    op.origin = HCB_FROM_COMMAND;
    if (status == 0)
        status = hcb_run_resolve(h, &op, &out.err);
    if (status == 0)
        hcb_registry_apply(&h->registry, &op, &out);
    if (status != HOTCB_ENOMEM && !out.applied)
        hcb_log(&h->log, HOTCB_WARN, NULL, "%s:%lld cannot be done again: %s",
                HCB_NAME(h->dir.commands), (long long)line->number, out.err.text);
    hcb_op_release(&op);
    return status == HOTCB_ENOMEM ? status : 0;
}

static void starve(struct hotcb *h)
{
    if (!h->starved)
        hcb_log(&h->log, HOTCB_WARN, NULL, "out of memory: earlier commands are done again, and "
                "new ones taken in, later");
    h->starved = true;
}

/* false: there was no memory for it. */
static bool take_line(struct hotcb *h, const struct hcb_line *line)
{
    struct hcb_redo *redo = &h->redo;
    if (redo->at < redo->applied.n && redo->applied.v[redo->at] == line->offset) {
        if (do_again(h, line) < 0) {
            starve(h);
            return false;
        }
        redo->at++;
    }
    if (line->offset >= redo->to)
        end_redo(h);
    return true;
}

/* As many as are read at once. false: nothing has come of it. */
static bool take_lines(struct hotcb *h)
{
    int64_t before = h->commands.place.offset;
    struct hcb_line line;
    while (hcb_commands_next(&h->commands, &line))
        if (!h->redo.pending || !take_line(h, &line)) {
            hcb_commands_put_back(&h->commands, &line);
            break;
        }
    return h->commands.place.offset > before;
}

/* Whether the lines that were there when this process began are not there any more. */
static bool is_other_file(const struct hcb_commands *c, int event)
{
    bool nothing = event == HCB_COMMANDS_NOTHING && !c->skipping && c->said.code == 0;
    return nothing || event == HCB_COMMANDS_RESTARTED;
}

bool hcb_redo(struct hotcb *h)
{
    struct hcb_err err;
    bool goes_on = true;
    while (h->redo.pending && goes_on) {
        int event = hcb_commands_begin(&h->commands, &err);
        if (event < 0 || event == HCB_COMMANDS_RESTARTED)
            hcb_log(&h->log, HOTCB_WARN, NULL, "%s", err.text);
        if (is_other_file(&h->commands, event)) {
            h->restarting = true;
            end_redo(h);
        }
        goes_on = event == HCB_COMMANDS_NEW && take_lines(h);
    }
    return !h->redo.pending;
}
