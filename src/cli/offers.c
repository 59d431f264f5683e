/* Ids and parameters of the run's status file, parameters that a script declares,
 * modules that are built in or lie along HOTCB_PATH. Knows no command by name. */
#include "cli/offers.h"

#include "base/json.h"
#include "base/text.h"
#include "cli/callback_view.h"
#include "cli/params.h"
#include "cli/nearby.h"
#include "cli/run_view.h"
#include "cli/shells.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

void cli_offer(struct cli_line *line, const char *prefix, const char *word, const char *suffix,
               const char *about)
{
    struct hcb_buf whole = {0};
    size_t n = strlen(line->current);
    hcb_buf_printf(&whole, "%s%s%s", prefix, word, suffix);
    const char *text = hcb_buf_text(&whole);
    if (strncmp(text, line->current, n) == 0 && hcb_text_is_printable(text, whole.len)) {
        hcb_buf_printf(&line->out, "%s\t", text);
        cli_safe(&line->out, about);
        hcb_buf_char(&line->out, '\n');
    }
    cli_drop(&line->out, &whole);
}

bool cli_line_has(const struct cli_line *line, const char *beginning)
{
    for (int i = 0; i < line->given_n; i++) {
        if (strncmp(line->given[i], beginning, strlen(beginning)) == 0)
            return true;
    }
    return false;
}

/* ---- the run ------------------------------------------------------------------------ */

/* Returns 0 if there is a run directory; says nothing if there is none. To be closed
 * in either case. */
static int open_run(struct cli_line *line, struct cli_run *run)
{
    struct hcb_rundir at;
    bool is_there = hcb_rundir_init(&at, line->dir, NULL, NULL) && cli_is_run_dir(&at);
    hcb_rundir_release(&at);
    memset(run, 0, sizeof *run);
    line->cli->dir = line->dir;
    return is_there ? cli_run_open(line->cli, run) : CLI_NO_RUN;
}

void cli_offer_callbacks(struct cli_line *line, const char *prefix)
{
    struct cli_run run;
    int code = open_run(line, &run);
    const struct hcb_value *list = code == CLI_OK ? cli_run_callbacks(&run) : NULL;
    for (size_t i = 0; list && i < list->u.list.n; i++) {
        const struct hcb_value *callback = &list->u.list.v[i];
        struct hcb_buf about = {0};
        hcb_buf_printf(&about, "%s, %s", cli_state(callback), hcb_map_text(callback, "path", "?"));
        cli_offer(line, prefix, hcb_map_text(callback, "id", ""), "", hcb_buf_text(&about));
        cli_drop(&line->out, &about);
    }
    cli_run_close(&run);
}

/* ---- parameters ----------------------------------------------------------------------- */

/* "every=": its value now, its range, its help. */
static void offer_name(struct cli_line *line, const char *prefix, const char *name,
                       const struct hcb_value *value, const struct hcb_value *declaration)
{
    struct hcb_buf key = {0}, about = {0};
    hcb_buf_printf(&key, "%s=", name);
    if (value)
        cli_value_text(&about, value);
    if (declaration) {
        hcb_buf_str(&about, value ? " " : "");
        cli_range_text(&about, declaration);
        hcb_buf_printf(&about, " %s", hcb_map_text(declaration, "help", ""));
    }
    if (!cli_line_has(line, hcb_buf_text(&key)))
        cli_offer(line, prefix, hcb_buf_text(&key), "", hcb_buf_text(&about));
    cli_drop(&line->out, &key);
    cli_drop(&line->out, &about);
}

/* "mode=l2", "mode=max": the values of one that has only a few. */
static void offer_values(struct cli_line *line, const char *prefix, const char *name,
                         const struct hcb_value *declaration)
{
    const struct hcb_value *choices = hcb_map_get(declaration, "choices");
    struct hcb_buf key = {0};
    hcb_buf_printf(&key, "%s%s=", prefix, name);
    for (size_t i = 0; choices && choices->type == HCB_LIST && i < choices->u.list.n; i++) {
        struct hcb_buf value = {0};
        cli_value_text(&value, &choices->u.list.v[i]);
        cli_offer(line, hcb_buf_text(&key), hcb_buf_text(&value), "", NULL);
        cli_drop(&line->out, &value);
    }
    if (strcmp(hcb_map_text(declaration, "type", ""), "boolean") == 0) {
        cli_offer(line, hcb_buf_text(&key), "true", "", NULL);
        cli_offer(line, hcb_buf_text(&key), "false", "", NULL);
    }
    cli_drop(&line->out, &key);
}

