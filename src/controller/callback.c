/* One callback: loading and reloading its script, its parameters, its failures. */
#include "controller/callback.h"
#include "base/json.h"
#include "base/text.h"
#include "controller/exact.h"
#include <stdlib.h>
#include <string.h>

#define SAVED_BYTES (1 << 20) /* of what one save() gives, as JSON */

/* ---- the last failure -------------------------------------------------------- */

static const struct hcb_fault fine;
static const struct hcb_fault unknown = {.reason = HCB_MEMORY,
    .message = "it failed, and there was no memory to keep what it said"};

const struct hcb_fault *hcb_callback_fault(const struct hcb_callback *cb)
{
    return cb->last_fault ? cb->last_fault : cb->fault_repeats > 0 ? &unknown : &fine;
}

void hcb_callback_keep_fault(struct hcb_callback *cb, const struct hcb_fault *fault)
{
    if (!cb->last_fault)
        cb->last_fault = malloc(sizeof *cb->last_fault);
    if (cb->last_fault)
        *cb->last_fault = *fault;
    hcb_callback_touch(cb);
}

static void forget_fault(struct hcb_callback *cb)
{
    free(cb->last_fault);
    cb->last_fault = NULL;
}

/* ---- life ------------------------------------------------------------------ */

void hcb_callback_free(struct hcb_callback *cb)
{
    if (!cb)
        return;
    hcb_callback_free(cb->heir);
    hcb_script_free(cb->script);
    forget_fault(cb);
    hcb_piece_release(&cb->status);
    hcb_piece_release(&cb->state);
    hcb_loading_release(&cb->loading);
    hcb_value_release(&cb->init);
    hcb_value_release(&cb->set);
    hcb_value_release(&cb->since);
    hcb_value_release(&cb->limits_given);
    hcb_value_release(&cb->saved);
    hcb_buf_release(&cb->text);
    hcb_buf_release(&cb->found);
    free(cb->target.path);
    free(cb->target.symbol);
    free(cb->chunkname);
    free(cb->pending);
    free(cb->id);
    free(cb);
}

static void close_script(struct hcb_callback *cb, struct hcb_script *script,
                         struct hcb_world *world)
{
    struct hcb_fault fault;
    if (!script || hcb_script_dead(script))
        return;
    cb->closing = true;
    int status = hcb_script_close(script, &fault);
    world->carry_out(world->user, cb, hcb_counts_of_call(status == 0));
    cb->closing = false;
    if (status < 0)
        hcb_log(world->log, HOTCB_WARN, cb->id, "close() failed: %s", fault.message);
}

void hcb_callback_close(struct hcb_callback *cb, struct hcb_world *world)
{
    close_script(cb, cb->script, world);
    hcb_callback_touch(cb);
}

static bool copy_map(struct hcb_value *to, const struct hcb_value *from)
{
    if (from->type == HCB_MAP)
        return hcb_value_copy(to, from);
    hcb_value_map(to);
    return true;
}

/* Of a file, also where it never loads: it is the first. */
static bool watch_own(struct hcb_callback *cb)
{
    return cb->target.kind != HCB_TARGET_FILE ||
           hcb_watches_get(&cb->loading.watches, cb->target.path);
}

static bool copy_op(struct hcb_callback *cb, const struct hcb_op *op)
{
    cb->id = hcb_strdup(op->id);
    cb->target.kind = op->target.kind;
    cb->target.path = hcb_strdup(op->target.path);
    cb->target.symbol = hcb_strdup(op->target.symbol);
    return cb->id && cb->target.path && (cb->target.symbol || !op->target.symbol) &&
           copy_map(&cb->init, &op->init) && copy_map(&cb->set, &op->params) &&
           copy_map(&cb->limits_given, &op->limits) && watch_own(cb);
}

struct hcb_callback *hcb_callback_new(const struct hcb_op *op, const struct hcb_world *world,
                                      struct hcb_err *err)
{
    struct hcb_callback *cb = calloc(1, sizeof *cb);
    if (!cb || !copy_op(cb, op)) {
        hcb_callback_free(cb);
        hcb_fail_nomem(err);
        return NULL;
    }
    cb->origin = op->origin;
    cb->enabled = op->enabled != HCB_NO;
    cb->fault_event = -1;
    cb->wants = UINT64_MAX;
    cb->limits = world->limits;
    if (hcb_limits_read(&cb->limits, &world->limits, &cb->limits_given, err) < 0) {
        hcb_callback_free(cb);
        return NULL;
    }
    return cb;
}

