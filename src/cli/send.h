/* A command on its way: into the command file, and back as a line of the ledger. */
#ifndef HCB_CLI_SEND_H
#define HCB_CLI_SEND_H

#include "cli/run_view.h"

/* What became of a command, as --json prints it. */
struct cli_decision {
    const char *decision;         /* applied, rejected, queued, unanswered */
    const struct hcb_value *step; /* or NULL */
    const char *cmd;              /* the command's own id, or NULL: it was not sent */
    const char *error;            /* a sentence, or NULL */
};

/* Prints it, with the op and id of the command line. */
void cli_put_decision(struct cli *cli, const struct cli_decision *decision);

struct cli_request {
    struct hcb_buf json; /* the command, but for what sending adds and its last '}' */
    const char *label;   /* how the answer calls it: "set guard max_loss=20" */
    const char *applied; /* what follows "applied at step 12", or NULL */
    const char *hint;    /* what to type after a refusal: a command without "hotcb", or NULL */
};

/* Sends it, waits if a run lives, and says what became of it. Returns the exit code. */
int cli_send(struct cli *cli, struct cli_run *run, struct cli_request *request);

#endif
