/* A run in the scratch folder, seen as a program and other processes see it: the public
 * functions, what was logged, and the files it writes. Each apply looks. */
#ifndef RUN_RIG_H
#define RUN_RIG_H

#include "base/json.h"
#include "files.h"
#include <hotcb/hotcb.h>

struct run {
    hotcb_options opt;
    hotcb *h;
    hotcb_env *env;
    struct hcb_buf log; /* "id: line\n", "-: line\n" of the controller's own */
    char dir[128];
    struct hcb_value status;
};

static inline void run_log(void *user, enum hotcb_level level, const char *callback,
                           const char *line)
{
    struct run *r = user;
    (void)level;
    hcb_buf_printf(&r->log, "%s: %s\n", callback ? callback : "-", line);
}

static inline void run_init(struct run *r)
{
    const hotcb_options opt = HOTCB_OPTIONS_INIT;
    memset(r, 0, sizeof(*r));
    snprintf(r->dir, sizeof(r->dir), "%s", scratch("run"));
    r->opt = opt;
    r->opt.dir = r->dir;
    r->opt.poll_interval_ms = -1;
    r->opt.log = run_log;
    r->opt.log_user = r;
    r->env = hotcb_env_new();
    assert_non_null(r->env);
}

static inline void run_open(struct run *r)
{
    if (hotcb_open(&r->h, &r->opt) < 0)
        fail_msg("open: %s", hotcb_errmsg(r->h));
}

static inline void run_start(struct run *r)
{
    run_init(r);
    run_open(r);
}

static inline void run_close(struct run *r)
{
    hotcb_close(r->h);
    r->h = NULL;
}

static inline void run_release(struct run *r)
{
    run_close(r);
    hotcb_env_free(r->env);
    hcb_buf_release(&r->log);
    hcb_value_release(&r->status);
}

/* A file of the run directory. */
static inline const char *run_path(const char *name)
{
    char path[140];
    snprintf(path, sizeof(path), "run/%s", name);
    return scratch(path);
}

static inline int run_apply(struct run *r, const char *event)
{
    return hotcb_apply(r->h, r->env, event);
}

static inline void run_steps(struct run *r, int64_t from, int64_t to)
{
    for (int64_t step = from; step <= to; step++) {
        hotcb_env_step(r->env, step);
        assert_int_equal(run_apply(r, "train_step_end"), 0);
    }
}

/* A command of this process, written with ' for ". */
static inline int run_command(struct run *r, const char *json)
{
    char text[2000];
    snprintf(text, sizeof(text), "%s", json);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return hotcb_command(r->h, text);
}

static inline void run_must(struct run *r, const char *json)
{
    if (run_command(r, json) < 0)
        fail_msg("%s: %s", json, hotcb_errmsg(r->h));
}

/* Writes the script run/<id>.lua and loads it as id. */
static inline void run_script(const char *id, const char *text)
{
    char name[100];
    snprintf(name, sizeof(name), "%s.lua", id);
    scratch_replace(run_path(name), text);
}

static inline void run_load(struct run *r, const char *id, const char *text)
{
    char json[300];
    run_script(id, text);
    snprintf(json, sizeof(json), "{'op':'load','id':'%s','target':{'kind':'lua_file',"
             "'path':'%s.lua'}}", id, id);
    run_must(r, json);
}

/* The log since the last time, which is then forgotten. */
static inline char *run_log_take(struct run *r)
{
    char *text = hcb_buf_take(&r->log);
    assert_non_null(text);
    return text;
}

static inline int count_of(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        n++;
    return n;
}

/* How often a part stands in the log so far. */
static inline int run_logged(struct run *r, const char *part)
{
    return count_of(hcb_buf_text(&r->log), part);
}

static inline const struct hcb_value *run_status(struct run *r)
{
    struct hcb_err err = {0};
    char *text = file_read("run/hotcb.status.json");
    assert_non_null(text);
    hcb_value_release(&r->status);
    if (hcb_json_parse(text, strlen(text), &r->status, &err) < 0)
        fail_msg("status: %s", err.text);
    free(text);
    return &r->status;
}

/* The entry of a callback, as hotcb_list() has it; NULL if it is not there. */
static inline const struct hcb_value *run_callback(struct run *r, const char *id)
{
    char *text = hotcb_list(r->h);
    assert_non_null(text);
    hcb_value_release(&r->status);
    assert_int_equal(hcb_json_parse(text, strlen(text), &r->status, NULL), 0);
    hotcb_free(text);
    for (size_t i = 0; i < r->status.u.list.n; i++)
        if (strcmp(hcb_map_text(&r->status.u.list.v[i], "id", ""), id) == 0)
            return &r->status.u.list.v[i];
    return NULL;
}

/* An integer of it; -1 if it has none. */
static inline int64_t run_number(struct run *r, const char *id, const char *key)
{
    return hcb_map_int(run_callback(r, id), key, -1);
}

static inline void run_expect_state(struct run *r, const char *id, const char *state, bool enabled)
{
    const struct hcb_value *cb = run_callback(r, id);
    assert_non_null(cb);
    assert_string_equal(hcb_map_text(cb, "state", ""), state);
    assert_int_equal(hcb_map_bool(cb, "enabled", !enabled), enabled);
}

/* The ledger as "op id decision" lines, parted by '|'. */
static inline const char *run_ledger(void)
{
    static char out[8000];
    char *text = file_read("run/hotcb.applied.jsonl"), *save = NULL;
    out[0] = '\0';
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        struct hcb_value v = {0};
        assert_int_equal(hcb_json_parse(line, strlen(line), &v, NULL), 0);
        snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s %s %s", *out ? "|" : "",
                 hcb_map_text(&v, "op", ""), hcb_map_text(&v, "id", "-"),
                 hcb_map_text(&v, "decision", ""));
        hcb_value_release(&v);
    }
    free(text);
    return out;
}

#endif
