/* status: the run and its callbacks on one screen, from what the run wrote last. */
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/callback_view.h"
#include "cli/params.h"
#include "cli/run_view.h"
#include "cli/table.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

#define ID_COLUMNS_MAX 24
#define PARAMS_COLUMNS_MIN 16

/* ---- --json --------------------------------------------------------------------- */

static bool add_text(struct hcb_value *map, const char *key, const char *text)
{
    struct hcb_value *v = hcb_map_put(map, key);
    return v && hcb_value_text(v, text, strlen(text));
}

/* A run that wrote no status has an empty one. */
static bool make_status(struct cli_run *run)
{
    hcb_value_map(&run->status);
    if (!add_text(&run->status, "dir", run->at.dir) ||
        !add_text(&run->status, "state", run->starting ? "starting" : "never started"))
        return false;
    struct hcb_value *list = hcb_map_put(&run->status, "callbacks");
    if (list)
        hcb_value_list(list);
    return list != NULL;
}

static bool add_view(struct cli_run *run)
{
    struct hcb_value *live = hcb_map_put(&run->status, "live");
    if (live)
        hcb_value_bool(live, run->live);
    struct hcb_value *age = hcb_map_put(&run->status, "beat_age_s");
    if (age && run->beat_age_s >= 0)
        hcb_value_real(age, floor(run->beat_age_s * 1e3 + 0.5) / 1e3);
    return live && age;
}

static int put_json(struct cli *cli, struct cli_run *run)
{
    struct hcb_buf b = {0};
    if (run->status.type == HCB_NULL && !make_status(run))
        return cli_fail(cli, CLI_REFUSED, "out of memory");
    if (!add_view(run))
        return cli_fail(cli, CLI_REFUSED, "out of memory");
    hcb_json_pretty(&b, &run->status, 0);
    hcb_buf_char(&b, '\n');
    cli_screen_put(&cli->out, &b);
    return CLI_OK;
}

/* ---- the head: segments that stay whole when the line is too short ------------------ */

static void segment(struct hcb_buf *line, const char *text)
{
    if (line->len > 0)
        hcb_buf_str(line, "  ");
    cli_glue(line, text);
}

static void step_text(struct hcb_buf *text, const struct cli_run *run)
{
    const struct hcb_value *step = hcb_map_get(&run->status, "step");
    hcb_buf_str(text, "step ");
    if (step && step->type == HCB_INT)
        cli_thousands(text, step->u.i);
    else
        hcb_buf_char(text, '-');
}

static void rate_segment(struct hcb_buf *line, const struct cli_run *run)
{
    double rate = hcb_map_real(&run->status, "steps_per_s", 0);
    struct hcb_buf text = {0};
    if (rate >= 1) {
        hcb_buf_printf(&text, rate >= 100 ? "%.0f it/s" : rate >= 10 ? "%.1f it/s" : "%.2f it/s",
                       rate);
    } else if (rate > 0) {
        cli_duration(&text, 1 / rate);
        hcb_buf_str(&text, "/it");
    }
    if (text.len > 0)
        segment(line, hcb_buf_text(&text));
    cli_drop(line, &text);
}

static void duration_segment(struct hcb_buf *line, const char *label, double seconds)
{
    struct hcb_buf text = {0};
    hcb_buf_str(&text, label);
    cli_duration(&text, seconds);
    segment(line, hcb_buf_text(&text));
    cli_drop(line, &text);
}

/* With the machine it runs on, if that is another one. */
static void pid_text(struct hcb_buf *text, const struct cli_run *run)
{
    char here[256] = "";
    const char *host = hcb_map_text(&run->status, "host", "");
    gethostname(here, sizeof here - 1);
    hcb_buf_printf(text, "pid %lld", (long long)cli_run_pid(run));
    if (*host && strcmp(host, here) != 0) {
        hcb_buf_str(text, " on ");
        cli_safe(text, host);
    }
}

