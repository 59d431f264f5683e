/* What a run reads of an earlier one: bytes as hotcb.state.json, hotcb.applied.jsonl and
 * hotcb.commands.jsonl, each after a 0xff. A run opens on them, resumes, and leaves files
 * behind on which the next one opens and has the same callbacks. */
#include "checks.h"

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEDGER "hotcb.applied.jsonl"
#define FILE_MAX (1 << 26)

/* What a command may load, by the name x.lua: it takes any value, and keeps it. */
static const char script[] =
    "return { params = { { 'a', nil, type = 'any' }, { 's', '' }, { 'n', 1, min = 0 } },\n"
    "handle = function() end, restore = function(self, t) self.kept = t.kept end,\n"
    "save = function(self) return { kept = self.a } end }\n";

static void take_log(void *user, enum hotcb_level level, const char *callback, const char *line)
{
    (void)user;
    (void)level;
    (void)callback;
    fuzz_must_be_line(line, strlen(line));
}

/* What the registry has, without what counts and what time it is. */
static char *ids_of(hotcb *h)
{
    struct hcb_value list = {0};
    struct hcb_buf ids = {0};
    char *text = hotcb_list(h);
    MUST(text);
    fuzz_must_be_json(text, strlen(text), &list);
    for (size_t i = 0; i < list.u.list.n; i++) {
        const struct hcb_value *cb = &list.u.list.v[i];
        hcb_buf_printf(&ids, "%s %d ", hcb_map_text(cb, "id", ""),
                       hcb_map_bool(cb, "enabled", false));
        hcb_json_value(&ids, hcb_map_get(cb, "params"));
        hcb_buf_char(&ids, '\n');
    }
    hotcb_free(text);
    hcb_value_release(&list);
    return ids.data ? hcb_buf_take(&ids) : hcb_strdup("");
}

static void apply(hotcb *h, int64_t step)
{
    hotcb_env *env = hotcb_env_new();
    hotcb_env_step(env, step);
    hotcb_env_num(env, "loss", 0.5);
    MUST(hotcb_apply(h, env, "train_step_end") == 0);
    MUST(hotcb_apply(h, env, "checkpoint") == 0);
    hotcb_env_free(env);
}

/* Opens on what is there, resumes, closes; what callbacks there were is yours to free. */
static char *run(void)
{
    hotcb_options opt = HOTCB_OPTIONS_INIT;
    hotcb *h;
    opt.dir = fuzz_folder();
    opt.log = take_log;
    opt.log_level = HOTCB_DEBUG;
    opt.resume = 1;
    opt.poll_interval_ms = -1;
    opt.time_ms = 1000;
    int rc = hotcb_open(&h, &opt);
    if (*hotcb_errmsg(h))
        fprintf(stderr, "%d: %s\n", rc, hotcb_errmsg(h));
    MUST(rc == 0 && *hotcb_errmsg(h) == '\0');
    apply(h, 1);
    char *ids = ids_of(h);
    hotcb_close(h);
    return ids;
}

static void check_file(const char *name)
{
    struct hcb_buf text = {0};
    struct hcb_value v = {0};
    MUST(hcb_file_read(fuzz_path(name), FILE_MAX, &text, NULL) == 0);
    fuzz_must_be_json(text.data, text.len, &v);
    MUST(v.type == HCB_MAP);
    hcb_value_release(&v);
    hcb_buf_release(&text);
}

/* How much of the ledger stays: all but a torn last line. */
static size_t whole_lines(const char *text, size_t n)
{
    while (n > 0 && text[n - 1] != '\n')
        n--;
    return n;
}

static void run_again(const char *first)
{
    char *second = run();
    if (strcmp(first, second) != 0)
        fprintf(stderr, "%s---\n%s", first, second);
    MUST(strcmp(first, second) == 0);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"hotcb.state.json", LEDGER, "hotcb.commands.jsonl"};
    struct fuzz_input in = {.at = (const char *)data, .left = size};
    size_t ledger = 0;
    for (int i = 0; i < 3; i++) {
        const char *part;
        size_t n;
        fuzz_part(&in, &part, &n);
        fuzz_write(names[i], part, n);
        if (i == 1)
            ledger = whole_lines(part, n);
    }
    fuzz_write("hotcb.yaml", "", 0);
    fuzz_write("x.lua", script, sizeof(script) - 1);
    fuzz_check_ledger(fuzz_path(LEDGER));
    char *first = run();
    fuzz_check_added(fuzz_path(LEDGER), ledger);
    check_file("hotcb.state.json");
    check_file("hotcb.status.json");
    if (*first)
        run_again(first);
    free(first);
    return 0;
}
