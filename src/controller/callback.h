/* One callback: where its script comes from, the version that runs, whether it is
 * enabled and due, what it did, how it failed. Loading, reloading and the rules of
 * failure are here; which callbacks there are is registry.h's business. */
#ifndef HCB_CALLBACK_H
#define HCB_CALLBACK_H

#include "control/op.h"
#include "control/limits.h"
#include "controller/failures.h"
#include "controller/log.h"
#include "controller/modules.h"
#include "controller/piece.h"
#include "controller/schedule.h"
#include "env/event.h"
#include "script/script.h"
#include "sink/artifact.h"

#define HCB_STEP_EVENTS 3 /* those that schedules count */

struct hcb_callback {
    /* what each event looks at */
    struct hcb_script *script; /* the version that runs, or NULL if none ever did */
    uint64_t wants;            /* events, a bit each */
    bool enabled;              /* as asked; a failure does not change it */
    bool failed;               /* stopped by a failure; cleared by a changed file or enable */
    bool scheduled;
    int64_t every;
    int64_t calls;
    int64_t cost_ns;  /* of all calls; of those that were not timed, what is usual */
    int64_t usual_ns; /* what a call has cost lately */
    struct hcb_schedule due[HCB_STEP_EVENTS];

    char *id;
    struct hcb_target target;  /* a file's path is absolute */
    enum hcb_origin origin;
    struct hcb_value init, set; /* maps: of the load; set since */
    struct hcb_value since;     /* of an heir: what commands have set meanwhile; a map, or null */
    struct hcb_value saved;     /* what save() gave at the last checkpoint; or null */
    bool resumed;               /* it ran in an earlier process: what does not fit is left out */
    struct hcb_value limits_given;
    struct hcb_limits limits;

    struct hcb_buf text;       /* its source, to rebuild a stopped state from */
    struct hcb_buf found;      /* a look's: its file as hcb_callback_changed() read it */
    char *chunkname;
    unsigned char sum[HCB_SHA256_BYTES]; /* of that text */
    int64_t version;           /* how many versions have run */
    bool attached;
    bool closing;              /* its close() runs: it cannot disable itself any more */
    struct hcb_loading loading; /* of the version that runs; its watches also when none does */
    char *pending;             /* why a newer text does not load; NULL: none */
    struct hcb_callback *heir; /* what YAML wants in its place, once it loads; or NULL */

    int64_t failed_calls;
    struct hcb_artifacts artifacts;
    int64_t lost_artifacts, too_much; /* calls that asked for more than they may */
    int64_t failed_saves;             /* at checkpoints, since the last clean start */
    struct hcb_failures recent;
    struct hcb_fault *last_fault; /* NULL: none; see hcb_callback_fault */
    int64_t fault_step, fault_repeats;
    int64_t full_reports;      /* of failures, in the log, since the last clean start */
    bool fault_has_step;
    int fault_event;           /* id, or -1: outside an event */
    struct hcb_piece status, state; /* what the two files say of it */
};

/* How much counts of what a script has asked for. */
enum hcb_counts_of {
    HCB_COUNTS_LINES, /* a version that does not take over: nothing but its log lines */
    HCB_COUNTS_ORDERS, /* a call that failed: these, stop and disable */
    HCB_COUNTS_ALL
};

static inline enum hcb_counts_of hcb_counts_of_call(bool ok)
{
    return ok ? HCB_COUNTS_ALL : HCB_COUNTS_ORDERS;
}

/* What loading needs of the run. */
struct hcb_world {
    struct hcb_places places;
    struct hcb_limits limits; /* the defaults */
    const char *framework;
    struct hcb_pool *pool;    /* of the states of its scripts */
    struct hcb_effects effects;
    struct hcb_events events;
    struct hcb_log *log;
    struct hcb_glance glance; /* of this look */
    int64_t loads;    /* scripts that this look may still set up */
    int64_t last_step[HCB_STEP_EVENTS]; /* seen at each step event */
    bool has_last[HCB_STEP_EVENTS];
    bool fresh;       /* some callback may have to be attached */
    bool saved;       /* a checkpoint came, or the end: counters are to be kept, too */

    /* Carries out what cb has just asked for (effects), as far as it counts; the queue is
     * empty afterwards. */
    void (*carry_out)(void *user, struct hcb_callback *cb, enum hcb_counts_of counts);
    void *user;
};

/* A callback as a load op wants it, nothing loaded yet. NULL when out of memory;
 * EREFUSED for limits that are none. */
