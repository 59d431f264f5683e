/* list and get: the callbacks, as the run wrote them last. */
#include "base/json.h"
#include "base/text.h"
#include "cli/callback_view.h"
#include "cli/params.h"
#include "cli/run_view.h"
#include "cli/table.h"
#include <string.h>

/* Opens the run and says of what age the news is. Returns 0, or the exit code. */
static int open_view(struct cli *cli, struct cli_run *run)
{
    int code = cli_run_open(cli, run);
    if (code == CLI_OK && run->unreadable.code)
        code = cli_fail(cli, CLI_REFUSED, "%s: %s", run->at.status, run->unreadable.text);
    if (code == CLI_OK)
        cli_run_say_died(cli, run);
    return code;
}

static void put_pretty(struct cli *cli, const struct hcb_value *v)
{
    struct hcb_buf b = {0};
    hcb_json_pretty(&b, v, 0);
    hcb_buf_char(&b, '\n');
    cli_screen_put(&cli->out, &b);
}

#define ID_COLUMNS_MAX 24

/* ---- list -------------------------------------------------------------------------- */

static int widest_id(const struct hcb_value *callbacks)
{
    int widest = 0;
    for (size_t i = 0; i < callbacks->u.list.n; i++) {
        const char *id = hcb_map_text(&callbacks->u.list.v[i], "id", "?");
        int columns = cli_columns(id, strlen(id));
        if (columns > widest && columns <= ID_COLUMNS_MAX) /* one long id moves no other row */
            widest = columns;
    }
    return widest;
}

static void list_row(struct cli *cli, struct hcb_buf *b, const struct hcb_value *callback,
                     int width)
{
    const char *state = cli_state(callback);
    cli_safe(b, hcb_map_text(callback, "id", "?"));
    cli_pad_to(b, width);
    cli_spaces(b, 2);
    cli_state_text(b, &cli->out, callback);
    cli_spaces(b, 8 - cli_columns(state, strlen(state)));
    cli_safe(b, hcb_map_text(callback, "path", ""));
    hcb_buf_char(b, '\n');
}

static void put_list(struct cli *cli, const struct hcb_value *callbacks)
{
    struct hcb_buf b = {0};
    int width = widest_id(callbacks);
    for (size_t i = 0; i < callbacks->u.list.n; i++)
        list_row(cli, &b, &callbacks->u.list.v[i], width);
    cli_screen_put(&cli->out, &b);
}

int cli_run_list(struct cli *cli)
{
    static const struct hcb_value empty = {.type = HCB_LIST};
    struct cli_run run;
    int code = open_view(cli, &run);
    const struct hcb_value *callbacks = cli_run_callbacks(&run);
    if (code == CLI_OK && cli->json)
        put_pretty(cli, callbacks ? callbacks : &empty);
    else if (code == CLI_OK && callbacks && callbacks->u.list.n > 0)
        put_list(cli, callbacks);
    else if (code == CLI_OK)
        cli_note(cli, run.status.type == HCB_NULL ? "no callbacks: no run has looked here yet"
                                                  : "no callbacks");
    cli_run_close(&run);
    return code;
}

/* ---- get ---------------------------------------------------------------------------- */

#define LABEL_COLUMNS 12

static void field(struct cli *cli, struct hcb_buf *b, const char *label, struct hcb_buf *text)
{
    if (text->len > 0) {
        hcb_buf_str(b, "  ");
        hcb_buf_str(b, label);
        cli_pad_to(b, LABEL_COLUMNS);
        cli_wrap(b, hcb_buf_text(text), LABEL_COLUMNS, LABEL_COLUMNS, cli->out.width);
        hcb_buf_char(b, '\n');
    }
    cli_drop(b, text);
}

static void text_field(struct cli *cli, struct hcb_buf *b, const char *label,
                       const struct hcb_value *callback, const char *key)
{
    struct hcb_buf text = {0};
    cli_safe(&text, hcb_map_text(callback, key, NULL));
    field(cli, b, label, &text);
}

static void put_title(struct cli *cli, struct hcb_buf *b, const struct hcb_value *callback)
{
    struct hcb_buf text = {0};
    cli_safe(&text, hcb_map_text(callback, "id", "?"));
    cli_wrap(b, hcb_buf_text(&text), 0, 2, cli->out.width - 30);
    hcb_buf_str(b, "  ");
    cli_state_text(b, &cli->out, callback);
    hcb_buf_printf(b, "  version %lld", (long long)hcb_map_int(callback, "version", 1));
    hcb_buf_str(b, "  loaded by ");
    cli_safe(b, hcb_map_text(callback, "origin", "?"));
    hcb_buf_char(b, '\n');
    cli_drop(b, &text);
}

