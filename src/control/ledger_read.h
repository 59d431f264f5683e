/* The inside of the ledger's reading, for ledger.c. */
#ifndef HCB_LEDGER_READ_H
#define HCB_LEDGER_READ_H

#include "base/err.h"

/* Where the line begins that ends at `end`: after the last newline before it.
 * -1 with errno if that cannot be read. */
int64_t hcb_ledger_line_start(int fd, int64_t end);

/* The number of the last line before `size` that can be read; 0 if there is none. */
int hcb_ledger_last_seq(int fd, const char *path, int64_t size, int64_t *seq,
                        struct hcb_err *err);

/* The offset in the command file that the last line after `from` answers, or -1. */
int hcb_ledger_last_offset(int fd, const char *path, int64_t from, int64_t *offset,
                           struct hcb_err *err);

#endif
