/* Lives of a run in acts; see scenario.h. Knows hotcb by its header and its files alone. */
#include "scenario.h"

#include "checks.h"
#include "stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ACTS_IN_TROUBLE 2 /* after the one in which it began */
#define STEPS 2           /* of each act, so that what is said at each is noticed */

struct play {
    struct stage s;
    int in_trouble;    /* acts since something failed */
    int config_mark;   /* what hotcb.yaml says of the neighbour */
    bool edited;       /* the worker's second version is there */
    int process;       /* lines of the ledger when this process began */
    bool kept;         /* a process left its state in peace, with the worker in it, */
    int kept_mark;     /* and this was its parameter */
};

/* ---- the texts ---- */

/* The second version of the worker differs from the first in its name. */
static void copy_script(struct stage *s, const char *name, bool second)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", HOTCB_FAULT_SCRIPTS, name);
    char *text = stage_read(path), *at = strstr(text, "Worker1");
    if (!*text || (second && !at))
        stage_fail(s, "%s is not what the test needs", path);
    if (second && at)
        at[strlen("Worker")] = '2';
    snprintf(path, sizeof path, "%s/%s", s->root, name);
    stage_write(s, path, text);
    free(text);
}

static void write_config(struct play *p, int mark, const char *rest)
{
    struct stage *s = &p->s;
    char text[600];
    mkdir(s->dir, 0777);
    snprintf(text, sizeof text,
             "version: 1\n"
             "callbacks:\n"
             "  neighbour:\n"
             "    target: {kind: lua_file, path: %s/neighbour.lua}\n"
             "    params: {mark: %d}\n"
             "%s", s->root, mark, rest);
    stage_write(s, stage_path(s, "hotcb.yaml"), text);
    p->config_mark = mark;
}

static void send_load(struct stage *s, const char *id, const char *file)
{
    char rest[250];
    snprintf(rest, sizeof rest, ",'target':{'kind':'lua_file','path':'%s/%s'}", s->root, file);
    stage_send(s, "load", id, rest);
}

/* ---- the acts ---- */

static void act_open(struct play *p)
{
    stage_open(&p->s, false);
}

static void act_config(struct play *p)
{
    write_config(p, 1, "  beat:\n"
                       "    target: {kind: module, path: hotcb.callbacks.heartbeat}\n"
                       "    init: {every: 2}\n");
}

static void act_load(struct play *p)
{
    send_load(&p->s, "worker", "worker.lua");
}

static void act_set(struct play *p)
{
    stage_send_set(&p->s, "worker", 5);
    stage_send(&p->s, "set_params", "worker", ",'params':{'mark':1e1},'text':{'mark':'10'}");
}

static void act_refuse(struct play *p)
{
    stage_send(&p->s, "set_params", "worker", ",'params':{'mark':'many'}");
    send_load(&p->s, "ghost", "nowhere.lua");
    stage_send(&p->s, "enable", "nobody", "");
    stage_append(&p->s, stage_path(&p->s, "hotcb.commands.jsonl"), "{\"op\":\n");
}

static void act_disable(struct play *p)
{
    stage_send(&p->s, "disable", "worker", "");
}

static void act_enable(struct play *p)
{
    stage_send(&p->s, "enable", "worker", "");
}

static void act_edit(struct play *p)
{
    copy_script(&p->s, "worker.lua", true);
    p->edited = true;
}

static void act_limits(struct play *p)
{
    stage_send(&p->s, "set_limits", "worker", ",'limits':{'memory_mb':8,'errors':3}");
    stage_send(&p->s, "set_limits", "worker", ",'limits':{'coroutines':true}");
}

static void act_second_config(struct play *p)
{
    write_config(p, 2, "    limits: {memory_mb: 4}\n");
}

/* All that was said of the neighbour goes, so that it is as the script has it. */
static void act_bare_config(struct play *p)
{
    char text[300];
    snprintf(text, sizeof text, "callbacks:\n  neighbour:\n    target: {kind: lua_file, "
             "path: %s/neighbour.lua}\n", p->s.root);
    stage_write(&p->s, stage_path(&p->s, "hotcb.yaml"), text);
    p->config_mark = 0;
}

static void act_checkpoint(struct play *p)
{
    stage_event(&p->s, "checkpoint");
}

static void act_host(struct play *p)
{
    char *report = NULL, path[200];
    snprintf(path, sizeof path, "%s/worker.lua", p->s.root);
    fault_enter();
    hotcb_command(p->s.h, "{\"op\":\"set_params\",\"id\":\"worker\",\"params\":{\"mark\":6}}");
    hotcb_free(hotcb_list(p->s.h));
    hotcb_check(path, NULL, &report);
    hotcb_free(report);
    fault_leave();
}

static void act_module(struct play *p)
{
    stage_send(&p->s, "load", "pulse",
               ",'target':{'kind':'module','path':'hotcb.callbacks.heartbeat'},"
               "'init':{'every':3},'params':{'message':'still here'}");
    stage_send(&p->s, "reload", "worker", "");
    stage_send(&p->s, "unload", "pulse", "");
}