static void put_counters(struct cli *cli, struct hcb_buf *b, const struct hcb_value *callback)
{
    struct hcb_buf text = {0};
    const struct hcb_value *us = hcb_map_get(callback, "us_per_call");
    cli_thousands(&text, hcb_map_int(callback, "calls", 0));
    hcb_buf_str(&text, ", failures ");
    cli_thousands(&text, hcb_map_int(callback, "failures", 0));
    if (us && us->type != HCB_NULL) {
        hcb_buf_str(&text, ", ");
        cli_us_text(&text, callback);
        hcb_buf_str(&text, " us a call");
    }
    hcb_buf_printf(&text, ", memory %.1f kB", hcb_map_real(callback, "memory_kb", 0));
    field(cli, b, "calls", &text);
}

static void put_limits(struct cli *cli, struct hcb_buf *b, const struct hcb_value *callback)
{
    const struct hcb_value *limits = hcb_map_get(callback, "limits");
    struct hcb_buf text = {0};
    for (size_t i = 0; limits && limits->type == HCB_MAP && i < limits->u.map.n; i++) {
        hcb_buf_str(&text, i > 0 ? "  " : "");
        cli_safe(&text, limits->u.map.p[i].key);
        hcb_buf_char(&text, '=');
        cli_value_text(&text, &limits->u.map.p[i].value);
    }
    field(cli, b, "limits", &text);
}

static void put_params(struct cli *cli, struct hcb_buf *b, const struct hcb_value *callback)
{
    const struct hcb_value *declared = hcb_map_get(callback, "declared");
    struct hcb_buf text = {0};
    if (declared && declared->type == HCB_LIST && declared->u.list.n > 0) {
        hcb_buf_str(b, "\nparameters:\n");
        cli_params_table(b, &cli->out, declared, hcb_map_get(callback, "params"));
        return;
    }
    cli_params_line(&text, callback);
    if (text.len == 0)
        hcb_buf_str(&text, "none");
    if (!declared || declared->type != HCB_LIST)
        hcb_buf_str(&text, "  (it declares none, and takes what `set` sends)");
    field(cli, b, "params", &text);
}

static void put_callback(struct cli *cli, const struct hcb_value *callback)
{
    struct hcb_buf b = {0}, text = {0};
    put_title(cli, &b, callback);
    cli_callback_troubles(&b, &cli->out, callback, 2);
    cli_traceback(&b, &cli->out, 4,
                  hcb_map_text(hcb_map_get(callback, "error"), "traceback", NULL));
    text_field(cli, &b, "name", callback, "name");
    cli_safe(&text, hcb_map_text(callback, "kind", NULL));
    hcb_buf_char(&text, ' ');
    cli_safe(&text, hcb_map_text(callback, "path", NULL));
    field(cli, &b, "source", &text);
    text_field(cli, &b, "symbol", callback, "symbol");
    text_field(cli, &b, "sha256", callback, "sha256");
    put_counters(cli, &b, callback);
    cli_text_list(&text, hcb_map_get(callback, "events"));
    field(cli, &b, "events", &text);
    text_field(cli, &b, "schedule", callback, "schedule");
    put_limits(cli, &b, callback);
    put_params(cli, &b, callback);
    cli_screen_put(&cli->out, &b);
}

static int unknown_id(struct cli *cli, const struct cli_run *run, const char *id)
{
    const char *near = cli_run_near_id(run, id);
    if (run->status.type == HCB_NULL)
        cli_fail(cli, CLI_REFUSED, "no callback '%s': no run has looked here yet", id);
    else if (near)
        cli_fail(cli, CLI_REFUSED, "no callback '%s' - did you mean '%s'?", id, near);
    else
        cli_fail(cli, CLI_REFUSED, "no callback '%s'", id);
    if (near)
        cli_next(cli, "get %s", near);
    else
        cli_next(cli, "list");
    return CLI_REFUSED;
}

int cli_run_get(struct cli *cli)
{
    struct cli_run run;
    int code = open_view(cli, &run);
    const struct hcb_value *callback = cli_run_callback(&run, cli->words.v[0]);
    if (code == CLI_OK && !callback)
        code = unknown_id(cli, &run, cli->words.v[0]);
    else if (code == CLI_OK && cli->json)
        put_pretty(cli, callback);
    else if (code == CLI_OK)
        put_callback(cli, callback);
    cli_run_close(&run);
    return code;
}
