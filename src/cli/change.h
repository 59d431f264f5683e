/* What the commands that change something have in common. */
#ifndef HCB_CLI_CHANGE_H
#define HCB_CLI_CHANGE_H

#include "cli/send.h"

/* Opens the run directory and checks the id. Returns 0, or the exit code. */
int cli_change_open(struct cli *cli, struct cli_run *run);

/* Begins the command with its op and id. */
void cli_change_begin(struct cli *cli, struct hcb_buf *json);

/* Labels the request as it was typed, and sends it. Returns the exit code. */
int cli_change_send(struct cli *cli, struct cli_run *run, struct cli_request *request);

#endif