static void act_stop(struct play *p)
{
    stage_send(&p->s, "set_params", "worker", ",'params':{'stop':true,'mark':8}");
    stage_step(&p->s);
    stage_send(&p->s, "set_params", "worker", ",'params':{'stop':false}");
}

static void act_many(struct play *p)
{
    for (int i = 0; i < 4; i++)
        stage_send_set(&p->s, "worker", 20 + i);
}

static void act_quiet(struct play *p)
{
    fault_pass_ms(300);
    stage_steps(&p->s, STEPS);
    fault_pass_ms(300);
}

/* Whether what failed, if anything did, works again. */
static bool at_peace(const struct play *p)
{
    return !fault_struck() || p->in_trouble > ACTS_IN_TROUBLE;
}

/* Nobody is there then: what is sent and edited is for the next process, which must find
 * what was closed in peace. */
static void act_away(struct play *p)
{
    struct stage *s = &p->s;
    struct hcb_value list = {0};
    const struct hcb_value *worker = stage_list(s, &list) ? stage_find(&list, "worker") : NULL;
    p->kept_mark = (int)hcb_map_int(hcb_map_get(worker, "params"), "mark", -1);
    bool peace = worker && at_peace(p);
    hcb_value_release(&list);
    stage_close(s);
    p->kept = peace && at_peace(p);
    p->process = check_ledger_count(s);
    stage_send_set(s, "worker", 30);
    write_config(p, 3, "");
}

static void act_resume(struct play *p)
{
    stage_open(&p->s, true);
}

/* An editor saves the command file anew, with less of what was, and adds a line. */
static void act_rewrite(struct play *p)
{
    const char *path = stage_path(&p->s, "hotcb.commands.jsonl");
    char *text = stage_read(path), *half = strchr(text + strlen(text) / 2, '\n');
    if (half)
        stage_write(&p->s, path, half + 1);
    free(text);
    stage_send_set(&p->s, "worker", 40);
}

typedef void act_fn(struct play *p);

struct act {
    const char *name;
    act_fn *run;
    bool away; /* no steps after it: nobody is there */
};

#define ACTS_MAX 8

/* What is played first works always; a fault comes in the acts after it. */
static const struct life {
    const char *name;
    struct act before[ACTS_MAX], acts[ACTS_MAX];
} lives[] = {
    {"begin", {{0}},
     {{"open", act_open, false},
      {"config", act_config, false},
      {"load", act_load, false},
      {"set", act_set, false},
      {"refuse", act_refuse, false}}},
    {"change",
     {{"open", act_open, false}, {"config", act_config, false}, {"load", act_load, false}},
     {{"disable", act_disable, false},
      {"enable", act_enable, false},
      {"edit", act_edit, false},
      {"limits", act_limits, false},
      {"second config", act_second_config, false},
      {"bare config", act_bare_config, false}}},
    {"work",
     {{"open", act_open, false}, {"config", act_config, false}, {"load", act_load, false}},
     {{"checkpoint", act_checkpoint, false},
      {"host", act_host, false},
      {"module", act_module, false},
      {"stop", act_stop, false},
      {"many", act_many, false}}},
    {"resume",
     {{"open", act_open, false}, {"config", act_config, false}, {"load", act_load, false},
      {"set", act_set, false}, {"edit", act_edit, false}, {"checkpoint", act_checkpoint, false}},
     {{"quiet", act_quiet, false},
      {"away", act_away, true},
      {"resume", act_resume, false},
      {"rewrite", act_rewrite, false},
      {"checkpoint again", act_checkpoint, false}}},
};

int scenario_lives(void)
{
    return (int)(sizeof lives / sizeof lives[0]);
}

/* What failed works again after some acts. */
static void count_trouble(struct play *p)
{
    if (fault_struck() && p->in_trouble++ == ACTS_IN_TROUBLE)
        fault_clear();
}

static void play_acts(struct play *p, const struct act acts[ACTS_MAX], int steps)
{
    for (int i = 0; i < ACTS_MAX && acts[i].run; i++) {
        p->s.act = acts[i].name;
        if (!p->s.open && acts[i].run != act_open)
            stage_open(&p->s, true);
        acts[i].run(p);
        if (!acts[i].away)
            stage_steps(&p->s, steps);
        count_trouble(p);
    }
}

/* ---- what must hold ---- */

/* A callback that is in the list, or that says why it does not run: by memory, which
 * `enable` or an edit mends. */
static const struct hcb_value *must_have(struct stage *s, const struct hcb_value *list,
                                         const char *id)
{
    const struct hcb_value *cb = stage_find(list, id);
    if (!cb)
        stage_fail(s, "%s is gone", id);
    return cb;
}

static bool short_of_memory(const struct hcb_value *cb)
{
    const char *reason = hcb_map_text(hcb_map_get(cb, "error"), "reason", "");
    return strcmp(reason, "memory") == 0 || strstr(hcb_map_text(cb, "pending", ""), "memory");
}

