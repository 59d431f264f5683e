/* What has to hold of the parts of hotcb that several steps lead to, one file each. Each
 * ends the process if it does not. */
#ifndef CHECKS_H
#define CHECKS_H

#include "fuzz.h"
#include "script/params.h"

/* check_command.c: whatever the line is, it is taken as a sound op, or refused with a
 * sentence; and what the ledger says of it is JSON that names the command. */
void fuzz_check_command(const char *line, size_t n);

/* check_diff.c: the ops between two good configurations lead from one to the other, and
 * are none between one and itself. What only the first has ends up off. */
void fuzz_check_diff(const struct hcb_value *before, const struct hcb_value *after);

/* check_param.c: type, range and choices. */
void fuzz_check_param(const struct hcb_param *p, const struct hcb_value *v);

/* check_ledger.c: all readers take any bytes, and agree. */
void fuzz_check_ledger(const char *path);
/* What a run wrote after these bytes are whole lines, numbered one by one. */
void fuzz_check_added(const char *path, size_t before);

#endif
