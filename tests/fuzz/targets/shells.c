/* Stands for what the build of the tool makes of completion scripts and callbacks. */
#include "cli/shells.h"

const struct cli_shell cli_shells[] = {{"bash", "# none"}, {NULL, NULL}};
const char *const cli_shipped[] = {"hotcb.callbacks.heartbeat", NULL};
