/* Hosts that fork: before open, during a run, while a runaway has just been stopped, from
 * inside a lazy value, and with threads. A child applies nothing, writes nothing and hangs
 * nowhere; what it opens itself is guarded like any run; the parent's run goes on. */
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES 6

/* Every file a run writes, as it is now. */
struct content {
    char *text[FILES];
};

static const char *const written[FILES] = {
    "hotcb.applied.jsonl", "hotcb.status.json", "hotcb.metrics.jsonl", "hotcb.media.jsonl",
    "hotcb.log", "hotcb.state.json",
};

static void take_content(const struct trial *t, struct content *c)
{
    for (int i = 0; i < FILES; i++)
        c->text[i] = trial_read(t, written[i]);
}

static void check_unchanged(const struct trial *t, struct content *c)
{
    for (int i = 0; i < FILES; i++) {
        char *now = trial_read(t, written[i]);
        bool same = now && c->text[i] ? strcmp(now, c->text[i]) == 0 : now == c->text[i];
        CHECK(same, "%s/%s was changed by a child", t->dir, written[i]);
        free(now);
        free(c->text[i]);
    }
}

/* ---- children -------------------------------------------------------------- */

/* What a child does that goes on as if nothing had happened: the loop, runaways and all. */
static void go_on(void *arg)
{
    struct trial *t = arg;
    int64_t heard = t->last.calls;
    for (int i = 0; i < 100; i++) {
        hotcb_env_step(t->env, t->step + i);
        hotcb_env_str(t->env, "bad", i % 2 ? "loop" : "");
        hotcb_apply(t->h, t->env, "train_step_end");
    }
    CHECK(t->last.calls == heard, "a child called callbacks");
    CHECK(hotcb_command(t->h, "{\"op\":\"disable\",\"id\":\"first\"}") < 0,
          "a child executed a command");
    trial_close(t);
}

static void go_on_and_open(void *arg)
{
    go_on(arg);
    trial_whole("child", TRIAL_TIMER);
}

static void open_without_closing(void *arg)
{
    (void)arg;
    trial_whole("child-beside", TRIAL_TIMER);
}

static void grandchild(void *arg)
{
    go_on(arg);
    trial_in_child("a child of the child", open_without_closing, NULL);
    trial_whole("child-of-three", TRIAL_TIMER);
}

static void exit_at_once(void *arg)
{
    (void)arg;
}

static void close_only(void *arg)
{
    struct trial *t = arg;
    hotcb_close(t->h);
}

/* ---- hosts ----------------------------------------------------------------- */

static void before_open(void *arg)
{
    char name[40];
    (void)arg;
    snprintf(name, sizeof name, "own-%ld", (long)getpid());
    trial_whole(name, TRIAL_TIMER);
}

static const struct {
    const char *name;
    void (*child)(void *arg);
} children[] = {
    {"goes on with the loop", go_on},
    {"goes on, then opens its own", go_on_and_open},
    {"opens its own beside", open_without_closing},
    {"forks again", grandchild},
    {"exits at once", exit_at_once},
    {"closes only", close_only},
};

#define CHILDREN (sizeof children / sizeof *children)

/* The thread's timer is armed right after a call that used CPU time. */
static void fork_each(struct trial *t, bool armed)
{
    for (size_t i = 0; i < CHILDREN; i++) {
        struct content content;
        trial_steps(t, 2);
        if (armed)
            trial_runaway(t, "loop");
        take_content(t, &content);
        trial_in_child(children[i].name, children[i].child, t);
        check_unchanged(t, &content);
        trial_runaway(t, i % 2 ? "loop" : "swallow");
    }
}

/* poll_ms: how often the run looks at its files, which a child must not need to notice. */
static void during_a_run(const char *name, int64_t poll_ms)
{
    struct trial t;
    trial_init(&t, name);
    t.opt.poll_interval_ms = poll_ms;
    if (trial_open(&t)) {
        fork_each(&t, false);
        fork_each(&t, true);
        trial_prove(&t, TRIAL_TIMER);
    }
    trial_close(&t);
}

/* ---- fork inside a lazy value ---------------------------------------------- */

static int fork_for_value(void *user, hotcb_env *env, const char *key)
{
    trial_in_child("forked by a lazy value", exit_at_once, user);
    return hotcb_env_int(env, key, 7);
}

/* The child returns from the lazy value into the script's call, and on from there. */
static int fork_and_return(void *user, hotcb_env *env, const char *key)
{
    pid_t *child = user;
    *child = fork();
    return hotcb_env_int(env, key, *child == 0 ? 0 : 7);
}

static const char reader_lua[] =
    "function handle(event, env)\n"
    "  local v = env.lazy\n"
    "  if v then hotcb.scalar('lazy', v) end\n"
    "  if v == 0 then while true do end end\n"
    "end\n";

