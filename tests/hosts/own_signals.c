/* A host that has signals of its own: timers that tick while callbacks run, threads that
 * allocate without pause, handlers for real-time signals. The library takes one that nobody
 * uses, or none; the host's own are as they were, and keep coming. */
#include "trial.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define ALLOCATORS 3

static atomic_int alarms, profs, heard[65];
static atomic_bool enough;

static void on_signal(int signo)
{
    if (signo == SIGALRM)
        atomic_fetch_add(&alarms, 1);
    else if (signo == SIGPROF)
        atomic_fetch_add(&profs, 1);
    else
        atomic_fetch_add(&heard[signo], 1);
}

static void handle_it(int signo)
{
    struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&sa.sa_mask);
    CHECK(sigaction(signo, &sa, NULL) == 0, "a handler for signal %d", signo);
}

static bool is_ours(int signo)
{
    struct sigaction now;
    return sigaction(signo, NULL, &now) == 0 && now.sa_handler == on_signal &&
           now.sa_flags & SA_RESTART;
}

/* ---- the host's timers and threads ----------------------------------------- */

static void tick(int which, long us)
{
    struct itimerval every = {{0, us}, {0, us}};
    CHECK(setitimer(which, &every, NULL) == 0, "setitimer %d", which);
}

static void *allocate(void *arg)
{
    unsigned n = 1;
    (void)arg;
    while (!atomic_load(&enough)) {
        char *p = malloc(n % 70000 + 1);
        if (p)
            memset(p, 1, n % 70000 + 1);
        free(p);
        n = n * 1103515245 + 12345;
    }
    return NULL;
}

static void with_allocators(void (*fn)(void))
{
    pthread_t thread[ALLOCATORS];
    int n = 0;
    while (n < ALLOCATORS && pthread_create(&thread[n], NULL, allocate, NULL) == 0)
        n++;
    fn();
    atomic_store(&enough, true);
    while (n > 0)
        pthread_join(thread[--n], NULL);
}

static void check_ticking(int64_t alarms_before, int64_t profs_before)
{
    CHECK(alarms > alarms_before, "SIGALRM does not come any more");
    CHECK(profs > profs_before, "SIGPROF does not come any more");
    CHECK(is_ours(SIGALRM) && is_ours(SIGPROF), "a handler of the host was changed");
}

static void prove_while_ticking(void)
{
    struct trial t;
    trial_init(&t, "ticking");
    bool open = trial_open(&t);
    for (int i = 0; open && i < 5; i++) {
        int alarms_before = alarms, profs_before = profs;
        trial_prove(&t, TRIAL_TIMER);
        check_ticking(alarms_before, profs_before);
    }
    trial_close(&t);
}

static void timers_and_threads(void *arg)
{
    (void)arg;
    handle_it(SIGALRM);
    handle_it(SIGPROF);
    tick(ITIMER_REAL, 1000);
    tick(ITIMER_PROF, 3000);
    with_allocators(prove_while_ticking);
}

/* ---- a handler that takes its time ------------------------------------------- */

static volatile sig_atomic_t begun, ended;

static int64_t cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void be_slow(int signo)
{
    int64_t end = cpu_us() + 3000;
    (void)signo;
    begun++;
    while (cpu_us() < end)
        ;
    ended++;
}

static bool is_blocked(int signo)
{
    sigset_t blocked;
    return pthread_sigmask(SIG_SETMASK, NULL, &blocked) != 0 || sigismember(&blocked, signo);
}

/* A lazy value that leaves a signal blocked, which is no handler that has to be waited for. */
static int block_it(void *signo, hotcb_env *env, const char *key)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, *(int *)signo);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    return hotcb_env_num(env, key, 1);
}

static void run_away_blocking(struct trial *t)
{
    int signo = SIGUSR1;
    char reason[40];
    trial_load(t, "blocking", "local s = ('a'):rep(1000000)\n"
               "function handle(_, env)\n"
               "  if env.block then for i = 1, math.huge do local t = s .. i end end\nend\n");
    hotcb_env_lazy(t->env, "block", block_it, &signo);
    trial_steps(t, 1);
    hotcb_env_lazy(t->env, "block", NULL, NULL);
    trial_field(t, "blocking", "error.reason", reason, sizeof reason);
    CHECK(strcmp(reason, "budget") == 0, "the callback was not stopped: '%s'", reason);
    CHECK(is_blocked(SIGUSR1), "what a lazy value blocked is not blocked");
}

