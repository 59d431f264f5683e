/* What hotcb_check() says of a script. */
#ifndef HCB_CLI_CHECK_H
#define HCB_CLI_CHECK_H

#include "cli/cli.h"

/* Says why the script would not load, if it would not. Returns 0, or CLI_REFUSED. */
int cli_report_refusal(struct cli *cli, const char *path, const char *symbol);

#endif
