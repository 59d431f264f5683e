/* The public functions of a run: open, apply, close and what is asked in between. */
#include "base/clock.h"
#include "base/platform.h"
#include "base/text.h"
#include "controller/entry.h"
#include "controller/run.h"
#include "script/pool.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOG_BYTES (INT64_C(8) << 20)
#define METRICS_BYTES (INT64_C(256) << 20)
#define MEDIA_BYTES (INT64_C(256) << 20)
#define ARTIFACT_BYTES (INT64_C(1) << 30)
#define ARTIFACT_FILES 10000

/* ---- texts ----------------------------------------------------------------- */

const char *hotcb_strerror(int error)
{
    switch (error) {
#define HOTCB_ERROR_CASE(name, number, text) case name: return text;
        HOTCB_ERRORS(HOTCB_ERROR_CASE)
#undef HOTCB_ERROR_CASE
    case HOTCB_OK: return "no error";
    }
    return "an unknown error";
}

const char *hotcb_version(void) { return HOTCB_VERSION; }
int hotcb_abi(void) { return HOTCB_ABI; }
void hotcb_free(void *p) { free(p); }

const char *hotcb_errmsg(const hotcb *h)
{
    return h ? h->err.text : "there is no handle: it was not opened, or there was no memory for it";
}

const char *hotcb_stop_reason(const hotcb *h)
{
    return h && h->open ? h->stop_reason : NULL;
}

/* ---- open ------------------------------------------------------------------ */

/* A program built against an older header passes a shorter struct. */
static void read_options(hotcb_options *to, const hotcb_options *from)
{
    static const hotcb_options defaults = HOTCB_OPTIONS_INIT;
    *to = defaults;
    if (!from)
        return;
    memcpy(to, from, from->size < sizeof *to ? from->size : sizeof *to);
}

static void name_run(struct hotcb *h)
{
    char stamp[24];
    time_t now = (time_t)h->started_wall;
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
    unsigned tag = (unsigned)(hcb_clock_ns() ^ (int64_t)(uintptr_t)h) & 0xffff;
    snprintf(h->run, sizeof h->run, "%s-%ld-%04x", stamp, (long)h->pid, tag);
    if (gethostname(h->host, sizeof h->host - 1) != 0)
        snprintf(h->host, sizeof h->host, "unknown");
}

/* errors: 0 in the options is the default, in the limits it means never. */
static void set_limits(struct hcb_limits *limits, const hotcb_options *opt)
{
    static const struct hcb_limits defaults = HCB_LIMITS_DEFAULT;
    *limits = defaults;
    if (opt->time_ms > 0)
        limits->time_ms = opt->time_ms;
    if (opt->memory_mb > 0)
        limits->memory_mb = opt->memory_mb;
    if (opt->errors != 0)
        limits->errors = opt->errors < 0 ? 0 : opt->errors;
    hcb_limits_clamp(limits);
}

/* The working directory of the host may change later. */
static char *absolute_list(const char *dirs)
{
    struct hcb_buf b = {0};
    while (*dirs) {
        size_t n = strcspn(dirs, ":");
        char *dir = strndup(dirs, n), *path = dir && n > 0 ? hcb_path_absolute(dir) : NULL;
        b.oom |= !dir;
        if (dir && n > 0)
            hcb_buf_printf(&b, "%s%s", b.len > 0 ? ":" : "", path ? path : dir);
        free(dir);
        free(path);
        dirs += n + (dirs[n] == ':');
    }
    return hcb_buf_take(&b);
}

static int copy_places(struct hotcb *h, const hotcb_options *opt)
{
    struct hcb_world *w = &h->registry.world;
    const char *path = opt->search_path ? opt->search_path : getenv("HOTCB_PATH");
    h->framework = hcb_strdup(opt->framework ? opt->framework : "c");
    w->places.cwd = hcb_path_absolute(".");
    w->places.search_path = path ? absolute_list(path) : NULL;
    w->framework = h->framework;
    w->log = &h->log;
    w->carry_out = hcb_carry_out;
    w->user = h;
    hcb_events_init(&w->events);
    w->pool = hcb_pool_new();
    bool ok = h->framework && w->pool && (w->places.search_path || !path);
    return ok ? 0 : hcb_fail_nomem(&h->err);
}

