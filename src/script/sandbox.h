/* One Lua state with a memory cap, a CPU budget per run, and only the libraries
 * that cannot reach outside. What the script means is script.h's business; how
 * it is confined is this file's alone, with its two tools: arena.h and guard.h.
 *
 * A run that has used up its budget is stopped at its next VM instruction, or at the next
 * tick of a C function; one that comes to neither is left by a long jump, and the state
 * dropped as it is. A refused allocation is left in the same way, at once: Lua's own
 * way out of it is not safe in all versions. No stop can be swallowed by pcall, and no
 * state is ever closed by Lua: its memory is unmapped.
 *
 * So C code that runs inside must hold nothing that only it would free, and what
 * takes locks (malloc is one) must stand between hcb_sandbox_hold and _release. */
#ifndef HCB_SANDBOX_H
#define HCB_SANDBOX_H

#include "control/limits.h"
#include "script/arena.h"
#include "script/fault.h"
#include "script/guard.h"
#include "stats/fp.h"
#include <locale.h>
#include <lua.h>

#ifdef HOTCB_UNGUARDED /* built so by the bench only, to see what the guard costs */
#define HCB_GUARDED 0
#else
#define HCB_GUARDED 1
#endif

struct hcb_sandbox {
    /* what each call looks at */
    lua_State *L; /* NULL once it was dropped */
    enum hcb_reason dead;    /* stopped by its budget or memory: not to be entered again */
    enum hcb_reason reason;  /* of an error raised by hcb_sandbox_raise */
    int base;            /* values that stay at the bottom of the stack; the first is ours */
    bool counting;       /* there is no timer: the hook counts, and reads the clock */
    int64_t budget_ns, tick_ns; /* of CPU time, a call; see guard.h */
    struct hcb_run *run; /* that goes on, or NULL */
    struct hcb_fault *fault; /* of it */
    int64_t deadline_ns; /* where it is counted: of CPU time; 0 until the clock is first read */

    lua_State *volatile running; /* the coroutine, or L */
    unsigned work;       /* units of hcb_sandbox_tick since the clock was read */
    size_t pressure;     /* bytes in use from which all garbage is collected */
    struct hcb_arena *arena;
    void *owner;
    void (*dropped)(void *owner); /* told so, or NULL */
    const char *name; /* of the script, for what is said of it; the owner's */
    struct hcb_limits limits;
};

/* A state with its libraries. `owner` is found again by hcb_sandbox_owner(); the name
 * is not copied. Its memory begins in the pool, or, where that is NULL, anywhere. Returns 0, or
 * -1 with *fault. After a failure nothing is left to close. */
int hcb_sandbox_open(struct hcb_sandbox *sb, const struct hcb_limits *limits, const char *name,
                     void *owner, struct hcb_pool *pool, struct hcb_fault *fault);
void hcb_sandbox_close(struct hcb_sandbox *sb);
size_t hcb_sandbox_used(const struct hcb_sandbox *sb); /* bytes */

/* After what makes garbage once, as setting up does: collects it, and gives the memory back. */
void hcb_sandbox_settle(struct hcb_sandbox *sb);

/* Other limits from the next run on. Those of memory and coroutines are settled when the
 * state is made. */
void hcb_sandbox_limits(struct hcb_sandbox *sb, const struct hcb_limits *limits);

/* Runs fn in the state, guarded, with `arg` as its one argument (light userdata).
 * Everything that may allocate in Lua happens inside such an fn. Returns 0, or -1
 * with *fault. */
int hcb_sandbox_run(struct hcb_sandbox *sb, lua_CFunction fn, void *arg,
                    struct hcb_fault *fault);

/* Calls on one thread, one after the other, of one state or of many: what each would else
 * set up for itself (the guard, the place where a call that is broken off lands, the
 * locale) is set up once. They nest. */
struct hcb_round {
    struct hcb_run run; /* its user is the sandbox whose call goes on, or was the last */
    enum hcb_guard guard;
};

/* Runs body(round, user), in which calls are made. A call that is broken off unwinds the body,
 * which is then run again, the call's fault filled in: it goes on where it was, by what it has
 * noted in `user`. */
