/* The watch over a thread's runs: who is late is asked to stop, then left; who is not is
 * not disturbed; what the host does to signals, threads and processes is survived. */
#include "script/guard.h"
#include "base/clock.h"
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif
#include <cmocka.h>

#define MS 1000000

struct asked {
    volatile int times;
};

static void ask(void *user)
{
    ((struct asked *)user)->times++;
}

static void prepare(struct hcb_run *run, struct asked *asked, int64_t budget_ns)
{
    asked->times = 0;
    run->stop = ask;
    run->user = asked;
    run->budget_ns = budget_ns;
    run->tick_ns = hcb_guard_tick(budget_ns);
}

static bool enter(struct hcb_run *run)
{
    return hcb_guard_open(run) == HCB_GUARD_WATCHES && hcb_guard_enter(run);
}

/* Runs for ever, unless it heeds the request. Returns how it ended: 0 by itself, 1 by
 * the jump; -1: it was not watched. */
static int run_away(struct asked *asked, bool heed)
{
    struct hcb_run run;
    prepare(&run, asked, 20 * MS);
    if (sigsetjmp(run.out, 0) != 0) {
        hcb_guard_landed(&run);
        return 1;
    }
    if (!enter(&run))
        return -1;
    while (!heed || asked->times == 0) {
    }
    hcb_guard_leave(&run);
    return 0;
}

#ifdef HOTCB_PORTABLE
static void test_says_so(void **state)
{
    struct asked asked;
    (void)state;
    assert_int_equal(run_away(&asked, true), -1);
    assert_string_equal(hcb_guard_name(), "count hook");
}

#else /* there is a timer */

static void burn(int64_t ns)
{
    int64_t end = hcb_clock_cpu_ns() + ns;
    while (hcb_clock_cpu_ns() < end) {
    }
}

static void test_late_runs(void **state)
{
    (void)state;
    assert_string_equal(hcb_guard_name(), "timer");
    for (int i = 0; i < 5; i++) {
        struct asked asked;
        assert_int_equal(run_away(&asked, true), 0);
        assert_int_equal(asked.times, 1);
        assert_int_equal(run_away(&asked, false), 1);
        assert_int_equal(asked.times, 2);
    }
}

/* The signal that the jump came out of is not left blocked, nor any other. */
static void test_mask_is_as_before(void **state)
{
    sigset_t before, after, one;
    struct asked asked;
    (void)state;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(run_away(&asked, false), 1);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int s = 1; s <= SIGRTMAX; s++)
        assert_int_equal(sigismember(&before, s), sigismember(&after, s));
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}

#ifdef __x86_64__
/* Nor are the modes of floating point those of a signal handler. */
static void test_modes_are_as_before(void **state)
{
    const unsigned flush = 0x8040; /* denormals to zero, in and out */
    unsigned before = _mm_getcsr();
    struct asked asked;
    (void)state;
    _mm_setcsr(before | flush);
    assert_int_equal(run_away(&asked, false), 1);
    assert_int_equal(_mm_getcsr() & 0xffc0, (before | flush) & 0xffc0);
    _mm_setcsr(before);
}
#endif

static volatile int64_t reading_ns; /* so much CPU time each reading of that clock costs */

static int64_t read_cpu(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static bool in_handler(void)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    return sigismember(&blocked, SIGUSR1) == 1;
}

/* The library's own reading. A tick that is due comes while it spins. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_THREAD_CPUTIME_ID && reading_ns > 0 && !in_handler())
        for (int64_t end = read_cpu() + reading_ns; read_cpu() < end;)
            continue;
    return status;
}

/* The timer goes on from a run that was left; a tick of it that comes while the next one is
 * entered does not charge that one for what went before. */
static void test_a_tick_at_the_entry(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct hcb_run run;
        struct asked asked;
        assert_int_equal(run_away(&asked, false), 1);
        prepare(&run, &asked, 20 * MS);
        assert_int_equal(sigsetjmp(run.out, 0), 0);
        reading_ns = 10 * MS;
        bool watched = enter(&run);
        reading_ns = 0;
        hcb_guard_leave(&run);
        assert_true(watched);
        assert_int_equal(asked.times, 0);
    }
}

/* Many short runs take far more than one budget together. */
static void test_short_runs_are_left_alone(void **state)
{
    struct asked asked;
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct hcb_run run;
        prepare(&run, &asked, 20 * MS);
        assert_int_equal(sigsetjmp(run.out, 0), 0);
        assert_true(enter(&run));
        burn(1 * MS);
        hcb_guard_leave(&run);
        assert_int_equal(asked.times, 0);
    }
}

