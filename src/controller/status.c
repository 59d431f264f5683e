/* hotcb.status.json: how the run is, for whoever asks. */
#include "base/clock.h"
#include "base/json.h"
#include "controller/run.h"
#include "script/guard.h"
#include <string.h>

#define RATE_INTERVAL_NS 1000000000
#define BEAT_INTERVAL_NS 250000000

static void step_field(struct hcb_buf *b, const char *key, bool has, int64_t step)
{
    if (has)
        hcb_json_put_int(b, key, step);
    else
        hcb_json_put_null(b, key);
}

/* Three digits are what a person reads. */
static double rounded(double v)
{
    double unit = 1;
    while (v > 0 && v / unit < 100 && unit > 1e-6)
        unit /= 10;
    return (double)(int64_t)(v / unit + 0.5) * unit;
}

/* ---- callbacks ------------------------------------------------------------- */

static void put_fault(struct hcb_buf *b, const struct hotcb *h, const struct hcb_callback *cb)
{
    const struct hcb_fault *fault = hcb_callback_fault(cb);
    hcb_json_key(b, "error");
    if (fault->reason == HCB_FINE) {
        hcb_json_null(b);
        return;
    }
    hcb_json_open(b, '{');
    hcb_json_put_str(b, "reason", hcb_reason_name(fault->reason));
    hcb_json_put_str(b, "message", fault->message);
    hcb_json_put_str(b, "traceback", fault->traceback);
    step_field(b, "step", cb->fault_has_step, cb->fault_step);
    hcb_json_put_str(b, "event",
                     cb->fault_event < 0 ? NULL
                                         : h->registry.world.events.names[cb->fault_event]);
    hcb_json_put_int(b, "count", cb->fault_repeats);
    hcb_json_close(b, '}');
}

static void put_events(struct hcb_buf *b, const struct hotcb *h, const struct hcb_callback *cb)
{
    const struct hcb_events *events = &h->registry.world.events;
    const struct hcb_value *wanted = cb->script ? hcb_script_events(cb->script) : NULL;
    hcb_json_put_value(b, "events", wanted);
    hcb_json_key(b, "waiting_for");
    hcb_json_open(b, '[');
    for (int id = 0; wanted && id < events->n; id++)
        if ((cb->wants >> id & 1) && !events->seen[id])
            hcb_json_str(b, events->names[id]);
    hcb_json_close(b, ']');
}

static void put_params(struct hcb_buf *b, const struct hcb_callback *cb)
{
    const struct hcb_params *declared = cb->script ? hcb_script_params(cb->script) : NULL;
    hcb_json_key(b, "params");
    if (cb->script)
        hcb_script_values_json(b, cb->script);
    else
        hcb_json_value(b, &cb->set);
    hcb_json_key(b, "declared");
    if (declared)
        hcb_params_json(b, declared);
    else
        hcb_json_null(b);
}

static void put_limits(struct hcb_buf *b, const struct hcb_limits *limits)
{
    hcb_json_key(b, "limits");
    hcb_json_open(b, '{');
    hcb_json_put_int(b, "time_ms", limits->time_ms);
    hcb_json_put_int(b, "memory_mb", limits->memory_mb);
    hcb_json_put_int(b, "errors", limits->errors);
    hcb_json_put_bool(b, "coroutines", limits->coroutines);
    hcb_json_close(b, '}');
}

/* A script takes or gives back memory only when it runs, and that costs time, or touches. */
static bool counts_hold(const struct hcb_counts *c, const struct hcb_callback *cb)
{
    return c->calls == cb->calls && c->failures == cb->failed_calls && c->cost_ns == cb->cost_ns;
}

static struct hcb_counts counts_of(const struct hcb_callback *cb)
{
    return (struct hcb_counts){
        .calls = cb->calls, .failures = cb->failed_calls, .cost_ns = cb->cost_ns,
        .memory = cb->script ? hcb_script_memory(cb->script) : 0,
    };
}

static void put_counts(struct hcb_buf *b, const struct hcb_callback *cb,
                       const struct hcb_counts *c)
{
    hcb_json_put_int(b, "calls", c->calls);
    hcb_json_put_int(b, "failures", c->failures);
    if (c->calls > 0)
        hcb_json_put_real(b, "us_per_call", rounded((double)c->cost_ns / 1e3 / (double)c->calls));
    else
        hcb_json_put_null(b, "us_per_call");
    if (cb->script)
        hcb_json_put_real(b, "memory_kb", rounded((double)c->memory / 1024));
    else
        hcb_json_put_null(b, "memory_kb");
}