static void offer_declared(struct cli_line *line, const char *prefix,
                           const struct hcb_value *declared, const struct hcb_value *params)
{
    bool has_name = strchr(line->current + strlen(prefix), '=') != NULL;
    for (size_t i = 0; i < declared->u.list.n; i++) {
        const struct hcb_value *declaration = &declared->u.list.v[i];
        const char *name = hcb_map_text(declaration, "name", "");
        const struct hcb_value *value = params ? hcb_map_get(params, name)
                                               : hcb_map_get(declaration, "default");
        if (has_name)
            offer_values(line, prefix, name, declaration);
        else
            offer_name(line, prefix, name, value, declaration);
    }
}

/* Of a callback, or of what hotcb_check() says of a script. */
static void offer_params(struct cli_line *line, const char *prefix, const struct hcb_value *of)
{
    const struct hcb_value *declared = hcb_map_get(of, "declared");
    const struct hcb_value *params = hcb_map_get(of, "params");
    if (declared && declared->type == HCB_LIST) {
        offer_declared(line, prefix, declared, params);
        return;
    }
    if (!params || params->type != HCB_MAP || strchr(line->current + strlen(prefix), '='))
        return;
    for (size_t i = 0; i < params->u.map.n; i++)
        offer_name(line, prefix, params->u.map.p[i].key, &params->u.map.p[i].value, NULL);
}

static void offer_params_of_file(struct cli_line *line, const char *prefix)
{
    struct hcb_value report = {0};
    char *text = NULL;
    if (hotcb_check(line->file, NULL, &text) == 0 && text &&
        hcb_json_parse(text, strlen(text), &report, NULL) == 0)
        offer_params(line, prefix, &report);
    hotcb_free(text);
    hcb_value_release(&report);
}

static void offer_params_of_id(struct cli_line *line, const char *prefix)
{
    struct cli_run run;
    int code = open_run(line, &run);
    const struct hcb_value *callback = code == CLI_OK ? cli_run_callback(&run, line->first) : NULL;
    if (callback)
        offer_params(line, prefix, callback);
    cli_run_close(&run);
}

void cli_offer_params(struct cli_line *line, const char *prefix)
{
    if (line->file)
        offer_params_of_file(line, prefix);
    else if (line->first)
        offer_params_of_id(line, prefix);
}

/* ---- modules ---------------------------------------------------------------------------- */

/* "a/b" below a folder -> "a.b" */
static void offer_folder(struct cli_line *line, const char *prefix, const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        size_t n = strlen(entry->d_name);
        struct hcb_buf name = {0};
        if (n > 4 && entry->d_name[0] != '.' && strcmp(entry->d_name + n - 4, ".lua") == 0) {
            hcb_buf_add(&name, entry->d_name, n - 4);
            if (!strchr(hcb_buf_text(&name), '.'))
                cli_offer(line, prefix, hcb_buf_text(&name), "", folder);
        }
        cli_drop(&line->out, &name);
    }
    if (dir)
        closedir(dir);
}

/* What of the word is a folder already: "a.b." of a.b.c. */
static size_t folder_part(const char *word)
{
    const char *dot = strrchr(word, '.');
    return dot ? (size_t)(dot + 1 - word) : 0;
}

static void offer_along_path(struct cli_line *line, const char *prefix, const char *search)
{
    const char *word = line->current + strlen(prefix);
    struct hcb_buf before = {0};
    size_t part = folder_part(word);
    hcb_buf_str(&before, prefix);
    hcb_buf_add(&before, word, part);
    while (*search) {
        size_t n = strcspn(search, ":");
        struct hcb_buf folder = {0};
        hcb_buf_add(&folder, search, n);
        hcb_buf_char(&folder, '/');
        for (size_t i = 0; i < part; i++)
            hcb_buf_char(&folder, word[i] == '.' ? '/' : word[i]);
        if (n > 0 && !folder.oom)
            offer_folder(line, hcb_buf_text(&before), hcb_buf_text(&folder));
        cli_drop(&line->out, &folder);
        search += n + (search[n] == ':');
    }
    cli_drop(&line->out, &before);
}

void cli_offer_modules(struct cli_line *line, const char *prefix)
{
    const char *search = getenv("HOTCB_PATH");
    for (size_t i = 0; cli_shipped[i]; i++)
        cli_offer(line, prefix, cli_shipped[i], "", "built in");
    if (search)
        offer_along_path(line, prefix, search);
}
