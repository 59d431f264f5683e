/* enable, disable, unload, reload and set: one op for one callback. */
#include "base/json.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/change.h"
#include "cli/table.h"
#include "control/op.h"
#include <string.h>

#define LABEL_COLUMNS 160 /* of what an answer repeats of the command line */

int cli_change_open(struct cli *cli, struct cli_run *run)
{
    struct hcb_err err = {0};
    const char *id = cli->words.v[0];
    int code = cli_run_open(cli, run);
    if (code == CLI_OK && hcb_id_check(id, strlen(id), &err) < 0)
        code = cli_fail(cli, CLI_REFUSED, "%s", err.text);
    return code;
}

void cli_change_begin(struct cli *cli, struct hcb_buf *json)
{
    hcb_json_open(json, '{');
    hcb_json_put_str(json, "op", cli->command->op);
    hcb_json_put_str(json, "id", cli->words.v[0]);
}

/* "set guard max_loss=20": the words as they were typed, cut where they are too much. */
static void make_label(struct cli *cli, struct hcb_buf *label)
{
    hcb_buf_str(label, cli->command->name);
    for (size_t i = 0; i < cli->words.n && label->len < LABEL_COLUMNS; i++) {
        size_t n = strlen(cli->words.v[i]);
        size_t room = LABEL_COLUMNS - label->len;
        hcb_buf_char(label, ' ');
        hcb_buf_add(label, cli->words.v[i], n <= room ? n : hcb_utf8_cut(cli->words.v[i], room));
        if (n > room)
            hcb_buf_str(label, "...");
    }
}

/* Without a run to judge it: is it a command at all? */
static int check_form(struct cli *cli, const struct hcb_buf *json, const char *label)
{
    struct hcb_buf whole = {0};
    struct hcb_err err = {0};
    struct hcb_op op;
    hcb_op_init(&op);
    hcb_buf_str(&whole, hcb_buf_text(json));
    hcb_json_close(&whole, '}');
    int code = CLI_OK;
    if (whole.oom)
        code = cli_fail(cli, CLI_REFUSED, "out of memory");
    else if (hcb_op_parse(whole.data, whole.len, &op, &err) < 0)
        code = cli_fail(cli, CLI_REFUSED, "%s: refused: %s", label, err.text);
    hcb_op_release(&op);
    hcb_buf_release(&whole);
    return code;
}

int cli_change_send(struct cli *cli, struct cli_run *run, struct cli_request *request)
{
    struct hcb_buf label = {0};
    make_label(cli, &label);
    request->label = hcb_buf_text(&label);
    int code = run->live ? CLI_OK : check_form(cli, &request->json, request->label);
    if (code == CLI_OK)
        code = cli_send(cli, run, request);
    hcb_buf_release(&label);
    return code;
}

int cli_run_switch(struct cli *cli)
{
    struct cli_run run;
    struct cli_request request = {.hint = "status"};
    int code = cli_change_open(cli, &run);
    if (code == CLI_OK) {
        cli_change_begin(cli, &request.json);
        code = cli_change_send(cli, &run, &request);
    }
    hcb_buf_release(&request.json);
    cli_run_close(&run);
    return code;
}

static int send_set(struct cli *cli, struct cli_run *run, const struct hcb_value *params)
{
    struct cli_request request = {0};
    struct hcb_buf hint = {0};
    hcb_buf_str(&hint, "get ");
    cli_shell_word(&hint, cli->words.v[0]);
    request.hint = hcb_buf_text(&hint);
    cli_change_begin(cli, &request.json);
    cli_pairs_write(&request.json, "params", params);
    cli_pairs_write_text(&request.json, params);
    int code = cli_change_send(cli, run, &request);
    hcb_buf_release(&request.json);
    hcb_buf_release(&hint);
    return code;
}

int cli_run_set(struct cli *cli)
{
    struct cli_run run = {0};
    struct hcb_value params = {0};
    int code = cli_pairs_read(cli, &cli->words, 1, &params);
    if (code == CLI_OK)
        code = cli_change_open(cli, &run);
    if (code == CLI_OK)
        code = send_set(cli, &run, &params);
    hcb_value_release(&params);
    cli_run_close(&run);
    return code;
}
