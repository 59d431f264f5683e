/* The inside of a handle: one run, and what its parts share. */
#ifndef HCB_RUN_H
#define HCB_RUN_H

#include "base/clock.h"
#include "base/lock.h"
#include "control/commands.h"
#include "control/config.h"
#include "control/ledger.h"
#include "control/rundir.h"
#include "controller/cost.h"
#include "controller/lines.h"
#include "controller/registry.h"
#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>

#define HCB_NAME(path) (strrchr(path, '/') ? strrchr(path, '/') + 1 : (path))

/* For whom an event comes next, of all callbacks: worked out after it has come, and good
 * until something changes. */
struct hcb_plan {
    bool always;  /* somebody has to be asked each time */
    signed char slot; /* of a step event: its place among them; else -1 */
    int64_t next; /* nobody is due below this step, unless always */
};

/* hotcb.yaml as it was read, on its way to be what holds: at most so many ops a look. */
struct hcb_config_taking {
    bool pending;
    struct hcb_value after;
    struct hcb_buf text;
    struct hcb_ops ops;
    size_t done; /* so many of them are carried out */
    bool whole;  /* none of them for want of memory in vain */
    bool differs; /* `after` is not what the text says: something was refused */
};

/* Where the look at the files of all callbacks is. */
struct hcb_rounds {
    bool cut;        /* the round goes on at the next look, */
    size_t at;       /* with this callback */
    uint64_t count;  /* the notice's, when the last whole round began; 0: there was none */
    int64_t again;   /* bytes that may be compared again; see struct hcb_glance */
    size_t again_at; /* and of which callback first */
    size_t turn_at;  /* the callback that is next in turn to be looked at by stat all the same */
    int64_t turn_ns;
};

/* Commands that the ledger has, and the state that is resumed has not: the process died before
 * it could be written. What they did is done again. */
struct hcb_redo {
    bool pending;
    int64_t from; /* where the ledger's lines about them begin */
    int64_t to;   /* the offset of the last of them; those that had been refused do nothing */
    struct hcb_offsets applied;
    size_t at;    /* so many of these are done */
};

#define HCB_NEVER_NS (INT64_MIN / 2) /* longer ago than any interval */

struct hotcb {
    /* what each apply looks at */
    bool open;
    bool busy;          /* a public function runs: what it calls must not call another */
    bool has_step;
    bool changed;       /* something must be published */
    uint64_t process;   /* a forked child is another one, and does nothing */
    const _Atomic uint64_t *process_word; /* where its number is, or NULL */
    int64_t step;       /* where the loop is */
    int64_t applies_to_look; /* applies until the next look may come */
    int64_t debounce_steps, poll_interval_ns, last_look_ns;
    hcb_clock_fn *coarse_clock;
    int64_t coarse_ns;  /* read for this apply; 0: not read */
    uint64_t planned;   /* of which events, a bit each, the plan holds */
    int64_t counts[HCB_STEP_EVENTS]; /* of each step event: its step where none is set */
    struct hcb_plan plans[HCB_EVENT_MAX];

    struct hcb_err err; /* of the last failing call */
    pid_t pid;
    char run[48];       /* "20261130-022920-4711-3f2a" */
    char host[64];
    char *framework;
    int64_t log_bytes, metrics_bytes, media_bytes;
    int64_t artifact_bytes, artifact_files; /* of each callback */

