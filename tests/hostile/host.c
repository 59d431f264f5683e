/* What a host process does with a hostile script; host.h. */
#include "host.h"
#include "base/file.h"
#include "base/json.h"
#include "rig.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Statements that end well may take their time, and need not do it a hundred times. */
#define TURNS 3
#define STEPS 300

/* A call into the library may take this many budgets more than one: what is promised is a
 * fraction of that, and what is unbounded takes many times as much. In the course of a life
 * several hooks may use up theirs in one call. */
#define MORE_BUDGETS 2
#define LIFE_BUDGETS (MORE_BUDGETS + HOOK_COUNT - 1)

const char *route_name(enum route route)
{
    static const char *const names[] = {"hotcb.yaml", "a command", "hotcb_command()"};
    return names[route];
}

/* ---- bringing it in -------------------------------------------------------- */

#define LOAD "{'op':'load','id':'" HOSTILE_ID "','target':{'kind':'lua_file',"                 \
             "'path':'hostile.lua'},'limits':{'coroutines':%s}}"

static void bring(struct rig *r, const struct job *job)
{
    char yaml[400];
    const char *coroutines = job->coroutines ? "true" : "false";
    if (job->route == BY_HOST) {
        rig_command(r, LOAD, coroutines); /* which may well be refused */
    } else if (job->route == BY_COMMAND_FILE) {
        rig_send(r, LOAD, coroutines);
    } else {
        snprintf(yaml, sizeof yaml, "callbacks:\n  " HOSTILE_ID ":\n    target: { kind: lua_file, "
                 "path: hostile.lua }\n    limits: { coroutines: %s }\n", coroutines);
        rig_write(r, "hotcb.yaml", yaml);
    }
}

/* ---- its life -------------------------------------------------------------- */

#define STEP "train_step_end"

static void command(struct rig *r, const char *op, const char *rest)
{
    rig_command(r, "{'op':'%s','id':'" HOSTILE_ID "'%s}", op, rest);
}

/* What happens to a callback in the course of a run; each hook that it has is called. */
static void live(struct rig *r)
{
    command(r, "set_params", ",'params':{'n':1}");
    rig_events(r, STEP, 2);
    rig_events(r, "checkpoint", 1);
    rig_events(r, STEP, 2);
    command(r, "reload", "");
    rig_events(r, STEP, 2);
}

static bool has_life(enum place place)
{
    return place > IN_ON_ATTACH && place != AS_FILE;
}

/* Without coroutines they are nil to a script; on a small stack C may overflow sooner. A
 * failure in a hook other than on_attach is a line in the log or a refused command, and the
 * callback goes on. */
static unsigned allowed_outcomes(const struct job *job)
{
    unsigned allowed = job->entry->allowed;
    if ((job->entry->coroutines && !job->coroutines) || job->narrow)
        allowed |= OUTCOME_BIT(HCB_RUNTIME);
    if (has_life(job->place) && job->place != AS_LIFE)
        allowed |= OUTCOME_BIT(HCB_FINE);
    return allowed;
}

static bool names_place(const char *message)
{
    const char *colon = strstr(message, ".lua:");
    return colon && colon[5] >= '1' && colon[5] <= '9';
}

/* Where a script takes for granted what hotcb means to be otherwise. */
static const struct difference {
    const char *entry;
    enum hcb_reason outcome;
    const char *message; /* ends in this */
} differences[] = {
    /* It asserts that there is no `require`; there is one, which finds text files only.
     * The other names it asks for, and more, are asked for in own/escape_names.lua. */
    {"escape_globals.lua", HCB_RUNTIME, ".lua:2: require"},
};

static bool is_difference(const struct job *job, const struct verdict *v)
{
    size_t n = strlen(v->message);
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
        const struct difference *d = &differences[i];
        size_t m = strlen(d->message);
        if (strcmp(job->entry->name, d->entry) == 0 && v->outcome == d->outcome && n >= m &&
            strcmp(v->message + n - m, d->message) == 0)
            return true;
    }
    return false;
}

static void check_outcome(struct rig *r, const struct job *job, const struct verdict *v)
{
    if (!(allowed_outcomes(job) & OUTCOME_BIT(v->outcome)) && !is_difference(job, v))
        rig_complain(r, "ended as %s%s%s, which is not allowed", outcome_name(v->outcome),
                     *v->message ? ": " : "", v->message);
    if (v->outcome != HCB_FINE && !*v->message)
        rig_complain(r, "failed as %s without a word", outcome_name(v->outcome));
    if (v->outcome == HCB_SYNTAX && !strstr(v->message, "hostile.lua:"))
        rig_complain(r, "a syntax error that names no place: %s", v->message);
}

/* ---- what is reported ------------------------------------------------------ */

/* Also what no manifest can know: how the guard is called. */
static void read_guard(struct rig *r, struct report *out)
{
    char path[600];
    struct hcb_buf text = {0};
    struct hcb_value status = {0};
    if (hcb_file_read(rig_path(r, "hotcb.status.json", path), 64 << 20, &text, NULL) == 0 &&
        hcb_json_parse(text.data, text.len, &status, NULL) == 0)
        snprintf(out->guard, sizeof out->guard, "%s", hcb_map_text(&status, "guard", "?"));
    hcb_value_release(&status);
    hcb_buf_release(&text);
}