static void head_live(struct hcb_buf *line, const struct cli_run *run)
{
    struct hcb_buf pid = {0}, step = {0};
    pid_text(&pid, run);
    segment(line, hcb_buf_text(&pid));
    step_text(&step, run);
    segment(line, run->starting ? "starting: no look yet" : hcb_buf_text(&step));
    if (!run->starting) {
        rate_segment(line, run);
        duration_segment(line, "up ", hcb_map_real(&run->status, "uptime_s", 0));
        duration_segment(line, "last beat ", run->beat_age_s);
    }
    cli_drop(line, &pid);
    cli_drop(line, &step);
}

/* "pid 4711 died, last beat 12 s ago at step 41,210", or "12 s ago at step 41,210" */
static void head_gone(struct hcb_buf *line, const struct cli_run *run)
{
    struct hcb_buf text = {0};
    if (run->died) {
        pid_text(&text, run);
        hcb_buf_str(&text, " died, last beat ");
    }
    cli_duration(&text, run->beat_age_s);
    hcb_buf_str(&text, " ago at ");
    step_text(&text, run);
    segment(line, hcb_buf_text(&text));
    duration_segment(line, "was up ", hcb_map_real(&run->status, "uptime_s", 0));
    cli_drop(line, &text);
}

static const char *state_word(const struct cli_run *run)
{
    if (run->live)
        return "live";
    if (run->status.type == HCB_NULL)
        return "not started";
    return run->died ? "not running:" : "ended";
}

static enum cli_paint state_paint(const struct cli_run *run)
{
    return run->live ? CLI_GREEN : run->died ? CLI_RED : CLI_YELLOW;
}

static void put_run_id(struct cli *cli, const struct cli_run *run, struct hcb_buf *b)
{
    struct hcb_buf line = {0};
    const char *id = hcb_map_text(&run->status, "run", NULL);
    if (!id)
        return;
    hcb_buf_str(&line, "run ");
    cli_safe(&line, id);
    cli_indented(b, &cli->out, 0, hcb_buf_text(&line));
    cli_drop(b, &line);
}

static void put_head(struct cli *cli, const struct cli_run *run, struct hcb_buf *b)
{
    const char *state = state_word(run);
    struct hcb_buf name = {0}, line = {0}, rest = {0};
    int width = cli->out.width;
    cli_safe(&name, strcmp(cli->dir, ".") == 0 ? run->at.dir : cli->dir);
    int at = cli_columns(hcb_buf_text(&name), name.len);
    at = at > width - 20 ? 0 : at;
    cli_wrap(b, hcb_buf_text(&name), 0, 0, width);
    hcb_buf_str(b, at ? "  " : "\n  ");
    cli_paint(&cli->out, b, state_paint(run), state);
    if (run->live)
        head_live(&line, run);
    else if (run->status.type != HCB_NULL)
        head_gone(&line, run);
    hcb_buf_printf(&rest, "%s%s", run->live ? "  " : " ", hcb_buf_text(&line));
    cli_wrap(b, hcb_buf_text(&rest), at + 2 + (int)strlen(state), 2, width);
    hcb_buf_char(b, '\n');
    put_run_id(cli, run, b);
    cli_drop(b, &name);
    cli_drop(b, &line);
    cli_drop(b, &rest);
}

static void looks_text(struct hcb_buf *b, const struct hcb_value *look)
{
    int64_t poll_ms = hcb_map_int(look, "poll_interval_ms", -1);
    int64_t debounce = hcb_map_int(look, "debounce_steps", 1);
    if (!look || look->type != HCB_MAP)
        return;
    if (poll_ms > 0)
        hcb_buf_printf(b, "looking every %lld ms", (long long)poll_ms);
    else
        hcb_buf_str(b, "looking at every apply");
    if (debounce > 1)
        hcb_buf_printf(b, ", every %lld applies", (long long)debounce);
}

