/* The command line -> struct cli. */
#ifndef HCB_CLI_PARSE_H
#define HCB_CLI_PARSE_H

#include "cli/cli.h"

#define CLI_GO_ON (-1)

/* Fills *cli (zeroed). Returns CLI_GO_ON, or the exit code with which all is said
 * and done (a usage error, --help, --version). */
int cli_parse(struct cli *cli, int argc, char **argv);
void cli_release(struct cli *cli);

#endif