    struct hcb_rundir dir;
    struct hcb_sig dir_sig; /* the directory we opened; another one in its place is new */
    bool lost;              /* it is gone, or not ours to write in */
    bool locked_out;        /* the latter: it was there all the time */
    struct hcb_notice *notice; /* what need not be looked at, or NULL */
    struct hcb_noticed here;   /* the lock file: quiet as long as the directory is where it was */
    bool resume;            /* as the host asked for */
    struct hcb_lock lock;
    struct hcb_log log;
    struct hcb_lines metrics, media;
    struct hcb_ledger ledger;
    struct hcb_commands commands;
    struct hcb_noticed commands_noticed;
    struct hcb_watch config_watch;
    int64_t config_again_bytes; /* as rounds.again, of hotcb.yaml */
    struct hcb_config_taking taking;
    struct hcb_value before;    /* the state of an earlier process, until it is resumed */
    struct hcb_value config;    /* as last read, and carried out; null: never */
    struct hcb_buf config_text; /* the same as text, */
    bool config_differs;        /* but for what of it was refused, and so counts as not read; */
    bool config_partly;         /* or with more, of later files not taken in to the end */
    bool config_resumed;        /* by this process as it differs; the same text is not tried */
    struct hcb_buf config_new;  /* what a look reads */
    char *config_dir;
    char *config_error;
    bool status_trouble;
    struct {                /* hotcb.state.json as it was written last */
        bool trouble;       /* it could not be */
        bool due;           /* all of it is to be written */
        struct hcb_sig sig;
        struct hcb_commands_place place;
        bool again;
        int64_t ledger_bytes;
    } state;

    struct hcb_registry registry;
    struct hcb_rounds rounds;
    const char *stop_reason; /* NULL, or stop_text */
    char stop_text[4096];

    bool more;       /* a look left something for the next one, which is to come at once */
    bool starting;   /* the look begins a run, or resumes one: it takes in all that is there */
    bool by_stat;    /* it looks at all files of the run directory, whatever the notice says */
    int64_t by_stat_ns;

    struct hcb_redo redo;
    int64_t long_from;         /* where the ledger's lines about a line begin that is too long, as
                                  long as the place is before it */
    bool restarting;           /* the command file was replaced, and that is not saved yet */
    struct hcb_names answered; /* commands that are not executed again, while it is read anew */
    int64_t repeated;          /* how many of them came */
    bool starved;              /* no memory to answer with, and that was said */
    bool config_again;         /* nor to take in all of hotcb.yaml: said, tried at each look */
    int64_t waiting_at;        /* offset of the command that there was no memory to read, */
    int waited;                /* and at how many looks */
    int64_t unfinished;        /* size of the command file whose last line was complained of */

    int64_t started_ns, next_beat_ns, last_lock_ns;
    int64_t written;       /* bytes of status and state so far */
    double command_credit; /* how many more of them the host's own commands may cause, */
    int64_t credit_ns;     /* as of this time */
    double started_wall;
    int64_t looks;
    int64_t rate_ns, rate_step; /* the sample that the rate is taken from */
    bool has_rate_step;
    double steps_per_s; /* negative: not known */
    struct hcb_cost cost;
    int64_t apply_ns; /* what this apply has cost so far */
    struct hcb_fault fault; /* of the call that goes on */
    int64_t guard_ns; /* coarse: when the guard was last refreshed */
    int64_t dropped_effects, lost_artifacts;

    char last_op[16], last_id[128], last_cmd[256], last_error[256]; /* for status */
    struct hcb_value last_params; /* of a set_params, else null */
    bool has_last, last_applied, last_has_step;
    int64_t last_step;
    struct hcb_buf text; /* reused */
};

/* record.c: one op is done: ledger, log, status. */
void hcb_record(struct hotcb *h, const struct hcb_op *op, const struct hcb_outcome *outcome);
/* The same of an op that is of no use any more: what the status needs is taken out of it. */
void hcb_record_last(struct hotcb *h, struct hcb_op *op, const struct hcb_outcome *outcome);
/* The run itself did something to a callback (stop, fail, a script's disable). */
void hcb_record_own(struct hotcb *h, enum hcb_op_kind kind, enum hcb_origin origin, char *id,
                    enum hcb_reason reason, const char *why);
/* Of struct hcb_world. */
void hcb_carry_out(void *run, struct hcb_callback *cb, enum hcb_counts_of counts);