static void check_stall(struct rig *r, const struct report *out, int64_t budget_ns, int budgets)
{
    bool soft = strcmp(out->guard, "timer") != 0; /* then nothing is promised */
    if (!soft && out->over_ns > budget_ns * budgets)
        rig_complain(r, "a call took %.1f ms of CPU time above the budget",
                     (double)out->over_ns / 1e6);
}

static int finish(struct rig *r, struct report *out, int64_t time_ms, int budgets,
                  long resident_kb)
{
    rig_close(r);
    read_guard(r, out);
    out->over_ns = r->worst_ns - time_ms * 1000000;
    out->peak_kb = rig_memory_kb("VmHWM") - resident_kb;
    check_stall(r, out, time_ms * 1000000, budgets);
    snprintf(out->complaint, sizeof out->complaint, "%s", r->complaint);
    out->complete = true;
    return 0;
}

static void take_verdict(struct report *out, const struct verdict *v, const struct rig *r)
{
    out->outcome = v->outcome;
    out->by_budget = v->outcome == HCB_BUDGET || r->budget_logged;
    out->placed = names_place(v->message);
    snprintf(out->message, sizeof out->message, "%s", v->message);
}

static void meet(struct rig *r, const struct job *job, struct report *out)
{
    struct verdict v;
    bring(r, job);
    rig_events(r, STEP, TURNS);
    if (has_life(job->place))
        live(r);
    rig_judge(r, HOSTILE_ID, &v);
    check_outcome(r, job, &v);
    take_verdict(out, &v, r);
    command(r, v.running ? "disable" : "enable", ""); /* the latter tries it again */
    rig_events(r, STEP, 1);
    if (job->unload)
        command(r, "unload", "");
}

/* As `hotcb check` does it, outside of any run. What it says is the user's affair; that it
 * says something is ours. */
static void check_file(struct rig *r)
{
    char path[600], *report = NULL;
    hotcb_check(rig_path(r, "hostile.lua", path), NULL, &report);
    if (!report || *report != '{')
        rig_complain(r, "hotcb_check gives no report");
    hotcb_free(report);
}

int host_run(const struct job *job, const char *dir, int64_t time_ms, struct report *out)
{
    struct rig r;
    char target[600];
    snprintf(target, sizeof target, "%s/hostile.lua", dir);
    if (!wrap_entry(job->entry, job->place, target)) {
        snprintf(out->complaint, sizeof out->complaint, "cannot make its script: %s",
                 strerror(errno));
        return 2;
    }
    rig_reset_peak();
    long resident_kb = rig_memory_kb("VmRSS");
    rig_open(&r, dir, time_ms);
    rig_events(&r, STEP, STEPS / 3);
    meet(&r, job, out);
    if (job->place == AS_FILE || job->place == AS_LIFE)
        check_file(&r);
    rig_events(&r, STEP, STEPS - STEPS / 3);
    return finish(&r, out, time_ms, has_life(job->place) ? LIFE_BUDGETS : MORE_BUDGETS,
                  resident_kb);
}

/* ---- all of them ----------------------------------------------------------- */

#define WARM 10      /* entries after which it is seen what the process holds */
#define KEPT_KB 1024 /* buffers of the run, which keep their size */

static void meet_next(struct rig *r, const struct entry *e, size_t i, struct report *out)
{
    char target[600];
    struct verdict v;
    enum place place = i % 2 || e->kind == ENTRY_HANDLE ? IN_HANDLE : IN_CHUNK;
    snprintf(out->doing, sizeof out->doing, "%s in %s", e->name, place_name(place));
    if (!wrap_entry(e, place, rig_path(r, "hostile.lua", target)))
        rig_complain(r, "cannot make %s: %s", target, strerror(errno));
    rig_command(r, LOAD, e->coroutines ? "true" : "false");
    rig_events(r, STEP, TURNS);
    rig_judge(r, HOSTILE_ID, &v);
    command(r, "unload", "");
}

int host_run_all(const struct entries *all, const char *dir, int64_t time_ms, struct report *out)
{
    struct rig r;
    struct rig_holdings warm;
    size_t met = 0;
    rig_reset_peak();
    long resident_kb = rig_memory_kb("VmRSS");
    rig_open(&r, dir, time_ms);
    for (size_t i = 0; i < all->n; i++) {
        const struct entry *e = &all->v[i];
        if ((e->kind != ENTRY_BODY && e->kind != ENTRY_HANDLE) || *r.complaint)
            continue;
        meet_next(&r, e, i, out);
        if (++met == WARM)
            rig_hold(&warm);
    }
    if (met > WARM)
        rig_check_holdings(&r, &warm, KEPT_KB, "all together");
    return finish(&r, out, time_ms, MORE_BUDGETS, resident_kb);
}
