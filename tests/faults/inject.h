/* Makes the n-th call of a kind fail, or every call from the n-th on. The calls are those
 * that the linker leads here (--wrap, see CMakeLists.txt), made between fault_enter() and
 * fault_leave(): those of a test itself always work. Knows nothing of hotcb but the name
 * of the allocator that scripts have. For one thread. */
#ifndef INJECT_H
#define INJECT_H

#include <stdbool.h>

enum fault_kind {
    FAULT_NONE,   /* nothing fails, nothing is counted */
    FAULT_MEMORY, /* memory, of the process and of scripts */
    FAULT_FILES   /* what goes to the system about files, locks and timers */
};

/* How a call about files fails: each has two ways, of which one may be that it does only a
 * part of what was asked (read, write), the other an errno that fits. */
enum fault_way { FAULT_USUAL, FAULT_OTHER, FAULT_WAYS };

struct fault_plan {
    enum fault_kind kind;
    int life;  /* which of them it is for; from 0 */
    long from; /* the first call that fails, from 1; 0: none does, they are only counted */
    bool lasting;
    enum fault_way way;
};

/* The plan as the arguments of the program `faults` that play it. */
void fault_describe(const struct fault_plan *plan, char *out, unsigned long size);

/* From now on, until fault_clear(). Counting begins anew. */
void fault_arm(const struct fault_plan *plan);
void fault_clear(void);

/* Between these two calls count and may fail; they do not nest. */
void fault_enter(void);
void fault_leave(void);

long fault_points(void);       /* calls that were counted since fault_arm() */
bool fault_struck(void);       /* one of them failed */
const char *fault_name(void);  /* the function of the first that did, or "" */

/* Blocks of memory, and mappings, that are not given back. */
long fault_live(void);

/* Moves the monotonic clocks on: nothing here has to wait. */
void fault_pass_ms(long ms);

/* Leads a library that is not linked into the program, but has hooks, here too. */
void *fault_malloc(unsigned long n);
void fault_free(void *p);

#endif