/* ---- a new version --------------------------------------------------------- */

struct attempt {
    struct hcb_loading loading;
    struct hcb_module module;
    struct hcb_script *script;
    bool again; /* its text could not be read, which may pass */
};

static void attempt_release(struct attempt *a)
{
    hcb_loading_release(&a->loading);
    hcb_module_release(&a->module);
    hcb_script_free(a->script);
}

static void attempt_init(struct attempt *a, struct hcb_world *world)
{
    memset(a, 0, sizeof *a);
    a->loading.places = &world->places;
}

/* Sets up a state from a->module. */
static int attempt_script(struct attempt *a, struct hcb_callback *cb, struct hcb_world *world,
                          bool lenient, struct hcb_fault *fault)
{
    struct hcb_script_source source = {
        .id = cb->id, .chunkname = a->module.chunkname, .text = hcb_buf_text(&a->module.text),
        .n = a->module.text.len, .symbol = cb->target.symbol, .limits = cb->limits,
        .init = &cb->init, .set = &cb->set, .lenient = lenient, .framework = world->framework,
        .pool = world->pool, .effects = &world->effects, .find = hcb_loading_find,
        .find_user = &a->loading,
    };
    int status = hcb_script_open(&a->script, &source, fault);
    world->loads--;
    world->glance.bytes -= a->loading.bytes;
    a->loading.bytes = 0;
    world->carry_out(world->user, cb, status == 0 ? HCB_COUNTS_ALL : HCB_COUNTS_LINES);
    return status;
}

static int attempt_file(struct attempt *a, struct hcb_callback *cb, struct hcb_world *world,
                        bool lenient, struct hcb_fault *fault)
{
    struct hcb_err err;
    attempt_init(a, world);
    if (cb->found.len > 0) {
        a->loading.found = &cb->found;
        a->loading.found_as = &cb->loading.watches.v[0];
    }
    int status = hcb_loading_target(&a->loading, &cb->target, &a->module, &err);
    a->loading.found = NULL;
    a->again = status == HOTCB_ENOMEM || status == HOTCB_EIO;
    if (status < 0)
        return hcb_fault_set(fault, status == HOTCB_ENOMEM ? HCB_MEMORY : HCB_FILE, "%s",
                             err.text);
    return attempt_script(a, cb, world, lenient, fault);
}

/* What did not load still says which files matter: a new version of one of them
 * is worth another try. */
static void learn_watches(struct hcb_callback *cb, struct attempt *a)
{
    for (size_t i = 0; i < a->loading.watches.n; i++) {
        struct hcb_watch *from = &a->loading.watches.v[i];
        struct hcb_watch *to = hcb_watches_get(&cb->loading.watches, from->path);
        if (!to)
            continue;
        struct hcb_watch swap = *to;
        *to = *from;
        *from = swap;
    }
    if (a->again && cb->loading.watches.n > 0)
        hcb_watch_again(&cb->loading.watches.v[0]);
}

static void read_wants(struct hcb_callback *cb, struct hcb_world *world)
{
    const struct hcb_value *events = hcb_script_events(cb->script);
    cb->wants = events ? 0 : UINT64_MAX;
    for (size_t i = 0; events && i < events->u.list.n; i++) {
        const char *name = events->u.list.v[i].u.text.s;
        int id = hcb_event_wanted(&world->events, name);
        if (id >= 0)
            cb->wants |= UINT64_C(1) << id;
        else
            hcb_log(world->log, HOTCB_WARN, cb->id,
                    "event '%.60s' is not waited for: names have at most %d bytes, and scripts may "
                    "name at most %d kinds of event that have not come yet", name,
                    HCB_EVENT_NAME_MAX, HCB_EVENT_WANTED_MAX - HCB_EVENT_CANONICAL);
    }
}

