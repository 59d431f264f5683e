/* One line of a command file: read as an op, and answered in a ledger. */
#include "checks.h"

#include "base/json.h"
#include "base/text.h"
#include "control/ledger.h"

#include <string.h>

/* What the ledger says of a line is JSON, whatever the line was, and names the command
 * wherever it could be read. */
static void answer(const struct hcb_op *op, const struct hcb_err *err)
{
    struct hcb_ledger ledger = {.fd = -1};
    struct hcb_value said = {0};
    struct hcb_moment now;
    hcb_clock_now(&now);
    struct hcb_verdict verdict = {.op = op, .at = &now, .run = "run", .applied = !*err->text,
                                  .error = *err->text ? err->text : NULL};
    hcb_ledger_add(&ledger, &verdict);
    MUST(ledger.lost == 0 && ledger.pending_lines == 1);
    fuzz_must_be_json(ledger.pending.data, ledger.pending.len, &said);
    MUST(hcb_streq(hcb_map_text(&said, "id", NULL), op->id));
    MUST(hcb_streq(hcb_map_text(&said, "cmd", NULL), op->cmd));
    hcb_value_release(&said);
    hcb_ledger_close(&ledger);
}

static void check_op(const struct hcb_op *op)
{
    bool load = op->kind == HCB_OP_LOAD;
    MUST(op->kind < HCB_OP_CONFIG && hcb_id_check(op->id, strlen(op->id), NULL) == 0);
    MUST(load ? *op->target.path != '\0' : !op->target.path && op->init.type == HCB_NULL);
    MUST(load || op->kind == HCB_OP_SET || op->params.type == HCB_NULL);
    MUST(load || op->kind == HCB_OP_LIMITS || op->limits.type == HCB_NULL);
    fuzz_must_be_sound(&op->init, true);
    fuzz_must_be_sound(&op->params, true);
    fuzz_must_be_sound(&op->limits, true);
}

void fuzz_check_command(const char *line, size_t n)
{
    struct hcb_op op;
    struct hcb_err err = {0};
    int rc = hcb_op_parse(line, n, &op, &err);
    if (rc == 0)
        check_op(&op);
    else
        fuzz_must_explain(rc, &err);
    answer(&op, &err);
    hcb_op_release(&op);
}