static void put_cost(struct cli *cli, const struct cli_run *run, struct hcb_buf *b)
{
    const struct hcb_value *cost = hcb_map_get(&run->status, "cost");
    struct hcb_buf line = {0}, looks = {0};
    if (!cost || cost->type != HCB_MAP)
        return;
    hcb_buf_printf(&line, "hotcb cost  %.2f %% of step (p99 %.2g ms)    ",
                   hcb_map_real(cost, "percent", 0), hcb_map_real(cost, "p99_ms", 0));
    looks_text(&looks, hcb_map_get(&run->status, "look"));
    cli_glue(&line, hcb_buf_text(&looks));
    cli_indented(b, &cli->out, 0, hcb_buf_text(&line));
    cli_drop(b, &line);
    cli_drop(b, &looks);
}

/* ---- the table ----------------------------------------------------------------------- */

struct columns {
    int id, state, calls, us, params;
};

static int widest(int so_far, struct hcb_buf *cell, int max)
{
    int columns = cli_columns(hcb_buf_text(cell), cell->len);
    hcb_buf_release(cell);
    return columns > so_far && columns <= max ? columns : so_far;
}

static void measure(const struct cli *cli, const struct hcb_value *callbacks, struct columns *w)
{
    *w = (struct columns){2, 5, 5, 7, 0};
    for (size_t i = 0; i < callbacks->u.list.n; i++) {
        const struct hcb_value *callback = &callbacks->u.list.v[i];
        struct hcb_buf cell = {0};
        cli_safe(&cell, hcb_map_text(callback, "id", "?"));
        w->id = widest(w->id, &cell, ID_COLUMNS_MAX);
        cli_safe(&cell, cli_state(callback));
        w->state = widest(w->state, &cell, 12);
        cli_thousands(&cell, hcb_map_int(callback, "calls", 0));
        w->calls = widest(w->calls, &cell, 27);
        cli_us_text(&cell, callback);
        w->us = widest(w->us, &cell, 20);
    }
    w->params = 1 + w->id + 2 + w->state + 2 + w->calls + 2 + w->us + 2;
    if (w->params > cli->out.width - PARAMS_COLUMNS_MIN)
        w->params = 4; /* parameters then get lines of their own */
}

static int table_width(const struct columns *w)
{
    return 1 + w->id + 2 + w->state + 2 + w->calls + 2 + w->us + 2;
}

static void right(struct hcb_buf *b, const char *text, int width)
{
    cli_spaces(b, width - cli_columns(text, strlen(text)));
    hcb_buf_str(b, text);
}

static void left(struct hcb_buf *b, const char *text, int width)
{
    hcb_buf_str(b, text);
    cli_spaces(b, width - cli_columns(text, strlen(text)));
}

static void put_titles(struct cli *cli, const struct columns *w, struct hcb_buf *b)
{
    struct hcb_buf line = {0};
    hcb_buf_char(&line, ' ');
    left(&line, "ID", w->id + 2);
    left(&line, "STATE", w->state + 2);
    right(&line, "CALLS", w->calls);
    right(&line, "us/call", w->us + 2);
    if (w->params == table_width(w))
        hcb_buf_str(&line, "  PARAMS");
    cli_paint(&cli->out, b, CLI_BOLD, hcb_buf_text(&line));
    hcb_buf_char(b, '\n');
    cli_drop(b, &line);
}

/* An id too long for its column has a line to itself. */
static void put_id(struct cli *cli, const struct columns *w, const struct hcb_value *callback,
                   struct hcb_buf *b)
{
    struct hcb_buf id = {0};
    cli_safe(&id, hcb_map_text(callback, "id", "?"));
    hcb_buf_char(b, ' ');
    if (cli_columns(hcb_buf_text(&id), id.len) <= w->id) {
        left(b, hcb_buf_text(&id), w->id + 2);
    } else {
        cli_wrap(b, hcb_buf_text(&id), 1, 3, cli->out.width);
        hcb_buf_char(b, '\n');
        cli_spaces(b, 1 + w->id + 2);
    }
    cli_drop(b, &id);
}

