/* load: which script is meant, and the command that loads it. What the run would
 * refuse for certain is refused here, where nobody listens who could say so. */
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/change.h"
#include "cli/check.h"
#include "cli/shells.h"
#include "cli/table.h"
#include "control/limits.h"
#include "control/op.h"
#include <stdlib.h>
#include <string.h>

struct load {
    enum hcb_target_kind kind;
    char *path; /* absolute; or the module's name */
    struct hcb_value init, limits;
};

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static int take_file(struct cli *cli, struct load *load)
{
    const char *file = cli->value[CLI_KEY_FILE];
    if (ends_with(file, ".py"))
        return cli_fail(cli, CLI_REFUSED, "%s is a Python file; hotcb's callbacks are Lua scripts: "
                        "write it in Lua, a function handle(event, env) is enough", file);
    if (!hcb_utf8_valid(file, strlen(file)))
        return cli_fail(cli, CLI_REFUSED, "%s: the path is not UTF-8 text, which a command cannot "
                        "carry; rename it or load it through a link", file);
    load->kind = HCB_TARGET_FILE;
    load->path = hcb_path_absolute(file);
    return load->path ? CLI_OK : cli_fail(cli, CLI_REFUSED, "out of memory");
}

/* ---- modules ------------------------------------------------------------------ */

static bool is_module_name(const char *name)
{
    bool fresh = true; /* a part begins here */
    for (; *name; name++) {
        bool letter = strchr("_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", *name);
        bool digit = *name >= '0' && *name <= '9';
        if (!(letter || (digit && !fresh) || (*name == '.' && !fresh)))
            return false;
        fresh = *name == '.';
    }
    return !fresh;
}

/* a.b -> a/b.lua */
static void module_file(struct hcb_buf *b, const char *name)
{
    for (; *name; name++)
        hcb_buf_char(b, *name == '.' ? '/' : *name);
    hcb_buf_str(b, ".lua");
}

static char *find_in(const char *dir, size_t n, const char *file)
{
    struct hcb_buf path = {0};
    struct hcb_sig sig = {0};
    hcb_buf_add(&path, dir, n);
    hcb_buf_printf(&path, "/%s", file);
    if (!path.oom)
        hcb_sig_get(path.data, &sig);
    char *found = sig.exists ? hcb_path_absolute(path.data) : NULL;
    hcb_buf_release(&path);
    return found;
}

static char *find_module(const char *search, const char *file)
{
    char *found = NULL;
    while (!found && *search) {
        size_t n = strcspn(search, ":");
        if (n > 0)
            found = find_in(search, n, file);
        search += n + (search[n] == ':');
    }
    return found;
}

static int take_module(struct cli *cli, struct load *load)
{
    const char *name = cli->value[CLI_KEY_MODULE], *search = getenv("HOTCB_PATH");
    struct hcb_buf file = {0};
    if (!is_module_name(name))
        return cli_fail(cli, CLI_REFUSED, "%s is no module name such as hotcb.callbacks.heartbeat "
                        "or a.b; --file loads a file", name);
    if (strncmp(name, "hotcb.", 6) == 0) {
        load->kind = HCB_TARGET_MODULE;
        load->path = hcb_strdup(name);
        return load->path ? CLI_OK : cli_fail(cli, CLI_REFUSED, "out of memory");
    }
    module_file(&file, name);
    load->kind = HCB_TARGET_FILE;
    load->path = search ? find_module(search, hcb_buf_text(&file)) : NULL;
    int code = CLI_OK;
    if (!load->path)
        code = cli_fail(cli, CLI_REFUSED, "module %s: there is no %s along HOTCB_PATH (%s)", name,
                        hcb_buf_text(&file), search && *search ? search : "which is not set");
    hcb_buf_release(&file);
    return code;
}

static int take_target(struct cli *cli, struct load *load)
{
    if (cli->given[CLI_KEY_FILE] == cli->given[CLI_KEY_MODULE])
        return cli_usage(cli, "one of --file and --module says what to load");
    if (cli->given[CLI_KEY_ENABLED] && cli->given[CLI_KEY_DISABLED])
        return cli_usage(cli, "--enabled and --disabled exclude each other");
    return cli->given[CLI_KEY_FILE] ? take_file(cli, load) : take_module(cli, load);
}