/* look.c: takes in what changed. Returns the number of ops. */
int hcb_look(struct hotcb *h);
/* Its parts, of which each returns the same. A part does less than there is to do where the
 * look has done enough, and says so in h->more. */
int hcb_look_scripts(struct hotcb *h); /* look_scripts.c */
int hcb_look_config(struct hotcb *h);  /* look_config.c */
void hcb_config_taking_release(struct hcb_config_taking *t);
/* All that was carried out of hotcb.yaml, *out being null before. false: there is no memory. */
bool hcb_config_carried(const struct hotcb *h, struct hcb_value *out);
/* What cannot be answered is not taken in; it stays where it is, for a later look. */
bool hcb_can_answer(struct hotcb *h, size_t ops);
/* Whether the part may take in one more, after so many, and leave so many loads to others. A
 * part that comes to its turn takes in one in any case, so that none waits for ever. */
bool hcb_may_take(struct hotcb *h, int taken, int loads_left);

/* Status, ledger, state: in this order, see ledger.h. */
void hcb_publish(struct hotcb *h);
void hcb_publish_command(struct hotcb *h); /* the same after a command of the host's: or later */
/* Of a forked child, whose handle does nothing from then on; a load where it is none. */
bool hcb_ask_is_child(struct hotcb *h);
static inline bool hcb_is_child(struct hotcb *h)
{
    bool same = h->process_word &&
                atomic_load_explicit(h->process_word, memory_order_relaxed) == h->process;
    return !same && hcb_ask_is_child(h);
}

/* hotcb.c: takes the lock of the run directory, or makes sure that it is still held. */
int hcb_run_lock(struct hotcb *h, struct hcb_err *err);

/* Makes a relative path of a command absolute: it is meant from the run directory. */
int hcb_run_resolve(const struct hotcb *h, struct hcb_op *op, struct hcb_err *err);

/* dispatch.c */
int hcb_dispatch(struct hotcb *h, struct hotcb_env *env, const char *event);
void hcb_dispatch_seen(struct hotcb *h, struct hotcb_env *env, int id); /* of one that has come */
/* Whether nobody is to be asked about it. No event that changes something by itself is ever
 * planned. */
static inline bool hcb_is_for_nobody(const struct hotcb *h, int id, int64_t step)
{
    const struct hcb_plan *plan = &h->plans[id];
    return (h->planned >> id & 1) && !h->changed && !plan->always && step < plan->next;
}

/* The step that schedules count a step event by: the host's, or else how often it came. */
static inline int64_t hcb_event_step(const struct hotcb *h, const struct hotcb_env *env, int slot)
{
    return env->has_step ? env->step : h->counts[slot];
}

/* status.c */
void hcb_status_write(struct hotcb *h, const char *state);
void hcb_callbacks_json(struct hcb_buf *b, const struct hotcb *h);

/* state.c */
bool hcb_state_write(struct hotcb *h); /* false: not written; said once while it lasts */
void hcb_state_save(struct hotcb *h);  /* writes what of it has changed */
/* Reads hotcb.state.json into commands.place and h->before; *ledger_bytes comes with it, and
 * is -1 where there is none.
 * A file that is not there or damaged is as good as none: the ledger knows the rest. But
 * one that cannot be read now is a failure where it is to be resumed from. */
int hcb_state_read(struct hotcb *h, int64_t *ledger_bytes, struct hcb_err *err);

/* resume.c: what h->before had is there again, before anything else is taken in.
 * Returns the number of callbacks. Where memory is missing, nothing is done, and h->resume
 * stays set: it is tried again. */
int hcb_resume(struct hotcb *h);
int hcb_resumable(const struct hotcb *h); /* callbacks in it that a command had loaded */

/* redo.c: from the place of the state, where the ledger's lines after `from` say more, to the
 * command at offset `to`. */
int hcb_redo_plan(struct hotcb *h, int64_t from, int64_t to, struct hcb_err *err);
bool hcb_redo(struct hotcb *h); /* false: not yet all of it, tried again at the next look */

#endif
