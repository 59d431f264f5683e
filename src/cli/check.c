/* check: what the library says of a script, without any run. */
#include "base/json.h"
#include "base/text.h"
#include "cli/callback_view.h"
#include "cli/check.h"
#include "cli/params.h"
#include "cli/table.h"
#include <string.h>

/* Returns hotcb_check()'s result, with the report in *report. */
static int check(const char *path, const char *symbol, struct hcb_value *report)
{
    char *text = NULL;
    int rc = hotcb_check(path, symbol, &text);
    if (text)
        (void)hcb_json_parse(text, strlen(text), report, NULL);
    hotcb_free(text);
    return rc;
}

static const char *reason_of(const struct hcb_value *report, int rc)
{
    return hcb_map_text(report, "error", hotcb_strerror(rc));
}

int cli_report_refusal(struct cli *cli, const char *path, const char *symbol)
{
    struct hcb_value report = {0};
    int code = CLI_OK, rc = check(path, symbol, &report);
    if (rc < 0)
        code = cli_fail(cli, CLI_REFUSED, "%s %s: refused: %s", cli->command->name,
                        cli->words.v[0], reason_of(&report, rc));
    hcb_value_release(&report);
    return code;
}

/* Not one that only says that the library called the script. */
static void put_traceback(struct cli *cli, const struct hcb_value *report)
{
    const char *text = hcb_map_text(report, "traceback", "");
    const char *first = strchr(text, '\n');
    struct hcb_buf b = {0};
    if (first && strcmp(first + strspn(first, "\n\t "), "[C]: in ?") == 0)
        return;
    cli_traceback(&b, &cli->err, 2, text);
    cli_screen_put(&cli->err, &b);
}

static void put_line(struct cli *cli, struct hcb_buf *b, const char *label, struct hcb_buf *text)
{
    int at = (int)strlen(label);
    if (text->len > 0) {
        hcb_buf_str(b, label);
        cli_wrap(b, hcb_buf_text(text), at, at, cli->out.width);
        hcb_buf_char(b, '\n');
    }
    cli_drop(b, text);
}

static void put_declared(struct cli *cli, struct hcb_buf *b, const struct hcb_value *declared)
{
    if (!declared || declared->type != HCB_LIST) {
        hcb_buf_str(b, "parameters: none declared; it takes what `set` sends\n");
    } else if (declared->u.list.n == 0) {
        hcb_buf_str(b, "parameters: none\n");
    } else {
        hcb_buf_str(b, "parameters:\n");
        cli_params_table(b, &cli->out, declared, NULL);
    }
}

static void put_ok(struct cli *cli, const struct hcb_value *report)
{
    const char *name = hcb_map_text(report, "name", NULL);
    struct hcb_buf b = {0}, text = {0};
    cli_safe(&b, cli->words.v[0]);
    hcb_buf_str(&b, ": ");
    cli_paint(&cli->out, &b, CLI_GREEN, "ok");
    hcb_buf_str(&b, name ? ", " : "");
    cli_safe(&b, name);
    hcb_buf_char(&b, '\n');
    cli_text_list(&text, hcb_map_get(report, "events"));
    put_line(cli, &b, "events: ", &text);
    cli_safe(&text, hcb_map_text(report, "schedule", NULL));
    put_line(cli, &b, "schedule: ", &text);
    cli_text_list(&text, hcb_map_get(report, "hooks"));
    put_line(cli, &b, "hooks: ", &text);
    put_declared(cli, &b, hcb_map_get(report, "declared"));
    cli_screen_put(&cli->out, &b);
}

/* Each text of a list of the report, said by warn or note. */
static void say_each(struct cli *cli, const struct hcb_value *list,
                     void (*say)(struct cli *cli, const char *fmt, ...))
{
    for (size_t i = 0; list && list->type == HCB_LIST && i < list->u.list.n; i++)
        if (list->u.list.v[i].type == HCB_TEXT)
            say(cli, "%s", list->u.list.v[i].u.text.s);
}

int cli_run_check(struct cli *cli)
{
    struct hcb_value report = {0};
    struct hcb_buf json = {0};
    int rc = check(cli->words.v[0], cli->value[CLI_KEY_SYMBOL], &report);
    if (cli->json) {
        hcb_json_pretty(&json, &report, 0);
        hcb_buf_char(&json, '\n');
        cli_screen_put(&cli->out, &json);
    } else if (rc == 0) {
        put_ok(cli, &report);
        say_each(cli, hcb_map_get(&report, "warnings"), cli_warn);
        say_each(cli, hcb_map_get(&report, "notes"), cli_note);
    }
    if (rc < 0) {
        cli_note(cli, "%s", reason_of(&report, rc));
        if (!cli->json)
            put_traceback(cli, &report);
    }
    hcb_value_release(&report);
    return rc < 0 ? CLI_REFUSED : CLI_OK;
}