/* ---- without a run --------------------------------------------------------------- */

static int check_shipped(struct cli *cli, const char *name)
{
    char hint[HCB_NEAR_CHARS];
    size_t n = 0;
    for (; cli_shipped[n]; n++)
        if (strcmp(cli_shipped[n], name) == 0)
            return CLI_OK;
    return cli_fail(cli, CLI_REFUSED, "load %s: refused: no shipped module '%s'%s",
                    cli->words.v[0], name, hcb_near_dotted_hint(name, cli_shipped, n, hint));
}

static int check_here(struct cli *cli, const struct load *load)
{
    const struct hcb_limits defaults = HCB_LIMITS_DEFAULT;
    struct hcb_limits limits = defaults;
    struct hcb_err err = {0};
    if (hcb_limits_read(&limits, &defaults, &load->limits, &err) < 0)
        return cli_fail(cli, CLI_REFUSED, "load %s: refused: %s", cli->words.v[0], err.text);
    if (load->kind == HCB_TARGET_MODULE)
        return check_shipped(cli, load->path);
    return cli_report_refusal(cli, load->path, cli->value[CLI_KEY_SYMBOL]);
}

/* ---- the command ------------------------------------------------------------------ */

static void write_target(struct cli *cli, struct hcb_buf *json, const struct load *load)
{
    hcb_json_key(json, "target");
    hcb_json_open(json, '{');
    hcb_json_put_str(json, "kind", hcb_target_kind_name(load->kind));
    hcb_json_put_str(json, "path", load->path);
    if (cli->given[CLI_KEY_SYMBOL]) {
        hcb_json_put_str(json, "symbol", cli->value[CLI_KEY_SYMBOL]);
    }
    hcb_json_close(json, '}');
}

static void write_load(struct cli *cli, struct hcb_buf *json, const struct load *load)
{
    cli_change_begin(cli, json);
    write_target(cli, json, load);
    if (load->init.u.map.n > 0)
        cli_pairs_write(json, "init", &load->init);
    cli_pairs_write_text(json, &load->init);
    if (load->limits.u.map.n > 0)
        cli_pairs_write(json, "limits", &load->limits);
    hcb_json_put_bool(json, "enabled", cli->given[CLI_KEY_ENABLED]);
}

/* "loaded, off: `hotcb enable x` turns it on", or what to look at after a refusal. */
static void write_hints(struct cli *cli, const struct load *load, struct hcb_buf *applied,
                        struct hcb_buf *hint)
{
    if (cli->given[CLI_KEY_ENABLED]) {
        hcb_buf_str(applied, ", on");
    } else {
        hcb_buf_str(applied, "; loaded, off: `");
        cli_tool(cli, applied);
        hcb_buf_printf(applied, "enable %s` turns it on", cli->words.v[0]);
    }
    if (load->kind == HCB_TARGET_FILE) {
        hcb_buf_str(hint, "check ");
        cli_shell_word(hint, load->path);
    } else {
        hcb_buf_str(hint, "help load");
    }
}

static int send_load(struct cli *cli, struct cli_run *run, const struct load *load)
{
    struct cli_request request = {0};
    struct hcb_buf applied = {0}, hint = {0};
    write_hints(cli, load, &applied, &hint);
    write_load(cli, &request.json, load);
    request.applied = hcb_buf_text(&applied);
    request.hint = hcb_buf_text(&hint);
    int code = cli_change_send(cli, run, &request);
    hcb_buf_release(&request.json);
    hcb_buf_release(&applied);
    hcb_buf_release(&hint);
    return code;
}

int cli_run_load(struct cli *cli)
{
    struct cli_run run = {0};
    struct load load = {0};
    int code = cli_pairs_read(cli, &cli->init, 0, &load.init);
    if (code == CLI_OK)
        code = cli_pairs_read(cli, &cli->limits, 0, &load.limits);
    if (code == CLI_OK)
        code = take_target(cli, &load);
    if (code == CLI_OK)
        code = cli_change_open(cli, &run);
    if (code == CLI_OK && !run.live)
        code = check_here(cli, &load);
    if (code == CLI_OK)
        code = send_load(cli, &run, &load);
    hcb_value_release(&load.init);
    hcb_value_release(&load.limits);
    free(load.path);
    cli_run_close(&run);
    return code;
}
