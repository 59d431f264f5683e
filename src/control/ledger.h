/* hotcb.applied.jsonl: what became of every op, one line each, in order. A
 * command counts as taken in when its line is here: after a crash the run reads
 * the end of this file to know what was answered. */
#ifndef HCB_LEDGER_H
#define HCB_LEDGER_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "control/op.h"

struct hcb_ledger {
    char *path;
    int fd;
    int64_t bytes; /* size of the file, as far as we wrote it whole */
    int64_t seq;   /* of the last line */
    struct hcb_buf pending;
    int64_t pending_lines;
    int64_t lost;  /* lines that could not be kept pending; said by the next flush */
    bool trouble;  /* the last flush failed; the lines are still pending */
};

/* More than this is not kept while the file cannot be written. */
#define HCB_LEDGER_PENDING (4 << 20)

/* Makes sure that so many lines can be added, with the values that an op carries left out
 * if memory is short. What is to be answered is taken in only where its answer has room. */
bool hcb_ledger_room(struct hcb_ledger *l, size_t lines);

/* What is said of one op. */
struct hcb_verdict {
    const struct hcb_op *op;
    const struct hcb_moment *at;
    const char *run;    /* the run's id */
    int64_t step;
    bool has_step;
    bool applied;
    const char *error;  /* a sentence: why it was rejected; also a note on what was applied */
    const char *reason; /* runtime, budget, memory, syntax, file; or NULL */
    const char *sha256; /* of the source, for loads and reloads; or NULL */
};

/* What the end of the file tells a new run. */
struct hcb_ledger_end {
    int64_t last_offset; /* of the last line, after `from`, that answers a command; or -1 */
    int64_t torn;        /* bytes of a half-written last line that were cut off */
};

/* Opens for appending (created if missing) and cuts off a torn last line. `from`:
 * where the state file says that the ledger ended when it was written; beyond the
 * end it counts as 0. On failure nothing is open. */
int hcb_ledger_open(struct hcb_ledger *l, const char *path, int64_t from,
                    struct hcb_ledger_end *end, struct hcb_err *err);
void hcb_ledger_close(struct hcb_ledger *l);

void hcb_ledger_add(struct hcb_ledger *l, const struct hcb_verdict *v); /* pending */
/* Writes what is pending in one write. On failure it stays pending, and is tried
 * again by the next call (each of which fails: `trouble` says whether it is news), which
 * goes on where a write that was cut short stopped. */
int hcb_ledger_flush(struct hcb_ledger *l, struct hcb_err *err);

/* After the run directory was lost and found again: the next flush opens the file
 * anew, and creates it if need be. What is pending stays so. */
void hcb_ledger_reopen(struct hcb_ledger *l);

/* For a process that waits for an answer: looks through the whole lines after
 * *from for one with this cmd and moves *from past what it read. Returns 1 and
 * the line in *out (null before), 0 if it is not there yet, or an error. */
int hcb_ledger_find(const char *path, int64_t *from, const char *cmd, struct hcb_value *out,
                    struct hcb_err *err);
/* Ids of commands, sorted. */
struct hcb_names {
    char **v;
    size_t n, cap;
};
void hcb_names_release(struct hcb_names *names);
bool hcb_names_have(const struct hcb_names *names, const char *name); /* NULL: no */

/* The ids (`cmd`) of the commands that are answered in the last max_bytes of the file.
 * *names is empty before. No file: none. */
int hcb_ledger_commands(const char *path, int64_t max_bytes, struct hcb_names *names,
                        struct hcb_err *err);

/* Where in the command file the commands begin that lines after `from` say were applied, in
 * the order of these lines. *offsets is empty before. */
struct hcb_offsets {
    int64_t *v;
    size_t n, cap;
};
void hcb_offsets_release(struct hcb_offsets *offsets);
int hcb_ledger_applied(const struct hcb_ledger *l, int64_t from, struct hcb_offsets *offsets,
                       struct hcb_err *err);

int64_t hcb_ledger_size(const char *path); /* 0 if there is none */

#endif
