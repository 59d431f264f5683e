/* Looks that find something: commands, another hotcb.yaml, other scripts. A turn makes the
 * change and times the looks that take it in. Knows nothing of what a step costs. */
#include "serve.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETTLE_US 2100000 /* so long a file that changed is read at each look */
#define LARGE_BYTES 250000
#define BEAT_US 300000    /* so long until the status is written though nothing happened */

static const char declared[] =
    "return { params = { { 'every', " BENCH_NEVER " } }, schedule = 'every',\n"
    "  handle = function(self, event, env) end }\n";

/* ---- looks ---- */

/* Looks until so many ops are taken in; in a trace only one. ns of each op. */
static double take_in(struct item *item, int ops)
{
    int done = 0;
    double begin = bench_begin();
    do
        done += hotcb_poll(item->h, NULL);
    while (done < ops && !bench_counts);
    double took = bench_end(begin);
    if (done != ops && !bench_counts)
        bench_fail("another number of ops was taken in");
    if (bench_counts)
        printf("ops %d\n", done);
    return took / ops;
}

static double look(struct item *item)
{
    double begin = bench_begin();
    if (hotcb_poll(item->h, NULL) != 0)
        bench_fail("there was something new");
    return bench_end(begin);
}

/* ---- commands ---- */

#define LINES 10000

/* Lines of a set_params; with so many blanks in each. */
static void append_commands(struct item *item, int lines, int blanks)
{
    size_t each = (size_t)blanks + 200;
    char *all = malloc((size_t)lines * each), *at = all;
    if (!all)
        bench_fail("no memory");
    item->changed++;
    for (int i = 0; i < lines; i++)
        at += sprintf(at, "{\"op\":\"set_params\",\"id\":\"c0\",\"params\":{\"every\":%" PRId64 "},"
                      "\"cmd\":\"%lld-%d\",\"ts\":1780000000.5%*s}\n",
                      INT64_C(1099511627776) + i, item->changed, i, blanks, "");
    bench_append(item->dir, "hotcb.commands.jsonl", all, (size_t)(at - all));
    free(all);
}

static double commands(struct item *item)
{
    append_commands(item, LINES, 0);
    return take_in(item, LINES);
}

static double long_commands(struct item *item)
{
    append_commands(item, LINES / 10, 8000);
    return take_in(item, LINES / 10);
}

/* As somebody's loop may: nobody has that name. */
static double unknown_commands(struct item *item)
{
    char all[HOTCB_LOOK_OPS * 100], *at = all;
    for (int i = 0; i < HOTCB_LOOK_OPS; i++)
        at += sprintf(at, "{\"op\":\"enable\",\"id\":\"callback-%03d-that-is-not-there\"}\n", i);
    bench_append(item->dir, "hotcb.commands.jsonl", all, (size_t)(at - all));
    return take_in(item, HOTCB_LOOK_OPS);
}

static double loads(struct item *item)
{
    char all[HOTCB_LOOK_OPS * 150], *at = all;
    item->changed++;
    for (int i = 0; i < HOTCB_LOOK_OPS; i++)
        at += sprintf(at, "{\"op\":\"load\",\"id\":\"l%d\",\"target\":{\"kind\":\"lua_file\","
                      "\"path\":\"c0.lua\"},\"cmd\":\"%lld-%d\"}\n", i, item->changed, i);
    bench_append(item->dir, "hotcb.commands.jsonl", all, (size_t)(at - all));
    return take_in(item, HOTCB_LOOK_OPS);
}

/* ---- files ---- */

static double config(struct item *item)
{
    item->changed++;
    bench_run_config(item);
    return take_in(item, 1);
}

