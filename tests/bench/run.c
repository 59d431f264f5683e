/* A run to measure: its folder, its callbacks and its handle. Knows nothing of what is
 * measured. */
#include "serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_BYTES 400
#define FIRST_STEPS 100 /* till all is learnt that is learnt by running */
#define FIRST_LOOKS 3

static void say(void *user, enum hotcb_level level, const char *callback, const char *line)
{
    const struct item *item = user;
    if (level >= HOTCB_WARN && !item->quiet)
        fprintf(stderr, "serve: %s: %s\n", callback ? callback : "hotcb", line);
}

void bench_run_config(struct item *item)
{
    char *yaml = malloc((size_t)item->callbacks * ENTRY_BYTES + 40), more[200] = "", *at = yaml;
    if (!yaml)
        bench_fail("no memory");
    at += sprintf(at, "callbacks:%s\n", item->callbacks ? "" : " {}");
    for (int i = 0; i < item->callbacks; i++) {
        if (item->more)
            snprintf(more, sizeof(more), item->more, i == 0 ? item->changed : 0);
        at += sprintf(at, "  c%d: { target: { kind: lua_file, path: c%d.lua }%s }\n", i, i, more);
    }
    bench_write(item->dir, "hotcb.yaml", yaml, (size_t)(at - yaml));
    free(yaml);
}

void bench_run_script(struct item *item, int i)
{
    char name[20];
    sprintf(name, "c%d.lua", i);
    bench_write(item->dir, name, item->script, strlen(item->script));
}

void bench_run_folder(struct item *item)
{
    item->dir = bench_folder(item->name);
    for (int i = 0; i < item->callbacks; i++)
        bench_run_script(item, i);
    bench_run_config(item);
}

void bench_run_open(struct item *item)
{
    hotcb_options opt = HOTCB_OPTIONS_INIT;
    opt.dir = item->dir;
    opt.log = say;
    opt.log_user = item;
    if (!item->defaults)
        opt.poll_interval_ms = item->poll_ms ? item->poll_ms : BENCH_HUGE_MS;
    if (bench_counts)
        opt.time_ms = BENCH_HUGE_MS;
    item->env = hotcb_env_new();
    if (hotcb_open(&item->h, &opt) < 0)
        bench_fail(hotcb_errmsg(item->h));
}

/* By another function than the one that is counted. */
void bench_run_applies(struct item *item)
{
    const char *event = BENCH_EVENT;
    int64_t last = item->poll_ms < 0 ? FIRST_LOOKS : FIRST_STEPS;
    for (item->step = 1; item->step <= last; item->step++) {
        hotcb_env_step(item->env, item->step);
        hotcb_apply_events(item->h, item->env, &event, 1);
    }
}

void bench_run(struct item *item)
{
    bench_run_folder(item);
    bench_run_open(item);
    bench_run_applies(item);
}
