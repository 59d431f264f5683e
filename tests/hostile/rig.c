/* The host of a hostile script, by the public functions and the files of the run. */
#include "rig.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include <dirent.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES (512 << 20)
#define MAPPED_KB (4 << 10) /* may be more than before: a Lua state has far more */
#define HEAP_KB 256         /* what the C library keeps in hand counts as in use */

static const char neighbour[] =
    "local N = { n = 0 }\n"
    "function N:handle(event, env)\n"
    "  self.n = self.n + 1\n"
    "  hotcb.scalar('seen', self.n)\n"
    "end\n"
    "function N:close() hotcb.scalar('closed', self.n) end\n"
    "return N\n";

/* ---- small things ---------------------------------------------------------- */

void rig_complain(struct rig *r, const char *fmt, ...)
{
    va_list ap;
    if (*r->complaint)
        return;
    va_start(ap, fmt);
    vsnprintf(r->complaint, sizeof r->complaint, fmt, ap);
    va_end(ap);
}

const char *rig_path(const struct rig *r, const char *name, char out[600])
{
    snprintf(out, 600, "%s/%s", r->dir, name);
    return out;
}

void rig_write(struct rig *r, const char *name, const char *text)
{
    char path[600];
    struct hcb_err err;
    if (hcb_file_replace(rig_path(r, name, path), text, strlen(text), &err) < 0)
        rig_complain(r, "%s", err.text);
}

static int count_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

long rig_memory_kb(const char *field)
{
    char line[200];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, field, strlen(field)) == 0 && line[strlen(field)] == ':')
            kb = strtol(line + strlen(field) + 1, NULL, 10);
    if (f)
        fclose(f);
    return kb;
}

void rig_reset_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "we");
    if (!f)
        return;
    fputs("5", f);
    fclose(f);
}

/* The sum of all mappings. */
static long mapped_kb(void)
{
    char line[600];
    unsigned long kb = 0, from, to;
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && !strstr(line, "[heap]"))
            kb += (to - from) >> 10;
    if (f)
        fclose(f);
    return (long)kb;
}

void rig_hold(struct rig_holdings *now)
{
    struct mallinfo2 heap = mallinfo2();
    now->descriptors = count_descriptors();
    now->mapped_kb = mapped_kb();
    now->heap_kb = (long)(heap.uordblks >> 10);
}

void rig_check_holdings(struct rig *r, const struct rig_holdings *before, long heap_kb,
                        const char *what)
{
    struct rig_holdings now;
    rig_hold(&now);
    if (now.descriptors != before->descriptors)
        rig_complain(r, "%s left %d descriptors open", what,
                     now.descriptors - before->descriptors);
    if (OWN_MEMORY && now.mapped_kb - before->mapped_kb > MAPPED_KB)
        rig_complain(r, "%s left %ld KiB of mappings", what, now.mapped_kb - before->mapped_kb);
    if (OWN_MEMORY && now.heap_kb - before->heap_kb > heap_kb)
        rig_complain(r, "%s left %ld KiB of the heap in use", what, now.heap_kb - before->heap_kb);
}

/* Of the library's calls only: the CPU time of this thread. */
static int spent(struct rig *r, int64_t begin, int result)
{
    int64_t took = hcb_clock_cpu_ns() - begin;
    if (took > r->worst_ns)
        r->worst_ns = took;
    return result;
}

static void on_log(void *user, enum hotcb_level level, const char *callback, const char *line)
{
    struct rig *r = user;
    (void)level;
    if (callback && strstr(line, "limits.time_ms"))
        r->budget_logged = true;
}

/* ---- the run --------------------------------------------------------------- */

static void load_neighbour(struct rig *r)
{
    rig_write(r, "neighbour.lua", neighbour);
    if (rig_command(r, "{'op':'load','id':'neighbour','target':{'kind':'lua_file',"
                    "'path':'neighbour.lua'}}") < 0)
        rig_complain(r, "the neighbour did not load: %s", hotcb_errmsg(r->h));
}

