/* A host that waits between its steps, in each way there is to wait: no call of its own ever
 * ends with EINTR because of hotcb, though the timer is armed by a callback that used CPU
 * time just before. */
#include "trial.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 60

/* Some ms of CPU time, and its budget is never used up. */
static const char busy_lua[] =
    "function handle(event, env)\n"
    "  local x = 0\n"
    "  for i = 1, 300000 do x = x + i % 7 end\n"
    "  hotcb.scalar('x', x)\n"
    "end\n";

static int fds[2];
static sem_t nobody_posts;
static atomic_bool enough;

static int in_nanosleep(void)
{
    struct timespec t = {0, 6000000};
    return nanosleep(&t, NULL);
}

static int in_clock_nanosleep(void)
{
    struct timespec t = {0, 6000000};
    errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
    return errno ? -1 : 0;
}

static int in_poll(void)
{
    return poll(NULL, 0, 6);
}

static int in_select(void)
{
    struct timeval t = {0, 6000};
    return select(0, NULL, NULL, NULL, &t);
}

/* A thread writes a byte now and then. */
static int in_read(void)
{
    char byte;
    return (int)read(fds[0], &byte, 1);
}

static int in_semaphore(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 6000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    return sem_timedwait(&nobody_posts, &until);
}

static int in_sigtimedwait(void)
{
    struct timespec t = {0, 6000000};
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    return sigtimedwait(&usr1, NULL, &t);
}

static const struct {
    const char *name;
    int (*wait)(void);
} waits[] = {
    {"nanosleep", in_nanosleep}, {"clock_nanosleep", in_clock_nanosleep}, {"poll", in_poll},
    {"select", in_select},       {"read", in_read},                       {"sem", in_semaphore},
    {"sigtimedwait", in_sigtimedwait},
};

#define WAITS (sizeof waits / sizeof *waits)

/* Every third round somebody has just been stopped, too. */
static void wait_often(struct trial *t, size_t way)
{
    int interrupted = 0;
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 20 == 7)
            trial_runaway(t, "loop");
        else
            trial_steps(t, 1);
        errno = 0;
        interrupted += waits[way].wait() < 0 && errno == EINTR;
    }
    CHECK(interrupted == 0, "%s was interrupted %d times of %d", waits[way].name, interrupted,
          ROUNDS);
}

static void wait_in_each(void *arg)
{
    struct trial *t = arg;
    for (size_t way = 0; way < WAITS; way++)
        wait_often(t, way);
    atomic_store(&enough, true);
}

static void write_now_and_then(void *arg)
{
    (void)arg;
    while (!atomic_load(&enough)) {
        in_nanosleep();
        if (write(fds[1], "x", 1) != 1)
            return;
    }
}

int main(int argc, char **argv)
{
    struct trial t;
    (void)argc;
    trial_begin(argv[0]);
    trial_init(&t, "waiting");
    if (pipe(fds) == 0 && sem_init(&nobody_posts, 0, 0) == 0 && trial_open(&t)) {
        CHECK(trial_load(&t, "busy", busy_lua) == 0, "%s", hotcb_errmsg(t.h));
        trial_beside(write_now_and_then, NULL, wait_in_each, &t);
        trial_check_neighbours(&t);
    }
    trial_close(&t);
    return trial_end();
}