static int64_t or_default(int64_t given, int64_t usual)
{
    return given > 0 ? given : usual;
}

#define POLL_MS_MAX (INT64_C(1000) * 86400 * 365) /* in ns it must not overflow */

static int64_t poll_interval_ns(int64_t ms)
{
    ms = ms < 0 ? 0 : or_default(ms, 50);
    return (ms < POLL_MS_MAX ? ms : POLL_MS_MAX) * 1000000;
}

static int init(struct hotcb *h, const hotcb_options *opt)
{
    h->pid = getpid();
    h->process = hcb_platform_process();
    h->process_word = hcb_platform_process_word();
    h->lock.fd = h->ledger.fd = -1;
    for (int id = 0; id < HCB_EVENT_MAX; id++)
        h->plans[id].slot = (signed char)hcb_step_event(id);
    h->coarse_clock = hcb_platform_coarse_clock();
    h->last_look_ns = HCB_NEVER_NS;
    h->started_ns = h->rate_ns = hcb_clock_ns();
    h->started_wall = hcb_clock_wall();
    h->steps_per_s = -1;
    h->debounce_steps = or_default(opt->debounce_steps, 1);
    h->poll_interval_ns = poll_interval_ns(opt->poll_interval_ms);
    h->resume = opt->resume != 0;
    h->log_bytes = or_default(opt->log_bytes, LOG_BYTES);
    h->metrics_bytes = or_default(opt->metrics_bytes, METRICS_BYTES);
    h->media_bytes = or_default(opt->media_bytes, MEDIA_BYTES);
    h->artifact_bytes = or_default(opt->artifact_bytes, ARTIFACT_BYTES);
    h->artifact_files = or_default(opt->artifact_files, ARTIFACT_FILES);
    hcb_log_init(&h->log, opt->log, opt->log_user, opt->log_level);
    name_run(h);
    set_limits(&h->registry.world.limits, opt);
    if (!hcb_rundir_init(&h->dir, opt->dir ? opt->dir : ".", opt->config_path, opt->commands_path))
        return hcb_fail_nomem(&h->err);
    h->config_dir = hcb_path_dir(h->dir.config);
    if (!h->config_dir || !hcb_watch_init(&h->config_watch, h->dir.config, HCB_CONFIG_BYTES) ||
        hcb_commands_init(&h->commands, h->dir.commands) < 0)
        return hcb_fail_nomem(&h->err);
    return copy_places(h, opt);
}

static int open_directory(struct hotcb *h, bool create)
{
    struct stat st;
    if (create && hcb_make_dirs(h->dir.dir, &h->err) < 0)
        return h->err.code;
    if (stat(h->dir.dir, &st) != 0)
        return hcb_fail_errno(&h->err, "open the run directory %s", h->dir.dir);
    if (!S_ISDIR(st.st_mode))
        return hcb_fail(&h->err, HOTCB_EIO, "%s is not a directory", h->dir.dir);
    hcb_sig_get(h->dir.dir, &h->dir_sig);
    return 0;
}

int hcb_run_lock(struct hotcb *h, struct hcb_err *err)
{
    char text[192];
    snprintf(text, sizeof text, "pid %ld on %s, run %s\n", (long)h->pid, h->host, h->run);
    int status = hcb_lock_keep(&h->lock, h->dir.lock, text, err);
    if (status == 0 && h->lock.advisory_only && h->last_lock_ns == 0)
        hcb_log(&h->log, HOTCB_WARN, NULL, "%s: this file system has no locks; a second run in the "
                "same directory would not be noticed", h->dir.lock);
    return status;
}

/* The config belongs to people, and is optional: one to begin with is put only into a
 * directory of our own. */
static int make_files(struct hotcb *h, bool own_config)
{
    struct hcb_err err;
    if (own_config && hcb_file_touch(h->dir.config, HCB_CONFIG_TEMPLATE, &err) < 0)
        hcb_log(&h->log, HOTCB_WARN, NULL, "%s", err.text);
    return hcb_file_touch(h->dir.commands, "", &h->err);
}