typedef void hcb_round_fn(struct hcb_round *round, void *user);
void hcb_sandbox_round(hcb_round_fn *body, void *user);

/* One call: enter, then what goes onto the state's stack and lua_pcall with handler 1, then
 * leave with its status. What is pushed before is pushed without Lua's protection: that may do
 * nothing that raises, but for want of memory. Each returns 0, or -1 with *fault: a call that
 * was not entered is not left. */
static inline int hcb_round_enter(struct hcb_round *round, struct hcb_sandbox *sb,
                                  struct hcb_fault *fault);
static inline int hcb_round_leave(struct hcb_round *round, struct hcb_sandbox *sb, int status);
/* The lua_pcall of fn(arg). */
int hcb_round_run(struct hcb_sandbox *sb, lua_CFunction fn, void *arg);

/* The first n values of the stack stay from now on; the very first is the sandbox's own. */
void hcb_sandbox_keep(struct hcb_sandbox *sb, int n);

/* Around what the host does inside a round: it has its own locale for that, and its own
 * floating point environment, and is not cancelled. */
struct hcb_sandbox_outside {
    unsigned rounds;
    locale_t locale;
    struct hcb_fp_outside fp;
    int cancel;
};
void hcb_sandbox_step_out(struct hcb_sandbox_outside *out);
void hcb_sandbox_step_in(const struct hcb_sandbox_outside *out);

/* From inside: the owner, and raising the text on top of the stack as an error
 * with a reason of its own (memory: the state is stopped). */
void *hcb_sandbox_owner(lua_State *L);
int hcb_sandbox_raise(lua_State *L, enum hcb_reason reason);

/* For C code that a script can keep busy: says that so many units of work were done (one
 * is a few ns). Raises, like lua_error, where the call has used up its budget. */
void hcb_sandbox_tick(lua_State *L, unsigned units);

/* The same without raising: true when it has run out, for code that holds. */
bool hcb_sandbox_overdue(lua_State *L, unsigned units);

/* Around what must not be jumped out of. Between the two nothing may raise; release
 * raises where the budget ran out meanwhile. They nest. */
void hcb_sandbox_hold(lua_State *L);
void hcb_sandbox_release(lua_State *L);

/* Around what runs in the coroutine co: hooks go with it. back raises where the run was
 * stopped in it. */
void hcb_sandbox_switch(lua_State *L, lua_State *co);
void hcb_sandbox_back(lua_State *L);
/* So much C stack is in use that what Lua itself does not count must not go deeper. */
bool hcb_sandbox_deep(lua_State *L);

/* ---- the inside of a call ---------------------------------------------------- */

int hcb_round_refuse(const struct hcb_sandbox *sb, struct hcb_fault *fault);
void hcb_round_count(struct hcb_sandbox *sb, bool counting);
int hcb_round_fail(struct hcb_sandbox *sb, int status);

static inline int hcb_round_enter(struct hcb_round *round, struct hcb_sandbox *sb,
                                  struct hcb_fault *fault)
{
    if (sb->dead != HCB_FINE || round->guard == HCB_GUARD_NO_STACK)
        return hcb_round_refuse(sb, fault);
    hcb_fault_clear(fault);
    round->run.user = sb;
    round->run.budget_ns = sb->budget_ns;
    round->run.tick_ns = sb->tick_ns;
    sb->run = &round->run;
    sb->fault = fault;
    sb->deadline_ns = 0;
    sb->reason = HCB_RUNTIME;
    bool counting = !hcb_guard_enter(&round->run) && HCB_GUARDED;
    if (counting != sb->counting)
        hcb_round_count(sb, counting);
    return 0;
}

/* A stop is a failure even where the script got to its end all the same. */
static inline int hcb_round_leave(struct hcb_round *round, struct hcb_sandbox *sb, int status)
{
    hcb_guard_leave(&round->run);
    if (status != LUA_OK || sb->dead != HCB_FINE || round->run.late)
        status = hcb_round_fail(sb, status);
    sb->run = NULL;
    return status;
}

#endif
