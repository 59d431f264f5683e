/* Run directories near one that is not there. */
#ifndef HCB_CLI_NEARBY_H
#define HCB_CLI_NEARBY_H

#include "cli/cli.h"
#include "control/rundir.h"

/* Does any of hotcb's files stand in this directory? */
bool cli_is_run_dir(const struct hcb_rundir *at);

/* Says that cli->dir is no run directory, with the one that may have been meant.
 * Returns CLI_NO_RUN. */
int cli_no_run_dir(struct cli *cli);

#endif