/* An outer run is not charged for the inner one, and is watched again after it. */
static void test_nested_runs(void **state)
{
    struct asked outer_asked, inner_asked;
    struct hcb_run outer;
    (void)state;
    prepare(&outer, &outer_asked, 20 * MS);
    if (sigsetjmp(outer.out, 0) == 0) {
        assert_true(enter(&outer));
        outer.held++;
        for (int i = 0; i < 5; i++)
            assert_int_equal(run_away(&inner_asked, i % 2), 1 - i % 2);
        outer.held--;
        assert_int_equal(outer_asked.times, 0);
        assert_true(hcb_guard_watches(&outer));
        for (;;) {
        }
    }
    hcb_guard_landed(&outer);
    assert_int_equal(outer_asked.times, 2);
}

/* Held, it is asked, and not left. */
static void test_held_runs_are_not_left(void **state)
{
    struct asked asked;
    struct hcb_run run;
    (void)state;
    prepare(&run, &asked, 10 * MS);
    if (sigsetjmp(run.out, 0) == 0) {
        assert_true(enter(&run));
        run.held++;
        burn(100 * MS);
        run.held--;
        assert_int_equal(asked.times, 2);
        for (;;) {
        }
    }
    hcb_guard_landed(&run);
}

/* Timers are not inherited: the child's runs have one of their own. */
static void test_fork(void **state)
{
    struct asked asked;
    struct hcb_run run;
    int status;
    (void)state;
    for (int inside = 0; inside < 2; inside++) {
        prepare(&run, &asked, 20 * MS);
        assert_int_equal(sigsetjmp(run.out, 0), 0);
        assert_true(enter(&run)); /* armed */
        if (!inside)
            hcb_guard_leave(&run);
        pid_t child = fork();
        if (child == 0)
            _exit(hcb_guard_watches(&run) || run_away(&asked, false) != 1);
        hcb_guard_leave(&run);
        waitpid(child, &status, 0);
        assert_int_equal(status, 0);
    }
}

static void *with_signals_blocked(void *user)
{
    struct asked asked;
    sigset_t all, before;
    sigfillset(&all);
    if (user) { /* blocked only later */
        if (run_away(&asked, true) != 0)
            return "not watched";
        pthread_sigmask(SIG_BLOCK, &all, &before);
        hcb_guard_refresh();
    } else {
        pthread_sigmask(SIG_BLOCK, &all, &before);
    }
    if (run_away(&asked, true) != -1)
        return "watched though blocked";
    if (strcmp(hcb_guard_name(), "count hook") != 0)
        return "name";
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return run_away(&asked, true) == -1 ? NULL : "watched again";
}

static void test_blocked_signals(void **state)
{
    (void)state;
    for (int later = 0; later < 2; later++) {
        pthread_t thread;
        void *fault;
        pthread_create(&thread, NULL, with_signals_blocked, later ? "" : NULL);
        pthread_join(thread, &fault);
        if (fault)
            fail_msg("%s", (char *)fault);
    }
    assert_string_equal(hcb_guard_name(), "timer"); /* of this thread */
}

static void *run_away_in_thread(void *user)
{
    struct asked asked;
    *(int *)user = run_away(&asked, false) == 1 && hcb_guard_stack_left() < 100 << 20;
    return NULL;
}

/* Each thread has its own, and one that ends leaves none behind, though it may be set. */
static void test_threads(void **state)
{
    int good[4] = {0};
    pthread_t threads[4];
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, run_away_in_thread, &good[i]);
        for (int i = 0; i < 4; i++) {
            pthread_join(threads[i], NULL);
            assert_true(good[i]);
        }
    }
}

/* Right after a run that was watched to its end, the thread sleeps undisturbed. */
static void test_sleep_is_not_interrupted(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct timespec nap = {0, 10 * MS};
        struct asked asked;
        run_away(&asked, i % 2);
        assert_int_equal(nanosleep(&nap, NULL), 0);
    }
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef HOTCB_PORTABLE /* there is no timer */
        cmocka_unit_test(test_says_so),
#else
        cmocka_unit_test(test_late_runs),
        cmocka_unit_test(test_mask_is_as_before),
#ifdef __x86_64__
        cmocka_unit_test(test_modes_are_as_before),
#endif
        cmocka_unit_test(test_a_tick_at_the_entry),
        cmocka_unit_test(test_short_runs_are_left_alone),
        cmocka_unit_test(test_nested_runs),
        cmocka_unit_test(test_held_runs_are_not_left),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_blocked_signals),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_sleep_is_not_interrupted),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
