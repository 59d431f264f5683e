/* The watch over the scripts of one thread, on its CPU time. A timer ticks only while
 * scripts run, and is set by whoever finds it not set, so that a run that behaves costs
 * no system call. A run that is over its budget is first asked to stop; one that
 * does not within about two ms is left by a long jump out of the timer's signal handler.
 * Knows nothing of Lua.
 *
 * How it works: an entry puts its run in the thread's record and looks whether the timer
 * is set; the handler that finds no run lets the timer rest. Both are on one thread,
 * so a tick comes either before the one store or after it, and each order is right. The
 * record is on a page that a fork wipes, since timers are not inherited.
 *
 * Where there is no such timer (its signal blocked or taken, none to be had, another
 * system) hcb_guard_open and hcb_guard_enter say so, and the caller has to count. */
#ifndef HCB_GUARD_H
#define HCB_GUARD_H

#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a thread's entries and its timer share. */
struct hcb_guard_thread {
    struct hcb_run *volatile current;
    volatile uint64_t armed_ns; /* the timer fires within that; 0: it is not set */
    uint64_t serial;
    bool fine_set; /* a second timer is, for the end of a run's time */
};

/* One run of a script, or several one after the other, on the stack of who runs them. The
 * first five are the caller's: before each entry. */
struct hcb_run {
    sigjmp_buf out;           /* set by sigsetjmp(out, 0); where the jump lands, with 1 */
    void (*stop)(void *user); /* asks it to stop; called from a signal handler, up to twice */
    void *user;
    int64_t budget_ns;
    int64_t tick_ns; /* hcb_guard_tick(budget_ns) */
    volatile sig_atomic_t late; /* times it was asked to stop */
    volatile sig_atomic_t held; /* above 0: the host's code runs, and is not jumped out of */
    uint64_t serial;
    struct hcb_run *outer; /* that it runs inside of */
    struct hcb_guard_thread *thread; /* NULL: nobody watches */
};

#define HCB_GUARD_STACK (480 << 10) /* bytes of C stack that a run may need */

enum hcb_guard {
    HCB_GUARD_WATCHES,
    HCB_GUARD_CANNOT,    /* there is no timer: the caller has to count */
    HCB_GUARD_NO_STACK   /* there is too little of the thread's stack left to run at all */
};

/* Before the first entry: what is the same for all of them. */
enum hcb_guard hcb_guard_open(struct hcb_run *run);

/* How far apart the timer's ticks are for that budget, to keep it. */
int64_t hcb_guard_tick(int64_t budget_ns);

/* The rarer part of an entry and of a leave. */
bool hcb_guard_arm(struct hcb_run *run);
void hcb_guard_rest(struct hcb_run *run);

/* Begins a run, which is watched from here to hcb_guard_leave; false: it is not, and the
 * caller has to count. */
static inline bool hcb_guard_enter(struct hcb_run *run)
{
    struct hcb_guard_thread *thread = run->thread;
    run->late = run->held = 0;
    if (!thread)
        return false;
    run->serial = ++thread->serial;
    atomic_signal_fence(memory_order_seq_cst);
    thread->current = run;
    atomic_signal_fence(memory_order_seq_cst);
    return thread->armed_ns - 1 < (uint64_t)run->tick_ns || hcb_guard_arm(run);
}

static inline void hcb_guard_leave(struct hcb_run *run)
{
    struct hcb_guard_thread *thread = run->thread;
    if (!thread)
        return;
    if (thread->current == run) /* it is not in a child that was forked meanwhile */
        thread->current = run->outer;
    atomic_signal_fence(memory_order_seq_cst);
    if (thread->fine_set)
        hcb_guard_rest(run);
}

/* Instead of it, where the jump has landed. */
void hcb_guard_landed(struct hcb_run *run);
/* Whether the run is still watched: not in a child that was forked meanwhile. */
bool hcb_guard_watches(const struct hcb_run *run);

/* To be called every few ms, and after code of the host's: sees whether the signal still gets
 * through. If it once did not, the thread does without the timer from then on. */
void hcb_guard_refresh(void);

/* Bytes of the calling thread's stack that are left; SIZE_MAX if that is not known. */
size_t hcb_guard_stack_left(void);

/* What keeps the scripts of this thread within their budget: "timer" or "count hook". */
const char *hcb_guard_name(void);

#endif