static void put_params(struct cli *cli, const struct columns *w, const struct hcb_value *callback,
                       struct hcb_buf *b)
{
    struct hcb_buf params = {0};
    cli_params_line(&params, callback);
    if (params.len > 0) {
        if (w->params == table_width(w)) {
            hcb_buf_str(b, "  ");
        } else {
            hcb_buf_char(b, '\n');
            cli_spaces(b, w->params);
        }
        cli_wrap(b, hcb_buf_text(&params), w->params, w->params, cli->out.width);
    }
    cli_drop(b, &params);
}

static void put_row(struct cli *cli, const struct columns *w, const struct hcb_value *callback,
                    struct hcb_buf *b)
{
    struct hcb_buf calls = {0}, us = {0};
    const char *state = cli_state(callback);
    put_id(cli, w, callback, b);
    cli_state_text(b, &cli->out, callback);
    cli_spaces(b, w->state + 2 - cli_columns(state, strlen(state)));
    cli_thousands(&calls, hcb_map_int(callback, "calls", 0));
    cli_us_text(&us, callback);
    right(b, hcb_buf_text(&calls), w->calls);
    right(b, hcb_buf_text(&us), w->us + 2);
    put_params(cli, w, callback, b);
    hcb_buf_char(b, '\n');
    cli_callback_troubles(b, &cli->out, callback, 3);
    cli_drop(b, &calls);
    cli_drop(b, &us);
}

static void put_callbacks(struct cli *cli, const struct cli_run *run, struct hcb_buf *b)
{
    const struct hcb_value *callbacks = cli_run_callbacks(run);
    struct columns w;
    hcb_buf_char(b, '\n');
    if (!callbacks || callbacks->u.list.n == 0) {
        struct hcb_buf line = {0};
        hcb_buf_str(&line, "no callbacks: `");
        cli_tool(cli, &line);
        hcb_buf_str(&line, "load ID --file F --enabled` loads one");
        cli_indented(b, &cli->out, 0, hcb_buf_text(&line));
        cli_drop(b, &line);
        return;
    }
    measure(cli, callbacks, &w);
    put_titles(cli, &w, b);
    for (size_t i = 0; i < callbacks->u.list.n; i++)
        put_row(cli, &w, &callbacks->u.list.v[i], b);
}

/* ---- the foot ------------------------------------------------------------------------- */

static void put_labelled(struct cli *cli, struct hcb_buf *b, enum cli_paint paint,
                         const char *label, const char *text)
{
    int at = (int)strlen(label);
    struct hcb_buf safe = {0};
    cli_safe(&safe, text);
    cli_paint(&cli->out, b, paint, label);
    cli_wrap(b, hcb_buf_text(&safe), at, at > 10 ? 2 : at, cli->out.width);
    hcb_buf_char(b, '\n');
    cli_drop(b, &safe);
}

static void put_config(struct cli *cli, const struct cli_run *run, struct hcb_buf *b)
{
    const char *error = hcb_map_text(hcb_map_get(&run->status, "config"), "error", NULL);
    struct hcb_buf text = {0};
    if (!error)
        return;
    hcb_buf_printf(&text, "%s (the last good state stays)", error);
    put_labelled(cli, b, CLI_RED, "config: ", hcb_buf_text(&text));
    cli_drop(b, &text);
}

/* What was lost, as far as anything of the kind was. */
static void put_dropped(struct cli *cli, const struct cli_run *run, struct hcb_buf *b)
{
    static const char *const kinds[][2] = {
        {"log_lines", "log lines"}, {"scalars", "scalars"}, {"media", "histograms and pictures"},
        {"artifacts", "artifacts"}, {"effects", "beyond what one call may ask"},
    };
    const struct hcb_value *dropped = hcb_map_get(&run->status, "dropped");
    struct hcb_buf text = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int64_t n = hcb_map_int(dropped, kinds[i][0], 0);
        if (n <= 0)
            continue;
        hcb_buf_str(&text, text.len ? ", " : "");
        cli_thousands(&text, n);
        hcb_buf_printf(&text, " %s", kinds[i][1]);
    }
    if (text.len > 0)
        put_labelled(cli, b, CLI_YELLOW, "dropped: ", hcb_buf_text(&text));
    cli_drop(b, &text);
}

