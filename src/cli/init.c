/* init: the one command that creates something. */
#include "base/file.h"
#include "base/json.h"
#include "cli/table.h"
#include "control/rundir.h"
#include <stdlib.h>
#include <string.h>

struct made {
    const char *name; /* below the run directory */
    bool made;        /* else it was there */
};

static int make(struct cli *cli, const char *path, const char *text, struct made *made)
{
    struct hcb_err err = {0};
    struct hcb_sig before;
    hcb_sig_get(path, &before);
    made->made = !before.exists;
    if (hcb_file_touch(path, text, &err) < 0)
        return cli_fail(cli, CLI_REFUSED, "%s", err.text);
    return CLI_OK;
}

static int make_all(struct cli *cli, const struct hcb_rundir *at, struct made made[2])
{
    struct hcb_err err = {0};
    if (hcb_make_dirs(at->dir, &err) < 0)
        return cli_fail(cli, CLI_REFUSED, "%s", err.text);
    int code = make(cli, at->config, HCB_CONFIG_TEMPLATE, &made[0]);
    return code == CLI_OK ? make(cli, at->commands, "", &made[1]) : code;
}

static void put_json(struct cli *cli, const struct hcb_rundir *at, const struct made made[2])
{
    struct hcb_buf b = {0};
    hcb_json_open(&b, '{');
    hcb_json_put_str(&b, "dir", at->dir);
    for (int want = 1; want >= 0; want--) {
        hcb_json_key(&b, want ? "made" : "kept");
        hcb_json_open(&b, '[');
        for (int i = 0; i < 2; i++) {
            if (made[i].made == want)
                hcb_json_str(&b, made[i].name);
        }
        hcb_json_close(&b, ']');
    }
    hcb_json_close(&b, '}');
    hcb_buf_char(&b, '\n');
    cli_screen_put(&cli->out, &b);
}

static void put_text(struct cli *cli, const struct made made[2])
{
    struct hcb_buf b = {0};
    for (int i = 0; i < 2; i++) {
        char *path = hcb_path_join(cli->dir, made[i].name);
        hcb_buf_str(&b, made[i].made ? "made  " : "kept  ");
        cli_safe(&b, path);
        b.oom = b.oom || !path;
        hcb_buf_char(&b, '\n');
        free(path);
    }
    cli_screen_put(&cli->out, &b);
    cli_next(cli, "load heartbeat --module hotcb.callbacks.heartbeat --enabled");
}

int cli_run_init(struct cli *cli)
{
    struct made made[2] = {{"hotcb.yaml", false}, {"hotcb.commands.jsonl", false}};
    struct hcb_rundir at;
    if (!hcb_rundir_init(&at, cli->dir, NULL, NULL))
        return cli_fail(cli, CLI_REFUSED, "out of memory");
    int code = make_all(cli, &at, made);
    if (code == CLI_OK && cli->json)
        put_json(cli, &at, made);
    else if (code == CLI_OK)
        put_text(cli, made);
    hcb_rundir_release(&at);
    return code;
}