static void put_head(struct hcb_buf *b, const struct hcb_callback *cb)
{
    char sum[HCB_SHA256_HEX];
    hcb_sha256_hex(cb->sum, sum);
    hcb_json_open(b, '{');
    hcb_json_put_str(b, "id", cb->id);
    hcb_json_put_str(b, "state", cb->failed ? "FAILED" : cb->enabled ? "on" : "off");
    hcb_json_put_bool(b, "enabled", cb->enabled);
    hcb_json_put_str(b, "name", cb->script ? hcb_script_name(cb->script) : NULL);
    hcb_json_put_str(b, "kind", hcb_target_kind_name(cb->target.kind));
    hcb_json_put_str(b, "path", cb->target.path);
    hcb_json_put_str(b, "symbol", cb->target.symbol);
    hcb_json_put_str(b, "sha256", cb->script ? sum : NULL);
    hcb_json_put_int(b, "version", cb->version);
    hcb_json_put_str(b, "origin", hcb_origin_name(cb->origin));
}

static void put_tail(struct hcb_buf *b, const struct hotcb *h, const struct hcb_callback *cb)
{
    put_params(b, cb);
    hcb_json_put_str(b, "schedule", cb->script ? hcb_script_schedule(cb->script) : NULL);
    put_events(b, h, cb);
    put_limits(b, &cb->limits);
    hcb_json_put_str(b, "pending", !cb->pending && cb->heir ? hcb_callback_fault(cb->heir)->message
                                                            : cb->pending);
    put_fault(b, h, cb);
    hcb_json_close(b, '}');
}

/* Of a piece that holds, only the counts are written anew. */
static void renew(struct hcb_buf *b, const struct hotcb *h, const struct hcb_callback *cb,
                  struct hcb_piece *p, bool holds)
{
    hcb_json_raw(b, "", 0);
    size_t start = b->len;
    if (holds)
        hcb_buf_add(b, p->text, p->from);
    else
        put_head(b, cb);
    size_t from = b->len - start;
    put_counts(b, cb, &p->counts);
    size_t to = b->len - start;
    if (holds)
        hcb_buf_add(b, p->text + p->to, p->n - p->to);
    else
        put_tail(b, h, cb);
    if (!b->oom)
        hcb_piece_keep(p, b->data + start, b->len - start);
    p->from = from;
    p->to = to;
}

static void put_callback(struct hcb_buf *b, const struct hotcb *h, struct hcb_callback *cb,
                         int seen)
{
    struct hcb_piece *p = &cb->status;
    bool holds = p->holds && p->seen == seen;
    if (holds && counts_hold(&p->counts, cb)) {
        hcb_json_raw(b, p->text, p->n);
        return;
    }
    p->counts = counts_of(cb);
    p->seen = seen;
    p->holds = false;
    renew(b, h, cb, p, holds);
}

static int count_seen(const struct hcb_events *events)
{
    int n = 0;
    for (int id = 0; id < events->n; id++)
        n += events->seen[id];
    return n;
}

void hcb_callbacks_json(struct hcb_buf *b, const struct hotcb *h)
{
    int seen = count_seen(&h->registry.world.events); /* the others are waited for */
    hcb_json_open(b, '[');
    for (size_t i = 0; i < h->registry.n; i++)
        put_callback(b, h, h->registry.v[i], seen);
    hcb_json_close(b, ']');
}

/* ---- the run --------------------------------------------------------------- */

static void measure_rate(struct hotcb *h, int64_t now_ns)
{
    if (now_ns - h->rate_ns < RATE_INTERVAL_NS && h->has_rate_step)
        return;
    double dt = (double)(now_ns - h->rate_ns) / 1e9;
    bool known = h->has_rate_step && h->has_step && h->step >= h->rate_step && dt > 0;
    h->steps_per_s = known ? ((double)h->step - (double)h->rate_step) / dt : -1;
    h->has_rate_step = h->has_step;
    h->rate_step = h->step;
    h->rate_ns = now_ns;
}

static void put_identity(struct hcb_buf *b, const struct hotcb *h, const char *state)
{
    hcb_json_put_int(b, "format", 1);
    hcb_json_put_str(b, "hotcb", HOTCB_VERSION);
    hcb_json_put_str(b, "run", h->run);
    hcb_json_put_int(b, "pid", h->pid);
    hcb_json_put_str(b, "host", h->host);
    hcb_json_put_str(b, "dir", h->dir.dir);
    hcb_json_put_str(b, "state", state);
    hcb_json_put_real(b, "started", h->started_wall);
    hcb_json_put_real(b, "beat", hcb_clock_wall());
}