/* 100 lines, other ones each time. */
static void write_long_script(struct item *item, int i)
{
    char text[8000], name[20], *at = text;
    at += sprintf(at, "local Every = { params = { { 'every', " BENCH_NEVER " } } }\n"
                  "function Every:handle(event, env)\n"
                  "  if env.step %% self.every == 0 then error('due') end\nend\n"
                  "\nlocal version = %lld\n", item->changed);
    for (int n = 1; n <= 15; n++)
        at += sprintf(at, "\nlocal function helper_%d(x)\n  local y = x * %d + 2\n"
                      "  if y > %d then y = y - 3 end\n  return y\nend\n", n, n, n);
    for (int n = 0; n < 3; n++)
        at += sprintf(at, "-- %070d\n", 0);
    at += sprintf(at, "return Every\n");
    sprintf(name, "c%d.lua", i);
    bench_write(item->dir, name, text, (size_t)(at - text));
}

static double reload(struct item *item)
{
    item->changed++;
    for (int i = 0; i < item->callbacks; i++)
        write_long_script(item, i);
    return take_in(item, item->callbacks);
}

/* ---- nothing new ---- */

static void make_settled(struct item *item)
{
    bench_run(item);
    if (bench_counts)
        usleep(SETTLE_US);
    hotcb_poll(item->h, NULL);
}

/* The same text, written again. */
static double new_look(struct item *item)
{
    for (int i = 0; i < item->callbacks; i++)
        bench_run_script(item, i);
    return look(item);
}

/* Files that are as large as may be, almost, and were read by the look before. */
static double large_look(struct item *item)
{
    static char text[LARGE_BYTES];
    char name[20];
    memset(text, '-', sizeof(text));
    int n = sprintf(text, "%s-- %lld", declared, ++item->changed);
    text[n] = ' ';
    for (int i = 0; i < item->callbacks; i++) {
        sprintf(name, "c%d.lua", i);
        bench_write(item->dir, name, text, sizeof(text));
    }
    while (hotcb_poll(item->h, NULL) > 0) /* one look takes in only some of them */
        continue;
    return look(item);
}

static double beat(struct item *item)
{
    usleep(BEAT_US);
    return look(item);
}

static double first_look(struct item *item)
{
    bench_run_folder(item);
    bench_run_open(item);
    double ns = take_in(item, item->callbacks);
    hotcb_close(item->h);
    hotcb_env_free(item->env);
    return ns;
}

/* ---- all of them ---- */

#define PARAMS ", params: { every: %lld }"
#define LOOK(what, does, n) \
    {.name = what, .make = bench_run, .turn = does, .script = declared, .callbacks = n, \
     .poll_ms = -1}
#define SETTLED(what, does, n) \
    {.name = what, .make = make_settled, .turn = does, .script = declared, .callbacks = n, \
     .poll_ms = -1}
#define CONFIG(what, n) \
    {.name = what, .make = make_settled, .turn = config, .script = declared, .callbacks = n, \
     .poll_ms = -1, .more = PARAMS}
#define FIRST(what, n) \
    {.name = what, .turn = first_look, .script = declared, .callbacks = n, .poll_ms = -1}

#define QUIET(what, does, n) \
    {.name = what, .make = bench_run, .turn = does, .script = declared, .callbacks = n, \
     .poll_ms = -1, .quiet = true}

struct item look_items[] = {
    SETTLED("look", look, 0),
    SETTLED("look, 100", look, 100),
    SETTLED("look, 1000", look, 1000),
    LOOK("look, 100 new", new_look, 100),
    LOOK("look, 100 large", large_look, 100),
    SETTLED("beat, 1", beat, 1),
    SETTLED("beat, 100", beat, 100),
    SETTLED("beat, 1000", beat, 1000),
    SETTLED("beat, 4096", beat, 4096),
    LOOK("commands", commands, 1),
    LOOK("long commands", long_commands, 1),
    QUIET("unknown commands", unknown_commands, 1000),
    LOOK("loads", loads, 1),
    CONFIG("config 1", 1),
    CONFIG("config 1000", 1000),
    CONFIG("config 4096", 4096),
    LOOK("reload", reload, 1),
    LOOK("reload 100", reload, 100),
    LOOK("reload 1000", reload, 1000),
    FIRST("first look 100", 100),
    FIRST("first look 1000", 1000),
    {.name = NULL},
};