struct hcb_callback *hcb_callback_new(const struct hcb_op *load, const struct hcb_world *world,
                                      struct hcb_err *err);
/* Runs close() if the script can run: the last call into it. */
void hcb_callback_close(struct hcb_callback *cb, struct hcb_world *world);
/* Frees all; runs nothing. */
void hcb_callback_free(struct hcb_callback *cb);

/* First load. 0, or -1 with *fault; the callback then has no script, but watches. */
int hcb_callback_load(struct hcb_callback *cb, struct hcb_world *world, struct hcb_fault *fault);

/* Keeps what save() gives, for a process that resumes. */
void hcb_callback_checkpoint(struct hcb_callback *cb, struct hcb_world *world);

/* New text in a new state aside, with restore(save()); takes over only if all of that
 * works, else the old version goes on and `pending` says why. Clears a failure. */
int hcb_callback_reload(struct hcb_callback *cb, struct hcb_world *world,
                        struct hcb_fault *fault);

/* The running version again from its own text, after a stop; parameters kept. */
int hcb_callback_rebuild(struct hcb_callback *cb, struct hcb_world *world,
                         struct hcb_fault *fault);

/* Has one of its files another content than at the last look? `text_differs`: the
 * script or a helper is not what runs (a file that went back to it does not). What was read
 * is used by a load that follows at once; then it is to be forgotten. */
bool hcb_callback_changed(struct hcb_callback *cb, struct hcb_world *world, bool *text_differs);
void hcb_callback_forget_found(struct hcb_callback *cb);

/* *out (null before) becomes a copy of `given` with `changes` made: null takes a key away, or
 * stays as null where `hides` (a map, or NULL) has it. Made before anything is done, so that
 * what was done is never forgotten. Errors: ENOMEM. */
int hcb_with_changes(const struct hcb_value *given, const struct hcb_value *changes,
                     const struct hcb_value *hides, struct hcb_value *out, struct hcb_err *err);

/* Remembers values to be set by the next load; null takes one away. */
int hcb_callback_want(struct hcb_callback *cb, const struct hcb_value *params,
                      struct hcb_err *err);
int hcb_callback_set(struct hcb_callback *cb, struct hcb_world *world,
                     const struct hcb_value *params, struct hcb_err *err);
int hcb_callback_set_limits(struct hcb_callback *cb, struct hcb_world *world,
                            const struct hcb_value *limits, struct hcb_err *err);
void hcb_callback_clear_failure(struct hcb_callback *cb);
void hcb_callback_clear_pending(struct hcb_callback *cb);
void hcb_callback_enable(struct hcb_callback *cb, struct hcb_world *world, bool on);

/* Records a failure of its last call. true: that one stopped it. */
bool hcb_callback_record(struct hcb_callback *cb, const struct hcb_fault *fault, int event,
                         bool has_step, int64_t step);

/* Something that the status or the state says of it has changed, or may have. Whoever
 * changes a callback calls this; of what is counted (struct hcb_counts) it needs no call. */
static inline void hcb_callback_touch(struct hcb_callback *cb)
{
    cb->status.holds = cb->state.holds = false;
}

/* The last failure; its reason is HCB_FINE where there was none. */
const struct hcb_fault *hcb_callback_fault(const struct hcb_callback *cb);
/* Keeps a copy of it; where there is no memory for that, that there was none. */
void hcb_callback_keep_fault(struct hcb_callback *cb, const struct hcb_fault *fault);

/* A step event's place among them, 0 to HCB_STEP_EVENTS - 1; of other events -1. */
static inline int hcb_step_event(int event)
{
    return event == HCB_TRAIN_STEP_END ? 0 : event == HCB_VAL_STEP_END ? 1
           : event == HCB_GRADS_READY ? 2 : -1;
}

/* Whether it is to have that event at all. */
static inline bool hcb_callback_wants(const struct hcb_callback *cb, int event)
{
    return cb->enabled && !cb->failed && (cb->wants >> event & 1);
}

/* Whether a call of `event` at `step` is for it; counts its schedule. */
static inline bool hcb_callback_due(struct hcb_callback *cb, int event, int64_t step,
                                    bool backwards)
{
    if (!hcb_callback_wants(cb, event))
        return false;
    int i = cb->scheduled ? hcb_step_event(event) : -1;
    return i < 0 || hcb_schedule_due(&cb->due[i], cb->every, step, backwards);
}

#endif