void rig_open(struct rig *r, const char *dir, int64_t time_ms)
{
    hotcb_options opt = HOTCB_OPTIONS_INIT;
    memset(r, 0, sizeof *r);
    r->dir = dir;
    rig_hold(&r->before);
    opt.dir = dir;
    opt.poll_interval_ms = -1; /* each apply looks: what was sent is there at once */
    opt.time_ms = time_ms;
    opt.log = on_log;
    opt.log_user = r;
    opt.log_level = HOTCB_DEBUG;
    r->env = hotcb_env_new();
    if (!r->env || hotcb_open(&r->h, &opt) < 0)
        rig_complain(r, "open: %s", hotcb_errmsg(r->h));
    load_neighbour(r);
}

void rig_events(struct rig *r, const char *event, int n)
{
    for (int i = 0; i < n; i++) {
        hotcb_env_step(r->env, r->step++);
        hotcb_env_num(r->env, "loss", 1.0 / (double)r->step);
        int64_t begin = hcb_clock_cpu_ns();
        int status = spent(r, begin, hotcb_apply(r->h, r->env, event));
        r->events++;
        if (status != 0)
            rig_complain(r, "apply returned %d: %s", status, hotcb_errmsg(r->h));
    }
}

static void format_command(char *out, size_t size, const char *fmt, va_list ap)
{
    vsnprintf(out, size, fmt, ap);
    for (char *c = out; *c; c++)
        *c = *c == '\'' ? '"' : *c;
}

int rig_command(struct rig *r, const char *fmt, ...)
{
    char text[1000];
    va_list ap;
    va_start(ap, fmt);
    format_command(text, sizeof text, fmt, ap);
    va_end(ap);
    int64_t begin = hcb_clock_cpu_ns();
    return spent(r, begin, hotcb_command(r->h, text));
}

void rig_send(struct rig *r, const char *fmt, ...)
{
    char text[1000], why[300];
    va_list ap;
    va_start(ap, fmt);
    format_command(text, sizeof text, fmt, ap);
    va_end(ap);
    if (hotcb_send(r->dir, text, why, sizeof why) < 0)
        rig_complain(r, "send: %s", why);
}

/* ---- what became of a callback --------------------------------------------- */

static enum hcb_reason reason_from(const char *name)
{
    int r = HCB_FINE;
    while (r < HCB_FILE && strcmp(hcb_reason_name((enum hcb_reason)r), name) != 0)
        r++;
    return strcmp(hcb_reason_name((enum hcb_reason)r), name) == 0 ? (enum hcb_reason)r : HCB_FINE;
}

static void take_fault(struct verdict *v, const char *reason, const char *message)
{
    v->outcome = reason_from(reason);
    snprintf(v->message, sizeof v->message, "%s", message);
}

static const struct hcb_value *find_callback(const struct hcb_value *list, const char *id)
{
    for (size_t i = 0; list->type == HCB_LIST && i < list->u.list.n; i++)
        if (strcmp(hcb_map_text(&list->u.list.v[i], "id", ""), id) == 0)
            return &list->u.list.v[i];
    return NULL;
}

/* false: it is not listed at all. */
static bool judge_listed(struct rig *r, const char *id, struct verdict *v)
{
    struct hcb_value list = {0};
    struct hcb_err err;
    char *text = hotcb_list(r->h);
    if (!text || hcb_json_parse(text, strlen(text), &list, &err) < 0)
        rig_complain(r, "the list of callbacks is unreadable");
    hotcb_free(text);
    const struct hcb_value *cb = find_callback(&list, id);
    bool listed = cb != NULL;
    const char *state = hcb_map_text(cb, "state", "");
    const struct hcb_value *error = hcb_map_get(cb, "error");
    v->running = listed && strcmp(state, "FAILED") != 0;
    if (strcmp(state, "FAILED") == 0)
        take_fault(v, hcb_map_text(error, "reason", "?"), hcb_map_text(error, "message", ""));
    hcb_value_release(&list);
    return listed;
}

