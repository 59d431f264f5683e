/* An event reaches the callbacks that want it; a failure is counted and contained. */
#include "base/clock.h"
#include "base/platform.h"
#include "controller/run.h"
#include "script/guard.h"
#include <stdio.h>
#include <string.h>

#define FULL_REPORTS 10 /* of different failures of a callback that is let go on */

static void say_failure(struct hotcb *h, struct hcb_callback *cb, const struct hcb_fault *f,
                        const char *event)
{
    if (!hcb_worth_saying(cb->fault_repeats))
        return;
    if (cb->fault_repeats == 1 && ++cb->full_reports > FULL_REPORTS &&
        !hcb_worth_saying(cb->failed_calls))
        return;
    if (cb->fault_repeats > 1) {
        hcb_log(&h->log, HOTCB_WARN, cb->id, "the same failure %lld times now: %s",
                (long long)cb->fault_repeats, f->message);
        return;
    }
    hcb_log(&h->log, HOTCB_ERROR, cb->id, "failed (%s) in %s: %s",
            hcb_reason_name(f->reason), event, f->message);
    for (const char *line = f->traceback; *line;) {
        size_t n = strcspn(line, "\n");
        hcb_log(&h->log, HOTCB_ERROR, cb->id, "  %.*s", (int)n, line);
        line += n + (line[n] == '\n');
    }
}

static void failed(struct hotcb *h, struct hcb_callback *cb, const struct hcb_fault *fault,
                   int event)
{
    const char *name = h->registry.world.events.names[event];
    bool stopped = hcb_callback_record(cb, fault, event, h->has_step, h->step);
    say_failure(h, cb, fault, name);
    if (!stopped)
        return;
    hcb_log(&h->log, HOTCB_ERROR, cb->id, "is stopped; a changed file or `enable` starts it "
            "again");
    hcb_record_own(h, HCB_OP_FAIL, HCB_FROM_RUN, cb->id, fault->reason, fault->message);
}

static int attach(struct hotcb *h, struct hcb_callback *cb, struct hotcb_env *env,
                  struct hcb_fault *fault)
{
    cb->attached = true;
    int status = hcb_script_attach(cb->script, env, fault);
    if (hcb_is_child(h)) /* a lazy value forked, and this is the other one */
        return -1;
    hcb_carry_out(h, cb, hcb_counts_of_call(status == 0));
    return status;
}

/* A state that was stopped is made anew, and learns of the run first. */
static int revive(struct hotcb *h, struct hcb_callback *cb, struct hotcb_env *env,
                  struct hcb_fault *fault)
{
    h->planned = 0; /* its chunk runs anew, and may say otherwise what it wants */
    if (hcb_callback_rebuild(cb, &h->registry.world, fault) < 0)
        return -1;
    return attach(h, cb, env, fault);
}

static void count_cost(struct hotcb *h, struct hcb_callback *cb, int64_t took)
{
    cb->cost_ns += took;
    h->apply_ns += took;
}

/* ---- the calls of one event --------------------------------------------------- */

/* How far they are. One that is broken off is found here, as it was. */
struct calls {
    struct hotcb *h;
    struct hotcb_env *env;
    int event;
    int64_t step;
    bool backwards;
    size_t i;                 /* of the next callback to be asked */
    struct hcb_callback *due; /* that was asked last, and is called */
    bool calling;             /* a call of it goes on */
    int64_t begin_ns;         /* 0: it is not timed */
};

static void time_call(struct calls *c)
{
    int64_t took = hcb_clock_ns() - c->begin_ns;
    c->due->usual_ns += c->due->usual_ns > 0 ? (took - c->due->usual_ns) / 8 : took;
    count_cost(c->h, c->due, took);
}

static int handle(struct hcb_round *round, struct calls *c)
{
    const char *name = c->h->registry.world.events.names[c->event];
    return hcb_script_handle(round, c->due->script, name, c->env, &c->h->fault);
}

/* What a call has asked for, or that it failed. */
static void follow(struct hotcb *h, struct hcb_callback *cb, int status, int event)
{
    int was = hcb_platform_hold_cancel();
    if (hcb_effects_any(&h->registry.world.effects))
        hcb_carry_out(h, cb, hcb_counts_of_call(status == 0));
    if (status < 0)
        failed(h, cb, &h->fault, event);
    hcb_platform_release_cancel(was);
}

static void end_call(struct calls *c, int status)
{
    struct hotcb *h = c->h;
    c->calling = false;
    if (hcb_is_child(h)) /* as in attach */
        return;
    if (status < 0 || hcb_effects_any(&h->registry.world.effects))
        follow(h, c->due, status, c->event);
    if (c->begin_ns)
        time_call(c);
    else
        count_cost(h, c->due, c->due->usual_ns);
}

static void call(struct hcb_round *round, struct calls *c)
{
    struct hcb_callback *cb = c->due;
    c->begin_ns = hcb_cost_is_timed(cb->calls) ? hcb_clock_ns() : 0;
    cb->calls++;
    c->calling = true;
    int status = handle(round, c);
    if (status == HCB_SCRIPT_DEAD) {
        int was = hcb_platform_hold_cancel();
        status = revive(c->h, cb, c->env, &c->h->fault);
        hcb_platform_release_cancel(was);
        status = status == 0 ? handle(round, c) : -1;
    }
    end_call(c, status);
}

