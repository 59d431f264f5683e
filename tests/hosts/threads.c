/* Hosts with several threads: a run each, runaways at the same time, handles that move from
 * thread to thread, threads that end with their timer armed or are cancelled amid a call, and
 * five hundred threads one after the other, after which nothing is left over. */
#include "trial.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS 4
#define CHURN 500
#define WARM 100

static void named(char *out, size_t size, const char *what, int i)
{
    snprintf(out, size, "%s-%d", what, i);
}

/* ---- side by side ---------------------------------------------------------- */

static void *run_whole(void *arg)
{
    trial_whole(arg, TRIAL_TIMER);
    return NULL;
}

static void side_by_side(void)
{
    pthread_t thread[THREADS];
    char name[THREADS][30];
    int n = 0;
    for (; n < THREADS; n++) {
        named(name[n], sizeof name[n], "side", n);
        if (pthread_create(&thread[n], NULL, run_whole, name[n]) != 0)
            break;
    }
    CHECK(n == THREADS, "only %d threads", n);
    while (n > 0)
        pthread_join(thread[--n], NULL);
}

/* Two runs of one thread, step by step. */
static void two_on_one_thread(void)
{
    struct trial a, b;
    trial_init(&a, "both-a");
    trial_init(&b, "both-b");
    if (trial_open(&a) && trial_open(&b)) {
        for (int i = 0; i < 4; i++) {
            trial_runaway(&a, "loop");
            trial_steps(&b, 1);
            trial_runaway(&b, "swallow");
            trial_steps(&a, 1);
        }
        trial_prove(&a, TRIAL_TIMER);
        trial_prove(&b, TRIAL_TIMER);
    }
    trial_close(&a);
    trial_prove(&b, TRIAL_TIMER);
    trial_close(&b);
}

static void run_beside(void *arg)
{
    trial_whole(arg, TRIAL_TIMER);
}

static void second_on_another(void)
{
    char name[] = "second";
    struct trial t;
    trial_init(&t, "main");
    if (trial_open(&t)) {
        trial_prove(&t, TRIAL_TIMER);
        trial_in_thread(run_beside, name, 0);
        trial_prove(&t, TRIAL_TIMER);
    }
    trial_close(&t);
}

/* ---- a handle that moves --------------------------------------------------- */

static void open_it(void *arg)
{
    trial_open(arg);
}

static void prove_it(void *arg)
{
    trial_prove(arg, TRIAL_TIMER);
}

static void close_it(void *arg)
{
    trial_close(arg);
}

/* Opened, used and closed on threads of which each has ended before the next one begins. */
static void moves(void)
{
    struct trial t;
    trial_init(&t, "moves");
    trial_in_thread(open_it, &t, 0);
    trial_in_thread(prove_it, &t, 0);
    trial_in_thread(prove_it, &t, 0);
    prove_it(&t);
    trial_in_thread(close_it, &t, 0);
}

/* The maker of the run stays, and so does its timer. */
static void comes_back(void)
{
    struct trial t;
    trial_init(&t, "comes-back");
    if (trial_open(&t)) {
        for (int i = 0; i < 3; i++) {
            trial_runaway(&t, "loop");
            trial_in_thread(prove_it, &t, 0);
        }
        trial_prove(&t, TRIAL_TIMER);
    }
    trial_close(&t);
}

/* ---- threads that come and go ---------------------------------------------- */

static void stop_one_and_exit(void *arg)
{
    struct trial *t = arg;
    trial_runaway(t, "loop");
    trial_steps(t, 2);
    pthread_exit(NULL);
}

static void ends_with_its_timer_armed(void)
{
    struct trial t;
    trial_init(&t, "exits");
    if (trial_open(&t)) {
        for (int i = 0; i < 20; i++)
            trial_in_thread(stop_one_and_exit, &t, 0);
        trial_check_neighbours(&t);
    }
    trial_close(&t);
}

/* A little work for the timer, and in every fiftieth thread a runaway. */
static void come_and_go(void *arg)
{
    const int *i = arg;
    struct trial t;
    trial_init(&t, "churn");
    t.opt.time_ms = 5;
    if (trial_open(&t)) {
        trial_steps(&t, 3);
        if (*i % 50 == 0)
            trial_runaway(&t, "loop");
        trial_steps(&t, 1);
    }
    trial_close(&t);
}

/* What the process has of the kinds that are easily left behind. */
struct left {
    int fds, maps, timers;
    long queued; /* signals queued for this user; each POSIX timer takes one */
};

static long queued_signals(void)
{
    char line[200];
    long n = -1;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "SigQ:", 5) == 0)
            n = strtol(line + 5, NULL, 10);
    if (f)
        fclose(f);
    return n;
}

static struct left count_left(void)
{
    struct left left = {
        .fds = trial_count_entries("/proc/self/fd"),
        .maps = trial_count_lines("/proc/self/maps"),
        .timers = trial_count_lines("/proc/self/timers"),
        .queued = queued_signals(),
    };
    return left;
}

/* The C library keeps some stacks and heaps of ended threads for the next ones, and other
 * processes of this user may queue signals; what leaks, leaks in each of the threads. */
