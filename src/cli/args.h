/* key=value words -> values, and values -> JSON as they were spelt. */
#ifndef HCB_CLI_ARGS_H
#define HCB_CLI_ARGS_H

#include "base/value.h"
#include "cli/cli.h"

/* Reads words[from..] into *map (null before). Returns 0, or the exit code with
 * which all is said: a word without '=', a key twice, an integer beyond int64. */
int cli_pairs_read(struct cli *cli, const struct cli_words *words, size_t from,
                   struct hcb_value *map);

/* Adds "key": {...} with the values as JSON; numbers keep their spelling where JSON
 * knows it. */
void cli_pairs_write(struct hcb_buf *b, const char *key, const struct hcb_value *map);

/* Adds "text": {...}: how those values were spelt which JSON cannot spell so.
 * Nothing, where there is none. */
void cli_pairs_write_text(struct hcb_buf *b, const struct hcb_value *map);

#endif
