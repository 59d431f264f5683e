/* A host as people write them, with a neighbour in it: a well-behaved callback that counts
 * the events it gets. Opens, steps, asks, closes, measures what each call into the library
 * took, and finds fault. Knows nothing of where a hostile script comes from. */
#ifndef HOSTILE_RIG_H
#define HOSTILE_RIG_H

#include "base/buf.h"
#include "script/fault.h"
#include <hotcb/hotcb.h>
#include <stdbool.h>

#if defined(__SANITIZE_ADDRESS__)
#define OWN_MEMORY 0 /* the sanitizer's own hides ours */
#else
#define OWN_MEMORY 1
#endif

#define HOSTILE_ID "hostile" /* of the callback that carries the attack */

/* What a process holds: what is more of after a run has leaked. */
struct rig_holdings {
    int descriptors;
    long mapped_kb;  /* but for the heap, which the C library keeps some of */
    long heap_kb;    /* that is in use */
};

struct rig {
    hotcb *h;
    hotcb_env *env;
    const char *dir;
    int64_t step, events;  /* what the neighbour must have seen by now */
    int64_t worst_ns;      /* thread CPU time of the dearest call so far */
    bool budget_logged;    /* a line in the log says that a budget was used up */
    struct rig_holdings before;
    char complaint[600];   /* what was found wrong first; "" */
};

struct verdict {
    enum hcb_reason outcome;
    char message[1100]; /* of a failure */
    bool running;       /* it is there and has not failed */
};

/* Each may leave a complaint. */
void rig_open(struct rig *r, const char *dir, int64_t time_ms);
void rig_events(struct rig *r, const char *event, int n); /* so many applies */
int rig_command(struct rig *r, const char *fmt, ...) HCB_PRINTF(2, 3); /* with ' for " */
void rig_send(struct rig *r, const char *fmt, ...) HCB_PRINTF(2, 3);
void rig_judge(struct rig *r, const char *id, struct verdict *v); /* by list and ledger */
void rig_close(struct rig *r); /* and looks at what is left, and at what the neighbour saw */

void rig_complain(struct rig *r, const char *fmt, ...) HCB_PRINTF(2, 3);

/* A file of the run directory, replaced whole. */
void rig_write(struct rig *r, const char *name, const char *text);
const char *rig_path(const struct rig *r, const char *name, char out[600]);

void rig_hold(struct rig_holdings *now);
/* Complains of `what` if more is held now than before: of the heap, so much more. */
void rig_check_holdings(struct rig *r, const struct rig_holdings *before, long heap_kb,
                        const char *what);

/* A number of /proc/self/status, in KiB; 0 where there is none. And its high-water mark
 * made to begin anew. */
long rig_memory_kb(const char *field);
void rig_reset_peak(void);

#endif
