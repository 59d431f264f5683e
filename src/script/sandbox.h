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
#include <locale.h>
#include <lua.h>

struct hcb_sandbox {
    lua_State *L; /* NULL once it was dropped */
    struct hcb_arena *arena;
    void *owner;
    const char *name; /* of the script, for what is said of it; the owner's */
    struct hcb_limits limits;
    enum hcb_reason dead;    /* stopped by its budget or memory: not to be entered again */
    enum hcb_reason reason;  /* of an error raised by hcb_sandbox_raise */

    /* of the run that goes on */
    struct hcb_run *run;
    struct hcb_fault *fault;
    lua_State *volatile running; /* the coroutine, or L */
    const char *entry;   /* place on the C stack */
    bool counting;       /* there is no timer: the hook counts, and reads the clock */
    int64_t deadline_ns; /* then: of CPU time; 0 until the clock is first read */
    unsigned work;       /* and units of hcb_sandbox_tick since then */
    size_t pressure;     /* bytes in use from which all garbage is collected */
    int base;            /* values that stay at the bottom of the stack; the first is ours */
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

/* The same for what is called often. `push` is run in the state without Lua's protection, so it
 * may do nothing that raises, but for want of memory: it leaves a function and its arguments on
 * the stack and returns how many arguments; or -1: then fn is run, as above. What push wants to
 * find again it may leave at the bottom of the stack, by hcb_sandbox_keep(). */
typedef int hcb_push_fn(lua_State *L, void *arg);
int hcb_sandbox_call(struct hcb_sandbox *sb, hcb_push_fn *push, lua_CFunction fn, void *arg,
                     struct hcb_fault *fault);

/* The first n values of the stack stay from now on; the very first is the sandbox's own. */
void hcb_sandbox_keep(lua_State *L, int n);

/* Around several runs on one thread: what each would else set up for itself (the locale)
 * is set up once. They nest. */
void hcb_sandbox_begin(void);
void hcb_sandbox_end(void);

/* Around what the host does in between: it has its own locale for that. */
struct hcb_sandbox_outside {
    unsigned begun;
    locale_t locale;
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

#endif