static void check_left(const struct left *before, const struct left *after)
{
    CHECK(after->fds <= before->fds, "%d file descriptors became %d", before->fds, after->fds);
    CHECK(after->maps <= before->maps + 20, "%d mappings became %d", before->maps, after->maps);
    CHECK(after->timers <= before->timers, "%d lines of timers became %d", before->timers,
          after->timers);
    CHECK(after->queued <= before->queued + (CHURN - WARM) / 2,
          "%ld queued signals became %ld", before->queued, after->queued);
}

static void churn(void)
{
    struct left before = {0}, after;
    for (int i = 0; i < CHURN; i++) {
        trial_in_thread(come_and_go, &i, 0);
        if (i == WARM)
            before = count_left();
    }
    after = count_left();
    check_left(&before, &after);
}

/* The same on one thread, which stays. */
static void churn_of_handles(void)
{
    struct left before = {0}, after;
    for (int i = 0; i < CHURN; i++) {
        come_and_go(&i);
        if (i == WARM)
            before = count_left();
    }
    after = count_left();
    check_left(&before, &after);
}

/* ---- cancelled ------------------------------------------------------------- */

/* What each makes the run do that a thread may be cancelled at. */
static const char *const cancelled_in[] = {
    "function handle() local t = hotcb.system() end",
    "function handle() hotcb.artifact('a', 'b'); hotcb.scalar('x', 1) end",
    "function handle(_, env) env.log('hello') end",
    "function handle() error('no') end",
    "function handle() require('hotcb.testing_none') end",
    "function handle(_, env) local x = env.lazy end",
};

struct cancelled {
    struct trial t;
    hotcb_options opt;
    int applies;
};

static int writes(void *user, hotcb_env *env, const char *key)
{
    FILE *f = fopen("/dev/null", "w");
    if (f && fclose(f) != 0)
        return -1;
    return hotcb_env_int(env, key, *(int *)user);
}

/* As long as a timer that was left armed would need. */
static void take_time(void *arg)
{
    int64_t end = trial_thread_cpu_ms() + 3 * TRIAL_TIME_MS;
    (void)arg;
    while (trial_thread_cpu_ms() < end)
        ;
}

static void *apply_cancelled(void *arg)
{
    struct cancelled *c = arg;
    pthread_cleanup_push(take_time, NULL);
    pthread_cancel(pthread_self());
    for (c->applies = 0; c->applies < 5; c->applies++) {
        hotcb_env_step(c->t.env, c->t.step++);
        hotcb_apply(c->t.h, c->t.env, c->applies == 2 ? "checkpoint" : "train_step_end");
    }
    pthread_testcancel();
    pthread_cleanup_pop(0);
    return NULL;
}

static void *open_cancelled(void *arg)
{
    struct cancelled *c = arg;
    hotcb *h;
    char err[100];
    pthread_cancel(pthread_self());
    hotcb_open(&h, &c->opt);
    hotcb_command(h, "{\"op\":\"load\",\"id\":\"x\","
                     "\"target\":{\"kind\":\"module\",\"path\":\"hotcb.callbacks.heartbeat\"}}");
    hotcb_send(c->opt.dir, "{\"op\":\"enable\",\"id\":\"x\"}", err, sizeof err);
    hotcb_check("/dev/null", NULL, NULL);
    hotcb_close(h);
    c->applies++;
    pthread_testcancel();
    return NULL;
}

static void join_cancelled(struct cancelled *c, void *(*fn)(void *), int applies)
{
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, fn, c) == 0)
        pthread_join(thread, &result);
    CHECK(c->applies == applies, "it ended after %d calls", c->applies);
    CHECK(result == PTHREAD_CANCELED, "it was not cancelled");
}

/* A thread that is cancelled leaves a run that goes on, and closes, on another one. */
static void cancelled(void *arg)
{
    struct cancelled c;
    int i = *(int *)arg;
    char name[30];
    named(name, sizeof name, "cancelled", i);
    trial_init(&c.t, name);
    c.t.opt.errors = -1;
    c.t.opt.poll_interval_ms = -1;
    if (trial_open(&c.t)) {
        hotcb_env_lazy(c.t.env, "lazy", writes, &i);
        trial_load(&c.t, "cancelled", cancelled_in[i]);
        join_cancelled(&c, apply_cancelled, 5);
        hotcb_command(c.t.h, "{\"op\":\"unload\",\"id\":\"cancelled\"}");
    }
    hotcb_close(c.t.h);
    CHECK(hotcb_open(&c.t.h, &c.t.opt) == 0, "%s", hotcb_errmsg(c.t.h));
    trial_close(&c.t);
    c.opt = c.t.opt;
    c.opt.log = NULL; /* it goes to stderr */
    c.opt.log_level = HOTCB_ERROR;
    c.applies = 0;
    join_cancelled(&c, open_cancelled, 1);
    trial_whole("cancelled-after", TRIAL_TIMER);
}

int main(int argc, char **argv)
{
    (void)argc;
    trial_begin(argv[0]);
    second_on_another();
    side_by_side();
    two_on_one_thread();
    moves();
    comes_back();
    ends_with_its_timer_armed();
    churn();
    churn_of_handles();
    /* ASan takes the stack of a thread that was cancelled for what it was before. */
    for (int i = 0; !TRIAL_ASAN && i < (int)(sizeof cancelled_in / sizeof *cancelled_in); i++)
        trial_in_child(cancelled_in[i], cancelled, &i);
    return trial_end();
}