static void read_schedule(struct hcb_callback *cb)
{
    cb->scheduled = hcb_script_schedule(cb->script) != NULL;
    cb->every = cb->scheduled ? hcb_script_every(cb->script) : 0;
}

/* An interval that changed is counted from the last step. */
static void update_schedule(struct hcb_callback *cb, struct hcb_world *world)
{
    int64_t before = cb->every;
    read_schedule(cb);
    for (int i = 0; cb->every != before && i < HCB_STEP_EVENTS; i++)
        hcb_schedule_change(&cb->due[i], cb->every, world->last_step[i]);
}

static void take_over(struct hcb_callback *cb, struct attempt *a, struct hcb_world *world)
{
    struct hcb_script *old = cb->script;
    struct hcb_buf text = cb->text;
    const char *dropped = hcb_script_dropped(a->script);
    if (dropped)
        hcb_log(world->log, HOTCB_WARN, cb->id,
                "values that the new version does not take were left out: %s", dropped);
    cb->script = a->script;
    a->script = NULL;
    cb->text = a->module.text;
    a->module.text = text;
    free(cb->chunkname);
    cb->chunkname = a->module.chunkname;
    a->module.chunkname = NULL;
    cb->attached = false;
    world->fresh = true;
    hcb_script_finder(cb->script, hcb_loading_find, &cb->loading);
    read_wants(cb, world);
    update_schedule(cb, world);
    close_script(cb, old, world);
    hcb_script_free(old);
    hcb_callback_touch(cb); /* at the end: who is told of this meanwhile may ask for the list */
}

/* With the sum of the text, which is known of a file. */
static void adopt_loading(struct hcb_callback *cb, struct attempt *a)
{
    const struct hcb_buf *text = &a->module.text;
    if (cb->target.kind == HCB_TARGET_FILE)
        memcpy(cb->sum, a->loading.watches.v[0].sum, sizeof cb->sum);
    else
        hcb_sha256(hcb_buf_text(text), text->len, cb->sum);
    struct hcb_loading old = cb->loading;
    cb->loading = a->loading;
    a->loading = old;
}

void hcb_callback_clear_pending(struct hcb_callback *cb)
{
    hcb_callback_touch(cb);
    free(cb->pending);
    cb->pending = NULL;
}

/* As when it was off: what went by meanwhile does not count. */
void hcb_callback_clear_failure(struct hcb_callback *cb)
{
    if (cb->failed)
        memset(cb->due, 0, sizeof cb->due);
    cb->failed = false;
    hcb_callback_touch(cb);
    cb->fault_repeats = cb->full_reports = cb->failed_saves = 0;
    forget_fault(cb);
    hcb_failures_clear(&cb->recent);
}

/* A save that fails costs the state, never the load; *saved is null then. */
static void save_running(struct hcb_callback *cb, struct hcb_world *world, struct hcb_value *saved)
{
    struct hcb_fault fault;
    if (hcb_script_dead(cb->script))
        return;
    int status = hcb_script_save(cb->script, saved, &fault);
    if (status < 0) {
        hcb_log(world->log, HOTCB_WARN, cb->id, "save() failed, the new version starts "
                "afresh: %s", fault.message);
        hcb_value_release(saved);
    }
    world->carry_out(world->user, cb, hcb_counts_of_call(status == 0));
}

/* So does a restore. What a new state is to know is of the version that runs, or else of an
 * earlier process. false: the new state has half of it. */
static bool hand_over(struct hcb_callback *cb, struct attempt *a, struct hcb_world *world)
{
    struct hcb_value saved = {0};
    const struct hcb_value *known = cb->script ? &saved : &cb->saved;
    struct hcb_fault fault;
    if (cb->script)
        save_running(cb, world, &saved);
    int status = known->type == HCB_NULL ? 0 : hcb_script_restore(a->script, known, &fault);
    if (status < 0)
        hcb_log(world->log, HOTCB_WARN, cb->id, "restore() failed, the new version starts "
                "afresh: %s", fault.message);
    world->carry_out(world->user, cb, status == 0 ? HCB_COUNTS_ALL : HCB_COUNTS_LINES);
    hcb_value_release(&saved);
    return status == 0;
}