static void put_queue(struct cli *cli, const struct cli_run *run, struct hcb_buf *b)
{
    const struct hcb_value *commands = hcb_map_get(&run->status, "commands");
    int64_t n = run->live ? 0 : cli_run_queued(run);
    struct hcb_buf text = {0};
    if (run->live && hcb_map_bool(commands, "queued_more", false))
        hcb_buf_str(&text, "more commands are waiting for the next looks");
    if (n > 0) {
        cli_thousands(&text, n);
        hcb_buf_str(&text, n == 1 ? " command waits" : " commands wait");
        hcb_buf_str(&text, " for a run to start here");
    }
    if (text.len > 0)
        put_labelled(cli, b, CLI_YELLOW, "Queued: ", hcb_buf_text(&text));
    cli_drop(b, &text);
}

/* What the run did by itself has no other outcome: "my_diag failed". */
static void last_op_text(struct hcb_buf *b, const struct hcb_value *last)
{
    const char *op = hcb_map_text(last, "op", "?"), *id = hcb_map_text(last, "id", NULL);
    const char *decision = hcb_map_text(last, "decision", "?");
    const struct hcb_value *params = hcb_map_get(last, "params");
    if (strcmp(op, "fail") == 0) {
        hcb_buf_printf(b, "%s failed", id ? id : "?");
        return;
    }
    hcb_buf_str(b, strcmp(op, "set_params") == 0 ? "set" : op);
    if (id)
        hcb_buf_printf(b, " %s", id);
    for (size_t i = 0; params && params->type == HCB_MAP && i < params->u.map.n; i++) {
        hcb_buf_printf(b, " %s=", params->u.map.p[i].key);
        cli_value_text(b, &params->u.map.p[i].value);
    }
    hcb_buf_printf(b, "  %s", strcmp(decision, "rejected") == 0 ? "refused" : decision);
}

/* "Last: set guard  applied at step 41,180" */
static void put_last(struct cli *cli, const struct cli_run *run, struct hcb_buf *b)
{
    const struct hcb_value *last = hcb_map_get(&run->status, "last");
    const struct hcb_value *step = hcb_map_get(last, "step");
    const char *error = hcb_map_text(last, "error", NULL);
    struct hcb_buf text = {0};
    if (!last || last->type != HCB_MAP)
        return;
    last_op_text(&text, last);
    if (step && step->type == HCB_INT) {
        hcb_buf_str(&text, " at step ");
        cli_thousands(&text, step->u.i);
    }
    if (error)
        hcb_buf_printf(&text, ": %s", error);
    put_labelled(cli, b, CLI_PLAIN, "Last: ", hcb_buf_text(&text));
    cli_drop(b, &text);
}

static void put_screen(struct cli *cli, const struct cli_run *run)
{
    const char *stop = hcb_map_text(&run->status, "stop_reason", NULL);
    struct hcb_buf b = {0};
    put_head(cli, run, &b);
    put_cost(cli, run, &b);
    if (!run->starting)
        put_callbacks(cli, run, &b);
    if (stop)
        put_labelled(cli, &b, CLI_YELLOW, "Stop asked for: ", stop);
    put_config(cli, run, &b);
    put_dropped(cli, run, &b);
    put_queue(cli, run, &b);
    put_last(cli, run, &b);
    cli_screen_put(&cli->out, &b);
}

int cli_run_status(struct cli *cli)
{
    struct cli_run run;
    int code = cli_run_open(cli, &run);
    if (code == CLI_OK && run.unreadable.code)
        code = cli_fail(cli, CLI_REFUSED, "%s: %s", run.at.status, run.unreadable.text);
    else if (code == CLI_OK && cli->json)
        code = put_json(cli, &run);
    else if (code == CLI_OK)
        put_screen(cli, &run);
    cli_run_close(&run);
    return code;
}