static void warn_if_writable(struct hotcb *h, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && (st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
        hcb_log(&h->log, HOTCB_WARN, NULL, "%s may be written by anybody on this machine: whoever "
                "appends to the command file steers the run", path);
}

/* What of an earlier process is not done again, and what can be. */
static void say_history(struct hotcb *h)
{
    int64_t skipped = h->commands.place.count;
    int loaded = h->resume ? 0 : hcb_resumable(h);
    char more[160] = "";
    if (loaded > 0)
        snprintf(more, sizeof more, "; %d callback%s loaded by command, to restore %s open with "
                 "resume", loaded, loaded == 1 ? " was" : "s were", loaded == 1 ? "it" : "them");
    if (skipped > 0)
        hcb_log(&h->log, HOTCB_INFO, NULL, "%lld earlier command%s skipped%s", (long long)skipped,
                skipped == 1 ? "" : "s", more);
}

/* Past the command that was answered last. Where it is not, the file is another one, or was
 * edited, and is read as one that was edited during the run; where that cannot be found out,
 * commands would be executed twice. */
static int skip_answered(struct hotcb *h, int64_t from, int64_t offset)
{
    struct hcb_err err;
    struct hcb_commands_place place = h->commands.place;
    h->long_from = from < 0 || from > h->ledger.bytes ? 0 : from;
    if (offset < place.offset)
        return 0;
    int status = hcb_commands_skip_to(&h->commands, offset, &err);
    if (status < 0 && status != HOTCB_EFORMAT)
        return hcb_fail(&h->err, status, "%s", err.text);
    if (status < 0)
        hcb_log(&h->log, HOTCB_WARN, NULL, "%s", err.text);
    h->restarting |= status < 0;
    if (status < 0 || !h->resume || from < 0 || from > h->ledger.bytes)
        return 0;
    h->commands.place = place;
    h->commands.told = false;
    return hcb_redo_plan(h, from, offset, &h->err);
}

/* What the state file does not know yet, because the process died between the two, the
 * ledger does. */
static int open_history(struct hotcb *h)
{
    struct hcb_ledger_end end;
    int64_t from;
    struct hcb_err err;
    if (hcb_state_read(h, &from, &err) < 0)
        return hcb_fail(&h->err, err.code, "%s", err.text);
    if (hcb_ledger_open(&h->ledger, h->dir.ledger, from, &end, &h->err) < 0)
        return h->err.code;
    if (end.torn > 0)
        hcb_log(&h->log, HOTCB_WARN, NULL, "%s: cut off a half-written last line of %lld bytes",
                h->dir.ledger, (long long)end.torn);
    int status = skip_answered(h, from, end.last_offset);
    if (status < 0)
        return status;
    say_history(h);
    if (!h->resume)
        hcb_value_release(&h->before);
    return 0;
}

static int open_sinks(struct hotcb *h)
{
    if (hcb_log_open(&h->log, h->dir.log, h->log_bytes, &h->err) < 0 ||
        hcb_lines_open(&h->metrics, h->dir.metrics, "scalars", h->metrics_bytes, &h->err) < 0 ||
        hcb_lines_open(&h->media, h->dir.media, "histograms and pictures", h->media_bytes,
                       &h->err) < 0)
        return h->err.code;
    h->registry.world.effects.metrics = &h->metrics.spool;
    h->registry.world.effects.media = &h->media.spool;
    return 0;
}

static int open_run(struct hotcb *h, const hotcb_options *opt)
{
    int status;
    if ((status = open_directory(h, !opt->no_create)) < 0 ||
        (status = hcb_run_lock(h, &h->err)) < 0 ||
        (status = make_files(h, !opt->config_path)) < 0 || (status = open_sinks(h)) < 0 ||
        (status = open_history(h)) < 0)
        return status;
    h->notice = h->registry.world.places.notice = hcb_notice_open();
    hcb_noticed_look(&h->here, h->notice, h->dir.lock);
    hcb_file_clean(h->dir.dir);
    warn_if_writable(h, h->dir.dir);
    warn_if_writable(h, h->dir.commands);
    hcb_log(&h->log, HOTCB_DEBUG, NULL, "run %s in %s", h->run, h->dir.dir);
    return 0;
}

int hotcb_open(hotcb **out, const hotcb_options *options)
{
    hotcb_options opt;
    if (!out)
        return HOTCB_EINVAL;
    struct hotcb *h = *out = calloc(1, sizeof *h);
    if (!h)
        return HOTCB_ENOMEM;
    int was = hcb_enter();
    h->busy = true; /* for the log hook */
    read_options(&opt, options);
    int status = init(h, &opt);
    if (status == 0)
        status = open_run(h, &opt);
    h->open = status == 0;
    if (status == 0)
        hcb_status_write(h, "running");
    else
        hcb_lock_drop(&h->lock); /* nobody must wait for a handle that does nothing */
    h->busy = false;
    hcb_leave(was);
    return status;
}

/* ---- close ----------------------------------------------------------------- */

static void release(struct hotcb *h)
{
    struct hcb_world *w = &h->registry.world;
    hcb_registry_release(&h->registry);
    hcb_pool_free(w->pool);
    hcb_effects_release(&w->effects);
    free(w->places.cwd);
    free(w->places.search_path);
    hcb_ledger_close(&h->ledger);
    hcb_lines_release(&h->metrics);
    hcb_lines_release(&h->media);
    hcb_log_release(&h->log);
    hcb_commands_release(&h->commands);
    hcb_watch_release(&h->config_watch);
    hcb_config_taking_release(&h->taking);
    hcb_noticed_release(&h->here);
    hcb_noticed_release(&h->commands_noticed);
    hcb_notice_close(h->notice);
    hcb_value_release(&h->before);
    hcb_names_release(&h->answered);
    hcb_offsets_release(&h->redo.applied);
    hcb_value_release(&h->config);
    hcb_value_release(&h->last_params);
    hcb_buf_release(&h->config_text);
    hcb_buf_release(&h->config_new);
    hcb_rundir_release(&h->dir);
    hcb_buf_release(&h->text);
    free(h->config_dir);
    free(h->config_error);
    free(h->framework);
    free(h);
}

/* close() hooks may still ask for things, so they come before the last word. */
static void close_run(struct hotcb *h)
{
    hcb_registry_close(&h->registry);
    hcb_publish(h);
    if (!h->lost)
        hcb_status_write(h, "closed");
}

/* The child of a fork has the memory, not the run: it must not touch its files. */
void hotcb_close(hotcb *h)
{
    if (!h || h->busy)
        return;
    int was = hcb_enter();
    h->busy = true;
    if (h->open && !hcb_is_child(h))
        close_run(h);
    hcb_lock_drop(&h->lock);
    release(h);
    hcb_leave(was);
}

/* ---- apply ----------------------------------------------------------------- */

static bool ready(hotcb *h)
{
    return h && h->open && !h->busy && !hcb_is_child(h);
}

static int not_ready(hotcb *h)
{
    if (h && h->busy)
        return hcb_fail(&h->err, HOTCB_EINVAL, "hotcb was called from inside itself, by a log hook "
                        "or a lazy value");
    if (h && !*h->err.text)
        hcb_fail(&h->err, HOTCB_EINVAL, "the run is not open");
    return HOTCB_EINVAL;
}

/* The clock is read only when enough applies have gone by, and then the coarse one,
 * which costs no system call. */
static bool look_is_due(struct hotcb *h)
{
    if (--h->applies_to_look > 0) {
        h->coarse_ns = 0;
        return false;
    }
    int64_t now_ns = h->poll_interval_ns > 0 ? hcb_clock_coarse_by(h->coarse_clock) : 0;
    h->coarse_ns = now_ns;
    if (now_ns - h->last_look_ns < h->poll_interval_ns)
        return false;
    h->last_look_ns = now_ns;
    h->applies_to_look = h->debounce_steps;
    return true;
}

static void note_step(struct hotcb *h, const hotcb_env *env)
{
    if (!env || !env->has_step)
        return;
    h->has_step = true;
    h->step = env->step;
}

static void end_apply(struct hotcb *h)
{
    hcb_cost_add(&h->cost, h->apply_ns);
    h->apply_ns = 0;
}

static int look(struct hotcb *h)
{
    int was = hcb_enter();
    h->busy = true;
    int n = hcb_look(h);
    h->busy = false;
    hcb_leave(was);
    return n;
}

int hotcb_poll(hotcb *h, hotcb_env *env)
{
    if (!ready(h))
        return not_ready(h);
    note_step(h, env);
    return look_is_due(h) ? look(h) : 0;
}

static int bad_events(struct hotcb *h)
{
    return hcb_fail(&h->err, HOTCB_EINVAL, "env and every event name must be given");
}

static int still_lent(struct hotcb *h)
{
    return hcb_fail(&h->err, HOTCB_EINVAL, "env is read by another run, which called one of its "
                    "lazy values from inside a script");
}

/* What tensors env has refused, which the host may not have looked at. */
static void say_refusals(struct hotcb *h, struct hotcb_env *env)
{
    const char *line = hcb_buf_text(&env->refusals);
    for (size_t n; *line; line += n + 1) {
        n = strcspn(line, "\n");
        hcb_log(&h->log, HOTCB_WARN, NULL, "env %.*s; callbacks see nil there", (int)n, line);
    }
    hcb_buf_release(&env->refusals);
    env->uncommon = false;
}

static void begin_dispatch(struct hotcb *h)
{
    hcb_fp_enter();
    h->cost.applies++;
    h->busy = true;
}

static void tell(struct hotcb *h, struct hotcb_env *env)
{
    int was = hcb_platform_hold_cancel();
    if (env->refusals.len > 0 && h->open)
        say_refusals(h, env);
    if (h->changed)
        hcb_publish(h);
    hcb_platform_release_cancel(was);
}

static void end_dispatch(struct hotcb *h, struct hotcb_env *env)
{
    if (env->refusals.len > 0 || h->changed)
        tell(h, env);
    if (h->apply_ns > 0)
        end_apply(h);
    h->busy = false;
    hcb_fp_leave();
    hcb_env_end_idle(env);
}

static int dispatch(struct hotcb *h, struct hotcb_env *env, const char *const *events, size_t n)
{
    int status = 0;
    begin_dispatch(h);
    for (size_t i = 0; i < n; i++) {
        int one = events[i] ? hcb_dispatch(h, env, events[i]) : bad_events(h);
        status = status < 0 ? status : one;
    }
    end_dispatch(h, env);
    return status;
}

int hotcb_dispatch(hotcb *h, hotcb_env *env, const char *const *events, size_t n)
{
    if (!ready(h) || !env || env->lent || (n > 0 && !events)) {
        if (env && !env->lent && !(h && h->busy))
            hcb_env_end(env);
        return !ready(h) ? not_ready(h) : env && env->lent ? still_lent(h) : bad_events(h);
    }
    note_step(h, env);
    h->coarse_ns = 0;
    return dispatch(h, env, events, n);
}

int hotcb_apply_events(hotcb *h, hotcb_env *env, const char *const *events, size_t n)
{
    int status = hotcb_poll(h, env);
    int second = hotcb_dispatch(h, env, events, n);
    return status < 0 ? status : second;
}

/* Where the event is for nobody and nothing has changed: what a dispatch does then. false: it
 * is not so, and nothing was done. */
static bool is_idle(struct hotcb *h, struct hotcb_env *env, int id)
{
    struct hcb_world *w = &h->registry.world;
    int slot = h->plans[id].slot;
    int64_t step = slot < 0 ? INT64_MIN : hcb_event_step(h, env, slot);
    if (!hcb_is_for_nobody(h, id, step) || (slot >= 0 && step < w->last_step[slot]) ||
        w->fresh)
        return false;
    if (slot >= 0) {
        h->counts[slot]++;
        w->last_step[slot] = step;
    }
    h->cost.applies++;
    hcb_env_end_idle(env);
    return true;
}

/* These are not inlined, so that hotcb_apply saves few registers. */
static __attribute__((noinline)) int apply_seen(struct hotcb *h, struct hotcb_env *env, int id)
{
    begin_dispatch(h);
    hcb_dispatch_seen(h, env, id);
    end_dispatch(h, env);
    return 0;
}

static __attribute__((noinline)) int apply_looking(struct hotcb *h, struct hotcb_env *env,
                                                   const char *event, bool looks)
{
    if (looks)
        look(h);
    return h->open ? dispatch(h, env, &event, 1) : hotcb_dispatch(h, env, &event, 1);
}

static __attribute__((noinline)) int apply_uncommon(hotcb *h, hotcb_env *env, const char *event)
{
    return hotcb_apply_events(h, env, &event, 1);
}

/* Most applies have nothing to do: for them this is all. */
int hotcb_apply(hotcb *h, hotcb_env *env, const char *event)
{
    if (!ready(h) || !env || env->uncommon || !event)
        return apply_uncommon(h, env, event);
    note_step(h, env);
    bool looks = look_is_due(h);
    int id = looks ? -1 : hcb_event_recent(&h->registry.world.events, event);
    if (id < 0)
        return apply_looking(h, env, event, looks);
    return is_idle(h, env, id) ? 0 : apply_seen(h, env, id);
}

/* ---- from the program ------------------------------------------------------ */

int hcb_run_resolve(const struct hotcb *h, struct hcb_op *op, struct hcb_err *err)
{
    if (op->kind != HCB_OP_LOAD || op->target.kind != HCB_TARGET_FILE || *op->target.path == '/')
        return 0;
    char *path = hcb_path_join(h->dir.dir, op->target.path);
    if (!path)
        return hcb_fail_nomem(err);
    free(op->target.path);
    op->target.path = path;
    return 0;
}

static int execute(struct hotcb *h, const char *json)
{
    struct hcb_op op;
    struct hcb_outcome out = {0};
    hcb_op_init(&op);
    if (h->resume)
        hcb_resume(h); /* what was there before comes before what is new */
    if (!h->resume)
        hcb_redo(h);
    if (h->resume || !hcb_ledger_room(&h->ledger, 1))
        return hcb_fail_nomem(&h->err);
    int status = hcb_op_parse(json, strlen(json), &op, &out.err);
    op.origin = HCB_FROM_HOST;
    if (status == 0)
        status = hcb_run_resolve(h, &op, &out.err);
    if (status == 0) {
        hcb_registry_apply(&h->registry, &op, &out);
        status = out.applied ? 0 : out.err.code;
    }
    if (status < 0)
        h->err = out.err;
    hcb_record(h, &op, &out);
    hcb_op_release(&op);
    hcb_publish_command(h);
    return status;
}

int hotcb_command(hotcb *h, const char *json)
{
    if (!ready(h))
        return not_ready(h);
    if (!json)
        return hcb_fail(&h->err, HOTCB_EINVAL, "a command must be given");
    int was = hcb_enter();
    h->busy = true;
    int status = execute(h, json);
    h->busy = false;
    hcb_leave(was);
    return status;
}

static void say_error(char *out, size_t size, const char *text)
{
    if (out && size > 0)
        snprintf(out, size, "%s", text);
}

int hotcb_send(const char *dir, const char *json, char *err_text, size_t err_size)
{
    struct hcb_op op;
    struct hcb_err err = {0};
    struct hcb_rundir files;
    if (!dir || !json) {
        say_error(err_text, err_size, "a directory and a command must be given");
        return HOTCB_EINVAL;
    }
    hcb_op_init(&op);
    int was = hcb_enter();
    int status = hcb_op_parse(json, strlen(json), &op, &err);
    hcb_op_release(&op);
    if (status == 0 && strpbrk(json, "\r\n"))
        status = hcb_fail(&err, HOTCB_EFORMAT, "a command is one line");
    if (status == 0 && !hcb_rundir_init(&files, dir, NULL, NULL))
        status = hcb_fail_nomem(&err);
    else if (status == 0) {
        status = hcb_commands_append(files.commands, json, strlen(json), &err);
        hcb_rundir_release(&files);
    }
    hcb_leave(was);
    say_error(err_text, err_size, status < 0 ? err.text : "");
    return status;
}

char *hotcb_list(const hotcb *h)
{
    struct hcb_buf b = {0};
    if (!h || !h->open)
        return NULL;
    int was = hcb_enter();
    hcb_callbacks_json(&b, h);
    hcb_leave(was);
    return hcb_buf_take(&b);
}