/* After a restore() that failed, a clean state takes the place of the half-made one. */
static int attempt_version(struct attempt *a, struct hcb_callback *cb, struct hcb_world *world,
                           bool lenient, struct hcb_fault *fault)
{
    if (attempt_file(a, cb, world, lenient, fault) < 0)
        return -1;
    if (hand_over(cb, a, world))
        return 0;
    hcb_script_free(a->script);
    a->script = NULL;
    return attempt_script(a, cb, world, lenient, fault);
}

/* Of what was set in the version before not all may be known here. */
static void set_since(struct hcb_callback *cb, struct hcb_world *world)
{
    struct hcb_value since = cb->since;
    struct hcb_err err;
    memset(&cb->since, 0, sizeof cb->since);
    for (size_t i = 0; since.type == HCB_MAP && i < since.u.map.n;) {
        const struct hcb_pair *pair = &since.u.map.p[i];
        if (hcb_script_takes(cb->script, pair->key, &pair->value)) {
            i++;
            continue;
        }
        hcb_log(world->log, HOTCB_WARN, cb->id, "%.60s was set in the version before, and is left "
                "out: this one does not take it", pair->key);
        hcb_map_remove(&since, pair->key);
    }
    if (since.type == HCB_MAP && since.u.map.n > 0 && hcb_callback_set(cb, world, &since, &err) < 0)
        hcb_log(world->log, HOTCB_WARN, cb->id, "what was set in the version before is left out: "
                "%s", err.text);
    hcb_value_release(&since);
}

int hcb_callback_load(struct hcb_callback *cb, struct hcb_world *world, struct hcb_fault *fault)
{
    struct attempt a;
    int status = attempt_version(&a, cb, world, cb->resumed, fault);
    if (status == 0) {
        adopt_loading(cb, &a);
        take_over(cb, &a, world);
        cb->version = 1;
        set_since(cb, world);
    } else {
        learn_watches(cb, &a);
    }
    attempt_release(&a);
    return status;
}

/* What the state file can carry, and give back. */
static bool can_be_kept(const struct hcb_value *saved)
{
    struct hcb_buf text = {0};
    struct hcb_value read = {0};
    hcb_exact_write(&text, saved);
    bool ok = !text.oom && text.len <= SAVED_BYTES &&
              hcb_json_parse(text.data, text.len, &read, NULL) == 0;
    hcb_value_release(&read);
    hcb_buf_release(&text);
    return ok;
}

static void say_failed_save(struct hcb_callback *cb, struct hcb_world *world,
                            const struct hcb_fault *fault)
{
    if (hcb_worth_saying(++cb->failed_saves))
        hcb_log(world->log, HOTCB_WARN, cb->id, "save() failed at a checkpoint (%lld so far), "
                "what it gave before is kept: %s", (long long)cb->failed_saves, fault->message);
}

void hcb_callback_checkpoint(struct hcb_callback *cb, struct hcb_world *world)
{
    struct hcb_value saved = {0};
    struct hcb_fault fault;
    world->saved = true;
    hcb_callback_touch(cb);
    if (!cb->script || hcb_script_dead(cb->script))
        return;
    int status = hcb_script_save(cb->script, &saved, &fault);
    world->carry_out(world->user, cb, hcb_counts_of_call(status == 0));
    if (status == 0 && !can_be_kept(&saved))
        status = hcb_fault_set(&fault, HCB_RUNTIME, "more than %d KiB, or nested too deep",
                               SAVED_BYTES >> 10);
    if (status < 0) {
        say_failed_save(cb, world, &fault);
        hcb_value_release(&saved);
        return;
    }
    hcb_value_release(&cb->saved);
    cb->saved = saved;
}

int hcb_callback_reload(struct hcb_callback *cb, struct hcb_world *world, struct hcb_fault *fault)
{
    struct attempt a;
    int status = attempt_version(&a, cb, world, true, fault);
    if (status == 0) {
        adopt_loading(cb, &a);
        take_over(cb, &a, world);
        cb->version++;
        hcb_callback_clear_pending(cb);
        hcb_callback_clear_failure(cb);
    } else {
        learn_watches(cb, &a);
        hcb_callback_clear_pending(cb);
        cb->pending = hcb_strdup(fault->message);
    }
    attempt_release(&a);
    return status;
}