/* It is gone through to its end each time, though callbacks are broken off meanwhile. It goes by
 * CPU time, or nothing else would run on a slow machine. */
static void slow_handler(void *arg)
{
    struct trial t;
    struct sigaction sa = {.sa_handler = be_slow, .sa_flags = SA_RESTART};
    (void)arg;
    sigaction(SIGPROF, &sa, NULL);
    trial_init(&t, "slow");
    if (trial_open(&t)) {
        tick(ITIMER_PROF, 4000);
        for (int i = 0; i < 20; i++) {
            trial_runaway(&t, i % 2 ? "loop" : "swallow");
            CHECK(begun == ended, "%d calls of a handler were broken off", (int)(begun - ended));
            CHECK(!is_blocked(SIGPROF), "SIGPROF is blocked after %d runaways", i + 1);
        }
        tick(ITIMER_PROF, 0);
        run_away_blocking(&t);
    }
    trial_close(&t);
}

/* ---- the host's real-time signals ------------------------------------------ */

static void check_real_time(int free_one)
{
    for (int signo = SIGRTMIN; signo <= SIGRTMAX; signo++) {
        if (signo == free_one)
            continue;
        int before = heard[signo];
        CHECK(is_ours(signo), "the handler of signal %d was changed", signo);
        CHECK(before == 0, "signal %d came %d times, sent by nobody", signo, before);
        raise(signo);
        CHECK(heard[signo] == 1, "signal %d does not come any more", signo);
        heard[signo] = 0;
    }
}

/* All but one are taken (0: all are). */
static void prove_beside_real_time(int free_one)
{
    struct trial t;
    for (int signo = SIGRTMIN; signo <= SIGRTMAX; signo++)
        if (signo != free_one)
            handle_it(signo);
    trial_init(&t, "real-time");
    if (trial_open(&t)) {
        check_real_time(free_one);
        trial_prove(&t, free_one ? TRIAL_TIMER : TRIAL_HOOK);
        check_real_time(free_one);
        trial_prove(&t, free_one ? TRIAL_TIMER : TRIAL_HOOK);
    }
    trial_close(&t);
    check_real_time(free_one);
}

static void all_taken(void *arg)
{
    (void)arg;
    prove_beside_real_time(0);
}

static void all_but_the_first(void *arg)
{
    (void)arg;
    prove_beside_real_time(SIGRTMIN);
}

/* The very last is left to tools that run programs under watch. */
static void all_but_the_last(void *arg)
{
    (void)arg;
    prove_beside_real_time(SIGRTMAX - 1);
}

static void all_but_one_between(void *arg)
{
    (void)arg;
    prove_beside_real_time(SIGRTMIN + 7);
}

/* Nobody's handler is there when the run opens; the host wants every signal later on, the
 * one that the library chose among them. */
static void taken_during_the_run(void *arg)
{
    struct trial t;
    (void)arg;
    trial_init(&t, "taken-later");
    if (trial_open(&t)) {
        trial_prove(&t, TRIAL_TIMER);
        for (int signo = SIGRTMIN; signo <= SIGRTMAX; signo++)
            handle_it(signo);
        trial_pause_ms(20); /* it is noticed within some ms */
        trial_prove(&t, TRIAL_HOOK);
    }
    trial_close(&t);
    for (int signo = SIGRTMIN; signo <= SIGRTMAX; signo++)
        CHECK(is_ours(signo), "the handler of signal %d was changed", signo);
}

/* A signal that is ignored is one that the host has a use for. */
static void ignored(void *arg)
{
    (void)arg;
    for (int signo = SIGRTMIN; signo <= SIGRTMAX; signo++)
        signal(signo, SIG_IGN);
    trial_whole("ignored", NULL);
}

int main(int argc, char **argv)
{
    (void)argc;
    trial_begin(argv[0]);
    trial_in_child("timers and threads", timers_and_threads, NULL);
    trial_in_child("a slow handler", slow_handler, NULL);
    trial_in_child("every real-time signal is taken", all_taken, NULL);
    trial_in_child("the first is free", all_but_the_first, NULL);
    trial_in_child("the last but one is free", all_but_the_last, NULL);
    trial_in_child("one between is free", all_but_one_between, NULL);
    trial_in_child("all are taken during the run", taken_during_the_run, NULL);
    trial_in_child("all are ignored", ignored, NULL);
    return trial_end();
}