/* Without anybody's help: what is in the files holds, or is said not to. */
static void check_alone(struct play *p)
{
    struct stage *s = &p->s;
    struct hcb_value list = {0};
    s->act = "alone";
    if (!stage_list(s, &list))
        stage_fail(s, "there is no list");
    const struct hcb_value *neighbour = must_have(s, &list, "neighbour");
    int64_t mark = hcb_map_int(hcb_map_get(neighbour, "params"), "mark", -1);
    if (neighbour && mark != p->config_mark && !short_of_memory(neighbour) &&
        !check_refused(s, "neighbour"))
        stage_fail(s, "hotcb.yaml was not taken in: mark is %lld, error %s", (long long)mark,
                   hcb_map_text(hcb_map_get(neighbour, "error"), "message", "null"));
    const struct hcb_value *worker = p->kept ? must_have(s, &list, "worker")
                                             : stage_find(&list, "worker");
    if (worker && p->edited && !short_of_memory(worker) &&
        strcmp(hcb_map_text(worker, "name", ""), "Worker2") != 0)
        stage_fail(s, "the edited worker was not taken in: it is %s, pending %s",
                   hcb_map_text(worker, "name", "none"), hcb_map_text(worker, "pending", "null"));
    hcb_value_release(&list);
    check_mark(s, "worker", p->process, p->kept ? p->kept_mark : -1);
}

/* With what people do who read what was said: enable it, load it. */
static void help(struct stage *s)
{
    struct hcb_value list = {0};
    s->act = "help";
    if (stage_list(s, &list) && !stage_find(&list, "worker"))
        send_load(s, "worker", "worker.lua");
    hcb_value_release(&list);
    stage_step(s);
    stage_send(s, "enable", "neighbour", "");
    stage_send(s, "enable", "worker", "");
    stage_send(s, "reload", "worker", "");
    stage_steps(s, 2);
}

static int64_t calls_of(struct stage *s, const struct hcb_value *list, const char *id)
{
    const struct hcb_value *cb = must_have(s, list, id);
    if (cb && strcmp(hcb_map_text(cb, "state", ""), "on") != 0)
        stage_fail(s, "%s is %s: %s", id, hcb_map_text(cb, "state", "?"),
                   hcb_map_text(hcb_map_get(cb, "error"), "message", "no error"));
    return hcb_map_int(cb, "calls", -1);
}

/* Each step reaches both of them. */
static void check_calls(struct stage *s)
{
    static const char *const ids[] = {"neighbour", "worker"};
    struct hcb_value before = {0}, after = {0};
    bool listed = stage_list(s, &before);
    stage_steps(s, STEPS);
    listed = stage_list(s, &after) && listed;
    for (int i = 0; listed && i < 2; i++) {
        int64_t was = calls_of(s, &before, ids[i]), is = calls_of(s, &after, ids[i]);
        if (is != was + STEPS)
            stage_fail(s, "of %d steps %s heard %lld", STEPS, ids[i], (long long)(is - was));
    }
    hcb_value_release(&before);
    hcb_value_release(&after);
}

/* The neighbour is disturbed by nothing but what hits itself. */
static void check_neighbour(struct stage *s)
{
    struct hcb_value before = {0}, after = {0};
    if (stage_list(s, &before)) {
        const struct hcb_value *cb = stage_find(&before, "neighbour");
        stage_step(s);
        if (cb && strcmp(hcb_map_text(cb, "state", ""), "on") == 0 && stage_list(s, &after) &&
            hcb_map_int(stage_find(&after, "neighbour"), "calls", -1) <=
                hcb_map_int(cb, "calls", -1))
            stage_fail(s, "the neighbour hears nothing");
    }
    hcb_value_release(&before);
    hcb_value_release(&after);
}

static void recover(struct play *p)
{
    struct stage *s = &p->s;
    s->act = "recovery";
    stage_open(s, true);
    check_neighbour(s);
    stage_steps(s, STEPS);
    check_alone(p);
    help(s);
    check_calls(s);
    s->act = "last close";
}

void scenario_play(const struct fault_plan *plan, const char *root, bool verbose,
                   struct scenario_result *out)
{
    struct play p = {0};
    struct stage *s = &p.s;
    const struct life *life = &lives[plan->life];
    int descriptors = check_descriptors();
    long live = fault_live();
    stage_init(s, root);
    s->verbose = verbose;
    s->tearing = plan->lasting && plan->way == FAULT_OTHER;
    fault_describe(plan, s->plan, sizeof s->plan);
    copy_script(s, "worker.lua", false);
    copy_script(s, "helper.lua", false);
    copy_script(s, "neighbour.lua", false);
    play_acts(&p, life->before, 1);
    fault_arm(plan);
    play_acts(&p, life->acts, STEPS);
    out->points = fault_points();
    fault_clear();
    recover(&p);
    stage_close(s);
    check_answers(s);
    check_said(s);
    check_files(s);
    stage_release(s);
    s->act = "end";
    if (check_descriptors() != descriptors)
        stage_fail(s, "%d descriptors more are open", check_descriptors() - descriptors);
    out->kept = fault_live() - live;
    out->failures = s->failures;
}
