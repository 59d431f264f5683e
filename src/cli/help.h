/* Help, made from the table. */
#ifndef HCB_CLI_HELP_H
#define HCB_CLI_HELP_H

#include "cli/cli.h"

/* NULL is the tool as a whole. */
void cli_help(struct hcb_buf *b, const struct cli_screen *s, const struct cli_command *command);

/* The same as data: one of them, or all where both are NULL. */
struct cli_topic;
void cli_help_json(struct hcb_buf *b, const struct cli_command *command,
                   const struct cli_topic *topic);

/* "usage: ..." and where to read more. */
void cli_help_usage(struct hcb_buf *b, const struct cli_command *command, int width);

/* Says so, with the one that was meant. Returns CLI_USAGE. */
int cli_unknown_command(struct cli *cli, const char *name);

#endif