static bool copy_running(struct attempt *a, const struct hcb_callback *cb)
{
    hcb_buf_add(&a->module.text, cb->text.data, cb->text.len);
    a->module.chunkname = hcb_strdup(cb->chunkname);
    if (cb->target.kind == HCB_TARGET_FILE)
        a->loading.dir = hcb_path_dir(cb->target.path);
    return !a->module.text.oom && a->module.chunkname &&
           (a->loading.dir || cb->target.kind != HCB_TARGET_FILE);
}

int hcb_callback_rebuild(struct hcb_callback *cb, struct hcb_world *world, struct hcb_fault *fault)
{
    struct attempt a;
    attempt_init(&a, world);
    int status = copy_running(&a, cb) ? attempt_script(&a, cb, world, true, fault)
                                      : hcb_fault_set(fault, HCB_MEMORY, "out of memory");
    learn_watches(cb, &a);
    if (status == 0)
        take_over(cb, &a, world);
    attempt_release(&a);
    return status;
}

/* ---- files ----------------------------------------------------------------- */

/* A save that truncates and then writes is seen empty in between, and an unreadable or
 * missing file is no version either: the last good one goes on, without a word
 * unless it stays so. */
bool hcb_callback_changed(struct hcb_callback *cb, struct hcb_world *world, bool *text_differs)
{
    struct hcb_buf content = {0};
    struct hcb_err err;
    bool changed = false;
    *text_differs = false;
    for (size_t i = 0; i < cb->loading.watches.n; i++) {
        struct hcb_watch *w = &cb->loading.watches.v[i];
        int event = hcb_watch_check(w, &world->glance, &content, &err);
        if (event < 0)
            hcb_log(world->log, HOTCB_WARN, cb->id, "%s; the last good version goes on",
                    err.text);
        else if (event == HCB_WATCH_GONE && cb->script)
            hcb_log(world->log, HOTCB_INFO, cb->id, "%s is gone; the version that runs goes on",
                    w->path);
        if (world->glance.later)
            break;
        if (event != HCB_WATCH_CHANGED || content.len == 0)
            continue;
        changed = true;
        bool own = i == 0 && cb->target.kind == HCB_TARGET_FILE;
        if (own) {
            struct hcb_buf was = cb->found;
            cb->found = content;
            content = was;
        }
        if (!own || !cb->script || memcmp(w->sum, cb->sum, sizeof cb->sum) != 0)
            *text_differs = true;
    }
    hcb_buf_release(&content);
    return changed;
}

void hcb_callback_forget_found(struct hcb_callback *cb)
{
    hcb_buf_release(&cb->found);
}

/* ---- parameters ------------------------------------------------------------ */

static int ensure_alive(struct hcb_callback *cb, struct hcb_world *world, struct hcb_err *err)
{
    struct hcb_fault fault;
    if (!cb->script)
        return hcb_fail(err, HOTCB_EREFUSED, "it has not loaded yet: %s",
                        hcb_callback_fault(cb)->message);
    if (hcb_script_dead(cb->script) && hcb_callback_rebuild(cb, world, &fault) < 0)
        return hcb_fail(err, HOTCB_EREFUSED, "%s", fault.message);
    return 0;
}

int hcb_with_changes(const struct hcb_value *given, const struct hcb_value *changes,
                     const struct hcb_value *hides, struct hcb_value *out, struct hcb_err *err)
{
    bool ok = hcb_value_copy(out, given);
    for (size_t i = 0; ok && changes->type == HCB_MAP && i < changes->u.map.n; i++) {
        const struct hcb_pair *pair = &changes->u.map.p[i];
        if (pair->value.type == HCB_NULL && !hcb_map_get(hides, pair->key))
            hcb_map_remove(out, pair->key);
        else
            ok = hcb_map_set(out, pair->key, &pair->value);
    }
    if (ok)
        return 0;
    hcb_value_release(out);
    return hcb_fail_nomem(err);
}