static inline bool next_due(struct calls *c)
{
    struct hcb_registry *all = &c->h->registry;
    while (c->i < all->n && c->h->open) {
        c->due = all->v[c->i++];
        if (hcb_callback_due(c->due, c->event, c->step, c->backwards))
            return true;
    }
    return false;
}

static void go_round(struct hcb_round *round, void *user)
{
    struct calls *c = user;
    do
        c->calling ? end_call(c, -1) /* it was broken off */ : call(round, c);
    while (next_due(c));
}

static void refresh_guard(struct hotcb *h)
{
    int64_t now_ns = h->coarse_ns ? h->coarse_ns : hcb_clock_coarse_by(h->coarse_clock);
    if (now_ns == h->guard_ns)
        return;
    const char *before = hcb_guard_name();
    hcb_guard_refresh();
    h->guard_ns = now_ns;
    if (hcb_guard_name() != before)
        h->changed = true; /* status says which it is */
}

static void call_all(struct hotcb *h, struct hotcb_env *env, int id, int64_t step, bool backwards)
{
    struct calls c;
    c.h = h;
    c.env = env;
    c.event = id;
    c.step = step;
    c.backwards = backwards;
    c.i = 0;
    c.calling = false;
    if (!next_due(&c))
        return;
    refresh_guard(h);
    hcb_script_round(go_round, &c);
}

/* on_attach of those that are new, at the first apply, due or not. A state may have been
 * stopped before that, by values that it was given. */
static void attach_fresh(struct hotcb *h, struct hotcb_env *env, int event)
{
    int was = hcb_platform_hold_cancel();
    h->registry.world.fresh = false;
    for (size_t i = 0; i < h->registry.n && h->open; i++) {
        struct hcb_callback *cb = h->registry.v[i];
        struct hcb_fault fault;
        int64_t begin = hcb_clock_ns();
        if (cb->attached || !cb->enabled || cb->failed || !cb->script)
            continue;
        int status = hcb_script_dead(cb->script) ? revive(h, cb, env, &fault)
                                                 : attach(h, cb, env, &fault);
        if (status < 0 && h->open)
            failed(h, cb, &fault, event);
        count_cost(h, cb, hcb_clock_ns() - begin);
    }
    hcb_platform_release_cancel(was);
}

static int64_t count_step(struct hotcb *h, const struct hotcb_env *env, int slot, bool *backwards)
{
    struct hcb_world *w = &h->registry.world;
    int64_t step = hcb_event_step(h, env, slot);
    h->counts[slot]++;
    *backwards = w->has_last[slot] && step < w->last_step[slot];
    w->has_last[slot] = true;
    w->last_step[slot] = step;
    return step;
}

/* The state is published by the apply that this is part of. */
static void checkpoint(struct hotcb *h)
{
    int was = hcb_platform_hold_cancel();
    for (size_t i = 0; i < h->registry.n; i++)
        hcb_callback_checkpoint(h->registry.v[i], &h->registry.world);
    hcb_platform_release_cancel(was);
    h->changed = true;
}

/* Whom the event has to be taken to next; all have just been asked. */
static struct hcb_plan plan_event(const struct hotcb *h, int id, int slot)
{
    struct hcb_plan plan = {.slot = (signed char)slot, .next = INT64_MAX};
    for (size_t i = 0; i < h->registry.n && !plan.always; i++) {
        const struct hcb_callback *cb = h->registry.v[i];
        if (!hcb_callback_wants(cb, id))
            continue;
        const struct hcb_schedule *due = cb->scheduled && slot >= 0 ? &cb->due[slot] : NULL;
        if (!due)
            plan.always = true;
        else if (cb->every > 0 && !due->ended && due->next < plan.next)
            plan.next = due->next;
    }
    return plan;
}

static void make_plan(struct hotcb *h, int id, int slot)
{
    h->plans[id] = plan_event(h, id, slot);
    h->planned |= (uint64_t)(!h->changed && id != HCB_CHECKPOINT) << id;
}

/* A plan that says so cannot become another one by calls alone. */
static bool is_for_all(const struct hotcb *h, int id)
{
    return (h->planned >> id & 1) && !h->changed && h->plans[id].always;
}

static int refuse_event(struct hotcb *h, const char *event)
{
    return hcb_fail(&h->err, HOTCB_EINVAL,
                    "event '%.80s': a run has at most %d kinds of event, with names of 1 to %d "
                    "bytes", event, HCB_EVENT_MAX, HCB_EVENT_NAME_MAX);
}

int hcb_dispatch(struct hotcb *h, struct hotcb_env *env, const char *event)
{
    struct hcb_events *events = &h->registry.world.events;
    int id = hcb_event_id(events, event);
    if (id < 0)
        return refuse_event(h, event);
    if (!events->seen[id])
        h->changed = true; /* somebody may be waiting for it */
    events->seen[id] = true;
    hcb_dispatch_seen(h, env, id);
    return 0;
}

void hcb_dispatch_seen(struct hotcb *h, struct hotcb_env *env, int id)
{
    bool backwards = false;
    int slot = h->plans[id].slot;
    int64_t step = slot >= 0 ? count_step(h, env, slot, &backwards) : INT64_MIN;
    if (h->registry.world.fresh)
        attach_fresh(h, env, id);
    if (backwards || !hcb_is_for_nobody(h, id, step)) {
        call_all(h, env, id, step, backwards);
        if (!is_for_all(h, id))
            make_plan(h, id, slot);
    }
    if (id == HCB_CHECKPOINT && h->open)
        checkpoint(h);
}
