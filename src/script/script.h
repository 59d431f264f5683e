/* One script in one sandboxed state: compile, set up, call, take down. This and
 * its neighbours in src/script are the only door to Lua; whoever includes this
 * header sees none of it. Knows nothing of files that change, of commands, or of
 * other callbacks. */
#ifndef HCB_SCRIPT_H
#define HCB_SCRIPT_H

#include "base/err.h"
#include "base/value.h"
#include "control/limits.h"
#include "env/env.h"
#include "script/effects.h"
#include "script/fault.h"
#include "script/params.h"

#define HCB_SCRIPT_BYTES (256 << 10) /* a larger source is refused */

struct hcb_script;

/* The text of a module that a script requires. */
struct hcb_module {
    struct hcb_buf text;
    char *chunkname; /* "@lib/util.lua", for messages */
};

/* Fills *m; *m is released by the caller. Returns 1 if found, 0 if not, negative
 * with *err. It is called from inside the script, so it must not unwind. */
typedef int hcb_find_module_fn(void *user, const char *name, struct hcb_module *m,
                               struct hcb_err *err);

struct hcb_script_source {
    const char *id;
    const char *chunkname; /* "@callbacks/x.lua" */
    const char *text;
    size_t n;
    const char *symbol; /* or NULL */
    struct hcb_limits limits;
    const struct hcb_value *init; /* initial values, a map; NULL or null: none */
    const struct hcb_value *set;  /* values on top of them, a map; NULL or null: none */
    bool lenient;                 /* values of `set` that do not fit any more are left out */
    const char *framework;
    struct hcb_pool *pool;       /* where its state begins, see pool.h; NULL: anywhere */
    struct hcb_effects *effects; /* where what it asks for is queued */
    hcb_find_module_fn *find;
    void *find_user;
};

/* Compiles and sets up: chunk, parameters, set_params. Returns 0 and *out, or -1 with
 * *fault (reason syntax where it does not compile or is no callback). */
int hcb_script_open(struct hcb_script **out, const struct hcb_script_source *source,
                    struct hcb_fault *fault);

/* Whether a value could be one of a parameter by what the script declares; null: is there one? */
bool hcb_script_takes(const struct hcb_script *s, const char *name, const struct hcb_value *v);

/* Who finds modules from now on; until then it is whom the source named. */
void hcb_script_finder(struct hcb_script *s, hcb_find_module_fn *find, void *user);

/* Frees the state; calls nothing of the script's. NULL is fine. */
void hcb_script_free(struct hcb_script *s);

/* Calls of handle on one thread, one after the other, with one set-up for all of them. Runs
 * body(round, user). A call that has to be broken off unwinds the body, which is then run once
 * more, the call's fault filled in: it goes on where it was, by what it has noted in `user`.
 * Meanwhile the thread is in the C locale; a function of the host's is called by
 * hcb_script_call_log, in the thread's own. */
struct hcb_round;
typedef void hcb_round_fn(struct hcb_round *round, void *user);
void hcb_script_round(hcb_round_fn *body, void *user);
void hcb_script_call_log(hotcb_log_fn *fn, void *user, enum hotcb_level level, const char *id,
                         const char *line);

/* Calls into the script. 0, or -1 with *fault. A hook that is not there is fine. */
int hcb_script_attach(struct hcb_script *s, struct hotcb_env *env, struct hcb_fault *fault);
/* `event` is the same text at the same place as long as the script lives. Of a script that was
 * stopped for good: HCB_SCRIPT_DEAD, and no fault. */
#define HCB_SCRIPT_DEAD (-2)
int hcb_script_handle(struct hcb_round *round, struct hcb_script *s, const char *event,
                      struct hotcb_env *env, struct hcb_fault *fault);
int hcb_script_close(struct hcb_script *s, struct hcb_fault *fault);

/* Checks and sets parameters, all or nothing; then set_params(changed). If that
 * raises, the values are as before. Returns 0, or negative with *err: EREFUSED. */
int hcb_script_set(struct hcb_script *s, const struct hcb_value *params, struct hcb_err *err);

/* save() -> *out (null if there is no hook or it gave nothing); restore(table). */
int hcb_script_save(struct hcb_script *s, struct hcb_value *out, struct hcb_fault *fault);
int hcb_script_restore(struct hcb_script *s, const struct hcb_value *saved,
                       struct hcb_fault *fault);

/* What it says of itself. */
const char *hcb_script_name(const struct hcb_script *s);            /* or NULL */
const struct hcb_params *hcb_script_params(const struct hcb_script *s); /* NULL: declares none */
void hcb_script_values_json(struct hcb_buf *b, const struct hcb_script *s); /* as an object */
const struct hcb_value *hcb_script_events(const struct hcb_script *s); /* list of text, or NULL */
const char *hcb_script_schedule(const struct hcb_script *s);        /* or NULL */
int64_t hcb_script_every(const struct hcb_script *s); /* the schedule's value; 0: never */
bool hcb_script_has_initial(const struct hcb_script *s, const char *param); /* to go back to */
const char *hcb_script_dropped(const struct hcb_script *s); /* "a, b": left out, or NULL */
size_t hcb_script_memory(const struct hcb_script *s);       /* bytes in use */
bool hcb_script_dead(const struct hcb_script *s); /* stopped for good: only free it */
void hcb_script_limits(struct hcb_script *s, const struct hcb_limits *limits);

/* Makes text fit to be compiled: strips a BOM and a '#' line, refuses byte code
 * (by name), NUL bytes, and more than HCB_SCRIPT_BYTES. */
int hcb_source_clean(const char **text, size_t *n, const char *chunkname,
                     struct hcb_fault *fault);

#endif