/* Puts `next` in place if the change was made; releases the other one. */
static void settle(struct hcb_callback *cb, struct hcb_value *given, struct hcb_value *next,
                   bool made)
{
    struct hcb_value old = *given;
    hcb_callback_touch(cb);
    if (made) {
        *given = *next;
        *next = old;
    }
    hcb_value_release(next);
}

int hcb_callback_want(struct hcb_callback *cb, const struct hcb_value *params,
                      struct hcb_err *err)
{
    struct hcb_value next = {0};
    int status = hcb_with_changes(&cb->set, params, NULL, &next, err);
    settle(cb, &cb->set, &next, status == 0);
    return status;
}

int hcb_callback_set(struct hcb_callback *cb, struct hcb_world *world,
                     const struct hcb_value *params, struct hcb_err *err)
{
    struct hcb_value next = {0};
    int status = ensure_alive(cb, world, err);
    if (status == 0)
        status = hcb_with_changes(&cb->set, params, NULL, &next, err);
    if (status == 0)
        status = hcb_script_set(cb->script, params, err);
    world->carry_out(world->user, cb, hcb_counts_of_call(status == 0));
    settle(cb, &cb->set, &next, status == 0);
    if (status == 0)
        update_schedule(cb, world);
    return status;
}

static int rebuild_with(struct hcb_callback *cb, struct hcb_world *world,
                        const struct hcb_limits *before, struct hcb_err *err)
{
    struct hcb_fault fault;
    if (hcb_callback_reload(cb, world, &fault) == 0)
        return 0;
    cb->limits = *before;
    return hcb_fail(err, HOTCB_EREFUSED, "%s", fault.message);
}

/* What is not named stays. How much memory and which libraries a state has is settled
 * when it is made. */
int hcb_callback_set_limits(struct hcb_callback *cb, struct hcb_world *world,
                            const struct hcb_value *limits, struct hcb_err *err)
{
    struct hcb_limits before = cb->limits, wanted = cb->limits;
    struct hcb_value next = {0};
    int status = hcb_limits_read(&wanted, &world->limits, limits, err);
    if (status == 0)
        status = hcb_with_changes(&cb->limits_given, limits, NULL, &next, err);
    if (status < 0)
        return status;
    cb->limits = wanted;
    if (cb->script && (wanted.coroutines != before.coroutines ||
                       wanted.memory_mb != before.memory_mb))
        status = rebuild_with(cb, world, &before, err);
    else if (cb->script)
        hcb_script_limits(cb->script, &wanted);
    settle(cb, &cb->limits_given, &next, status == 0);
    return status;
}

/* ---- calls ----------------------------------------------------------------- */

/* Multiples that went by while it was off do not count. */
void hcb_callback_enable(struct hcb_callback *cb, struct hcb_world *world, bool on)
{
    if (on && !cb->enabled)
        memset(cb->due, 0, sizeof cb->due);
    cb->enabled = on;
    hcb_callback_touch(cb);
    world->fresh |= on && !cb->attached;
    if (!cb->heir)
        return;
    cb->heir->enabled = on;
    hcb_callback_touch(cb->heir);
}

/* "callbacks/x.lua:14: what happened" twice is the same failure though what is said of
 * it may name the step; without such a place the whole text counts. */
static bool same_place(const char *a, const char *b)
{
    const char *colon = strstr(a, ": ");
    size_t n = colon ? (size_t)(colon - a) + 2 : strlen(a) + 1;
    return strncmp(a, b, n) == 0;
}

bool hcb_callback_record(struct hcb_callback *cb, const struct hcb_fault *fault, int event,
                         bool has_step, int64_t step)
{
    const struct hcb_fault *before = hcb_callback_fault(cb);
    bool same = before == &unknown || (before->reason == fault->reason &&
                                       same_place(before->message, fault->message));
    int recent = hcb_failures_add(&cb->recent, cb->calls);
    cb->failed_calls++;
    cb->fault_repeats = same ? cb->fault_repeats + 1 : 1;
    hcb_callback_keep_fault(cb, fault);
    cb->fault_event = event;
    cb->fault_step = step;
    cb->fault_has_step = has_step;
    if (cb->failed || cb->limits.errors == 0 || recent < cb->limits.errors)
        return false;
    cb->failed = true;
    return true;
}
