/* What the build makes of the files in completion/ and callbacks/. */
#ifndef HCB_CLI_SHELLS_H
#define HCB_CLI_SHELLS_H

#include <stddef.h>

struct cli_shell {
    const char *name, *script;
};

extern const struct cli_shell cli_shells[]; /* a NULL name ends them */
extern const char *const cli_shipped[];     /* modules that are built in; NULL ends them */

#endif