/* All that it says, after `seen` of the child is 0, is the child's. */
static const char saver_lua[] =
    "local T, seen = {}, nil\n"
    "local function tell(where) if seen == 0 then print(where, 'in the child') end end\n"
    "function T:on_attach(env) seen = env.lazy tell 'on_attach' end\n"
    "function T:handle(event, env) seen = env.lazy tell(event) end\n"
    "function T:save() tell 'save' end\n"
    "return T\n";

static const char later_lua[] =
    "return { on_attach = function(self, env) print('attached', env.forked) end,\n"
    "         handle = function() end }\n";

static void end_of_child(struct trial *t)
{
    trial_close(t);
    trial_whole("child-of-lazy", TRIAL_TIMER);
    _exit(trial_failures() ? 1 : 0);
}

/* In the child, whose value was 0, the script ran away. */
static void check_no_trace(const struct trial *t)
{
    char *log = trial_read(t, "hotcb.log"), *metrics = trial_read(t, "hotcb.metrics.jsonl");
    CHECK(log && !strstr(log, "time_ms") && !strstr(log, "child"), "the child wrote to hotcb.log");
    CHECK(metrics && !strstr(metrics, "\"value\":0"), "the child wrote to hotcb.metrics.jsonl");
    free(log);
    free(metrics);
}

static void part_with(struct trial *t, pid_t child)
{
    if (child == 0)
        end_of_child(t);
    trial_wait("the child that a lazy value made", child);
    check_no_trace(t);
}

/* A tensor of no known type is said to be refused by whoever is given env. */
static int fork_and_refuse(void *user, hotcb_env *env, const char *key)
{
    float data = 0;
    hotcb_tensor strange = {.data = &data, .device_type = 1, .type_code = 99, .type_bits = 32,
                            .type_lanes = 1};
    int rc = fork_and_return(user, env, key);
    if (*(pid_t *)user == 0) {
        hotcb_env_str(env, "forked", "in the child");
        hotcb_env_tensor(env, "of the child", &strange);
    }
    return rc;
}

/* In on_attach, which comes before that of others; and where save() is called next. */
static void inside_other_calls(void *arg)
{
    static const char *const events[] = {"train_step_end", "checkpoint"};
    (void)arg;
    for (int i = 0; i < 2; i++) {
        struct trial t;
        pid_t child = -1;
        trial_init(&t, events[i]);
        if (trial_open(&t)) {
            trial_load(&t, "saver", saver_lua);
            if (i > 0)
                trial_steps(&t, 1);
            trial_load(&t, "later", later_lua);
            hotcb_env_lazy(t.env, "lazy", fork_and_refuse, &child);
            hotcb_env_step(t.env, t.step++);
            hotcb_apply(t.h, t.env, events[i]);
            hotcb_env_lazy(t.env, "lazy", NULL, NULL);
            part_with(&t, child);
        }
        trial_close(&t);
    }
}

static void inside_a_lazy_value(void *arg)
{
    struct trial t;
    pid_t child = -1;
    (void)arg;
    trial_init(&t, "lazy");
    if (trial_open(&t)) {
        trial_load(&t, "reader", reader_lua);
        hotcb_env_lazy(t.env, "lazy", fork_for_value, &t);
        trial_steps(&t, 5);
        hotcb_env_lazy(t.env, "lazy", fork_and_return, &child);
        trial_steps(&t, 1);
        hotcb_env_lazy(t.env, "lazy", NULL, NULL);
        part_with(&t, child);
        trial_prove(&t, TRIAL_TIMER);
    }
    trial_close(&t);
}

/* ---- fork in one thread, a runaway in another ------------------------------ */

static void run_away_often(void *arg)
{
    (void)arg;
    trial_whole("other-thread", TRIAL_TIMER);
}

static void fork_often(void *arg)
{
    for (int i = 0; i < 30; i++)
        trial_in_child("forked beside a thread", i % 3 ? exit_at_once : go_on, arg);
}

static void beside_threads(void *arg)
{
    struct trial t;
    (void)arg;
    trial_init(&t, "forking-thread");
    if (trial_open(&t)) {
        trial_runaway(&t, "loop");
        trial_beside(run_away_often, NULL, fork_often, &t);
        trial_prove(&t, TRIAL_TIMER);
    }
    trial_close(&t);
}

int main(int argc, char **argv)
{
    (void)argc;
    trial_begin(argv[0]);
    trial_in_child("forked before open", before_open, NULL);
    before_open(NULL);
    during_a_run("each-apply", -1);
    during_a_run("seldom", 3600000);
    inside_a_lazy_value(NULL);
    inside_other_calls(NULL);
    beside_threads(NULL);
    return trial_end();
}
