/* What a shell may offer for the word at the cursor. */
#ifndef HCB_CLI_COMPLETE_H
#define HCB_CLI_COMPLETE_H

#include "cli/cli.h"

/* `hotcb __complete WORD... CURRENT`, which the scripts of `hotcb completion` call:
 * the words after "hotcb" up to the cursor, the last one begun and maybe empty.
 *
 * Prints one line that says what is meant, and then the words, each with a tab and
 * what it is:
 *   words   these words; one that ends in '=' goes on
 *   files   the shell's own file names, after "--option=" if there is one
 *   dirs    the same, directories only
 */
int cli_complete(struct cli *cli, int argc, char **argv);

#endif
