/* What must hold of a run directory after trouble, as people see it: the ledger answers
 * each command once, no file has half a line, what the ledger says is so. */
#ifndef CHECKS_H
#define CHECKS_H

#include "stage.h"

/* Lines of the ledger so far, whatever is in them. */
int check_ledger_count(struct stage *s);

/* The file's lines are whole, and (but for the log) JSON. */
void check_lines(struct stage *s, const char *name);

/* Each command that was sent has one line, which says why if it was refused; numbers go up
 * by one (or leave something out, where memory was short). */
void check_answers(struct stage *s);

/* Parameter `mark` of callback `id` is what the last applied set after ledger line `from`
 * made it; where there is none, `otherwise` (negative: anything). */
void check_mark(struct stage *s, const char *id, int from, int otherwise);

/* Whether the last set of callback `id` was refused, by the ledger for want of memory. */
bool check_refused(struct stage *s, const char *id);

/* No warning was said at each step. */
void check_said(struct stage *s);

/* All files, after the last close. Where writes are cut short and cannot be taken back, a
 * piece of a line may stay in log, metrics, media and artifacts, though not in the ledger. */
void check_files(struct stage *s);

int check_descriptors(void); /* how many are open */

#endif
