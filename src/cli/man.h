/* The man page, made from the table and the topics. */
#ifndef HCB_CLI_MAN_H
#define HCB_CLI_MAN_H

#include "cli/cli.h"

int cli_man(struct cli *cli); /* `hotcb __man`: the page's mdoc source */

#endif
