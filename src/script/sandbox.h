/* One Lua state with a memory cap, a CPU budget per run, and only the libraries
 * that cannot reach outside. What the script means is script.h's business; how
 * it is confined is this file's alone.
 *
 * The guard is a count hook: every 1000 VM instructions it reads the thread's CPU
 * clock. It does not fire inside a C function of Lua's own (a long pattern match
 * delays it until that returns). A stop cannot be swallowed by pcall. */
#ifndef HCB_SANDBOX_H
#define HCB_SANDBOX_H

#include "control/limits.h"
#include "script/fault.h"
#include <lua.h>

struct hcb_sandbox {
    lua_State *L;
    void *owner;
    struct hcb_limits limits;
    size_t used, cap;    /* bytes */
    int64_t deadline_ns; /* of CPU time; 0 until the clock is first read in a run */
    unsigned work;       /* units of hcb_sandbox_tick since then */
    enum hcb_reason dead;    /* stopped by its budget or memory: not to be entered again */
    enum hcb_reason reason;  /* of an error raised by hcb_sandbox_raise */
    struct hcb_fault *fault; /* of the run that goes on */
};

/* A state with its libraries. `owner` is found again by hcb_sandbox_owner().
 * Returns 0, or -1 with *fault. After a failure nothing is left to close. */
int hcb_sandbox_open(struct hcb_sandbox *sb, const struct hcb_limits *limits, void *owner,
                     struct hcb_fault *fault);
void hcb_sandbox_close(struct hcb_sandbox *sb);

/* Runs fn in the state, guarded, with `arg` as its one argument (light userdata).
 * Everything that may allocate in Lua happens inside such an fn. Returns 0, or -1
 * with *fault. */
int hcb_sandbox_run(struct hcb_sandbox *sb, lua_CFunction fn, void *arg,
                    struct hcb_fault *fault);

/* From inside: the owner, and raising the text on top of the stack as an error
 * with a reason of its own (memory: the state is stopped). */
void *hcb_sandbox_owner(lua_State *L);
int hcb_sandbox_raise(lua_State *L, enum hcb_reason reason);

/* For C code that a script can keep busy: says that so many units of work were done (one
 * is a few ns). Raises, like lua_error, where the call has used up its budget, so
 * nothing may be held that only the caller would free. */
void hcb_sandbox_tick(lua_State *L, unsigned units);

#endif