static void put_progress(struct hcb_buf *b, struct hotcb *h, int64_t now_ns)
{
    double up = (double)(now_ns - h->started_ns) / 1e9;
    hcb_json_put_real(b, "uptime_s", up);
    step_field(b, "step", h->has_step, h->step);
    hcb_json_put_int(b, "applies", h->cost.applies);
    hcb_json_put_int(b, "looks", h->looks);
    measure_rate(h, now_ns);
    if (h->steps_per_s < 0)
        hcb_json_put_null(b, "steps_per_s");
    else
        hcb_json_put_real(b, "steps_per_s", rounded(h->steps_per_s));
    hcb_json_key(b, "look");
    hcb_json_open(b, '{');
    hcb_json_put_str(b, "method", hcb_notice_works(h->notice) ? "inotify+stat" : "stat");
    hcb_json_put_int(b, "poll_interval_ms", h->poll_interval_ns / 1000000);
    hcb_json_put_int(b, "debounce_steps", h->debounce_steps);
    hcb_json_close(b, '}');
    hcb_json_key(b, "cost");
    hcb_json_open(b, '{');
    hcb_json_put_real(b, "percent", up > 0 ? rounded((double)h->cost.total_ns / 1e7 / up) : 0);
    hcb_json_put_real(b, "p99_ms", rounded(hcb_cost_p99_ms(&h->cost)));
    hcb_json_close(b, '}');
    hcb_json_put_str(b, "guard", hcb_guard_name());
    hcb_json_put_str(b, "stop_reason", h->stop_reason);
}

static void put_files(struct hcb_buf *b, const struct hotcb *h)
{
    hcb_json_key(b, "config");
    hcb_json_open(b, '{');
    hcb_json_put_str(b, "path", h->dir.config);
    hcb_json_put_str(b, "error", h->config_error);
    hcb_json_close(b, '}');
    hcb_json_key(b, "commands");
    hcb_json_open(b, '{');
    hcb_json_put_str(b, "path", h->dir.commands);
    hcb_json_put_int(b, "offset", h->commands.place.offset);
    hcb_json_put_int(b, "lines", h->commands.place.lines);
    hcb_json_put_bool(b, "queued_more", h->commands.more || h->more);
    hcb_json_close(b, '}');
    hcb_json_key(b, "dropped");
    hcb_json_open(b, '{');
    hcb_json_put_int(b, "effects", h->dropped_effects);
    hcb_json_put_int(b, "log_lines", h->log.spool.dropped);
    hcb_json_put_int(b, "scalars", h->metrics.spool.dropped);
    hcb_json_put_int(b, "media", h->media.spool.dropped);
    hcb_json_put_int(b, "artifacts", h->lost_artifacts);
    hcb_json_close(b, '}');
}

static void put_seen(struct hcb_buf *b, const struct hcb_events *events)
{
    hcb_json_key(b, "events");
    hcb_json_open(b, '[');
    for (int id = 0; id < events->n; id++)
        if (events->seen[id])
            hcb_json_str(b, events->names[id]);
    hcb_json_close(b, ']');
}

static void put_last(struct hcb_buf *b, const struct hotcb *h)
{
    hcb_json_key(b, "last");
    if (!h->has_last) {
        hcb_json_null(b);
        return;
    }
    hcb_json_open(b, '{');
    hcb_json_put_str(b, "op", h->last_op);
    hcb_json_put_str(b, "id", *h->last_id ? h->last_id : NULL);
    hcb_json_put_value(b, "params", &h->last_params);
    hcb_json_put_str(b, "decision", h->last_applied ? "applied" : "rejected");
    step_field(b, "step", h->last_has_step, h->last_step);
    hcb_json_put_str(b, "error", *h->last_error ? h->last_error : NULL);
    hcb_json_put_str(b, "cmd", *h->last_cmd ? h->last_cmd : NULL);
    hcb_json_close(b, '}');
}

/* Of a large run the status is written less often, where nothing asks for it. */
static void plan_beat(struct hotcb *h, int64_t now_ns)
{
    int64_t wait_ns = (int64_t)h->text.len * INT64_C(1000000000) / HOTCB_BEAT_BYTES;
    h->next_beat_ns = now_ns + (wait_ns > BEAT_INTERVAL_NS ? wait_ns : BEAT_INTERVAL_NS);
}

void hcb_status_write(struct hotcb *h, const char *state)
{
    struct hcb_buf *b = &h->text;
    struct hcb_err err;
    int64_t now_ns = hcb_clock_ns();
    hcb_buf_reset(b);
    hcb_json_open(b, '{');
    put_identity(b, h, state);
    put_progress(b, h, now_ns);
    put_files(b, h);
    put_seen(b, &h->registry.world.events);
    put_last(b, h);
    hcb_json_key(b, "callbacks");
    hcb_callbacks_json(b, h);
    hcb_json_close(b, '}');
    hcb_buf_char(b, '\n');
    plan_beat(h, now_ns);
    int status = b->oom ? hcb_fail_nomem(&err)
                        : hcb_file_refresh(h->dir.status, b->data, b->len, &err);
    if (status < 0 && !h->status_trouble)
        hcb_log(&h->log, HOTCB_WARN, NULL, "%s; it is tried again", err.text);
    h->status_trouble = status < 0;
    h->written += (int64_t)b->len;
}