/* Calls `each` for every line of a file of JSON lines, as the run wrote it. */
static void each_line(struct rig *r, const char *name,
                      void (*each)(void *user, const struct hcb_value *line), void *user)
{
    char path[600], *save = NULL;
    struct hcb_buf text = {0};
    struct hcb_err err;
    if (hcb_file_read(rig_path(r, name, path), FILE_BYTES, &text, &err) < 0)
        rig_complain(r, "%s", err.text);
    char *all = text.data ? text.data : "";
    for (char *l = *all ? strtok_r(all, "\n", &save) : NULL; l; l = strtok_r(NULL, "\n", &save)) {
        struct hcb_value line = {0};
        if (hcb_json_parse(l, strlen(l), &line, &err) < 0)
            rig_complain(r, "%s has a line that cannot be read: %.200s", name, l);
        each(user, &line);
        hcb_value_release(&line);
    }
    hcb_buf_release(&text);
}

struct ledger_question {
    const char *id;
    struct verdict *v;
};

/* The last line about it that has a reason. */
static void on_ledger(void *user, const struct hcb_value *line)
{
    struct ledger_question *q = user;
    const char *reason = hcb_map_text(line, "reason", NULL);
    if (reason && strcmp(hcb_map_text(line, "id", ""), q->id) == 0)
        take_fault(q->v, reason, hcb_map_text(line, "error", ""));
}

void rig_judge(struct rig *r, const char *id, struct verdict *v)
{
    struct verdict ledger = {.outcome = HCB_FINE};
    struct ledger_question q = {id, &ledger};
    memset(v, 0, sizeof *v);
    bool listed = judge_listed(r, id, v);
    each_line(r, "hotcb.applied.jsonl", on_ledger, &q);
    if (!listed)
        *v = ledger;
    else if (v->outcome != HCB_FINE && v->outcome != ledger.outcome)
        rig_complain(r, "the status says %s, the ledger says %s", hcb_reason_name(v->outcome),
                     hcb_reason_name(ledger.outcome));
}

/* ---- the end --------------------------------------------------------------- */

struct tally {
    int64_t lines, seen, closed;
};

static void on_metric(void *user, const struct hcb_value *line)
{
    struct tally *t = user;
    const char *key = hcb_map_text(line, "key", "");
    if (strcmp(hcb_map_text(line, "id", ""), "neighbour") != 0)
        return;
    if (strcmp(key, "seen") == 0) {
        t->lines++;
        t->seen = hcb_map_int(line, "value", -1);
    } else if (strcmp(key, "closed") == 0) {
        t->closed = hcb_map_int(line, "value", -1);
    }
}

static void check_neighbour(struct rig *r)
{
    struct tally t = {0, 0, -1};
    each_line(r, "hotcb.metrics.jsonl", on_metric, &t);
    if (t.seen != r->events || t.lines != r->events || t.closed != r->events)
        rig_complain(r, "of %lld events the neighbour saw %lld (%lld scalars), and %lld when it "
                     "was closed", (long long)r->events, (long long)t.seen, (long long)t.lines,
                     (long long)t.closed);
}

static void check_status(struct rig *r)
{
    char path[600];
    struct hcb_buf text = {0};
    struct hcb_value status = {0};
    struct hcb_err err = {0};
    if (hcb_file_read(rig_path(r, "hotcb.status.json", path), FILE_BYTES, &text, &err) < 0 ||
        hcb_json_parse(text.data, text.len, &status, &err) < 0)
        rig_complain(r, "status: %s", err.text);
    else if (strcmp(hcb_map_text(&status, "state", ""), "closed") != 0)
        rig_complain(r, "the last status does not say that the run is closed");
    hcb_value_release(&status);
    hcb_buf_release(&text);
}

void rig_close(struct rig *r)
{
    int64_t begin = hcb_clock_cpu_ns();
    hotcb_close(r->h);
    spent(r, begin, 0);
    hotcb_env_free(r->env);
    rig_check_holdings(r, &r->before, HEAP_KB, "the run");
    check_status(r);
    check_neighbour(r);
}
