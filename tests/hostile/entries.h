/* The hostile scripts of a folder: what its MANIFEST.tsv says of each. Knows nothing of
 * how they are run. */
#ifndef HOSTILE_ENTRIES_H
#define HOSTILE_ENTRIES_H

#include "script/fault.h"
#include <stdbool.h>
#include <stddef.h>

/* A set of outcomes: bit 0 is ok, bit r the reason r (enum hcb_reason). */
#define OUTCOME_BIT(reason) (1u << (reason))

/* Where an entry wants to be run. */
enum entry_kind {
    ENTRY_BODY,   /* statements: as a chunk, as the body of handle and of each hook */
    ENTRY_FILE,   /* src_*, *.setup.sh: a whole file as it is */
    ENTRY_LIFE,   /* a whole callback, taken through everything that can happen to one */
    ENTRY_HANDLE  /* statements that make sense in handle only */
};

struct entry {
    char *path;         /* of the script, or of the shell script that makes it */
    const char *name;   /* the last part of path */
    unsigned allowed;   /* outcomes */
    bool coroutines;    /* needs them to do its worst */
    bool setup;         /* a shell script */
    enum entry_kind kind;
};

struct entries {
    struct entry *v;
    size_t n, cap;
};

/* Appends the entries of a folder. MANIFEST.tsv has lines of
 *     name TAB outcomes [(remark)] TAB [coroutines] [TAB life|handle]
 * Returns false, and says why on stderr. */
bool entries_read(struct entries *e, const char *folder);
void entries_release(struct entries *e);

/* The name of an outcome: "ok", "runtime", ... */
const char *outcome_name(enum hcb_reason reason);

#endif
