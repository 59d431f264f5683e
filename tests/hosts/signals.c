/* Hosts that block all signals, at different moments: a runaway is stopped all the same, by
 * the timer where its signal can come and by the count hook where it cannot. */
#include "trial.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static sigset_t before;

/* Whether the signal gets through is looked at every few ms, not at each call, so the
 * masks here do not change faster than that. */
static void set_mask(int how, const sigset_t *mask, sigset_t *old)
{
    pthread_sigmask(how, mask, old);
    trial_pause_ms(20);
}

static void block_at_once(void)
{
    sigset_t every;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
}

static void block_all(void)
{
    block_at_once();
    trial_pause_ms(20);
}

static void unblock(void)
{
    set_mask(SIG_SETMASK, &before, NULL);
}

/* That the mask is as the host set it, for every signal. */
static void check_mask(const char *when, bool blocked)
{
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    for (int signo = 1; signo <= SIGRTMAX; signo++) {
        bool settable = signo != SIGKILL && signo != SIGSTOP &&
                        (signo < 32 || signo >= SIGRTMIN);
        CHECK(!settable || sigismember(&now, signo) == (blocked ? 1 : 0),
              "%s: signal %d has another mask", when, signo);
    }
}

static void before_open(void *arg)
{
    (void)arg;
    block_all();
    trial_whole("before-open", TRIAL_HOOK);
    check_mask("blocked before open", true);
}

static void never(void *arg)
{
    (void)arg;
    trial_whole("never", TRIAL_TIMER);
    check_mask("never blocked", false);
}

static void around_apply(void *arg)
{
    struct trial t;
    (void)arg;
    trial_init(&t, "around-apply");
    bool open = trial_open(&t);
    for (int i = 0; open && i < 3; i++) {
        block_all();
        trial_prove(&t, TRIAL_HOOK);
        check_mask("blocked around apply", true);
        unblock();
        check_mask("unblocked after apply", false);
    }
    trial_close(&t);
}

static void from_some_step_on(void *arg)
{
    struct trial t;
    (void)arg;
    trial_init(&t, "from-step");
    if (trial_open(&t)) {
        trial_prove(&t, TRIAL_TIMER);
        block_all();
        trial_prove(&t, TRIAL_HOOK);
        unblock();
        trial_prove(&t, NULL); /* the timer may be taken up again, or not */
    }
    trial_close(&t);
}

/* One signal after the other, so that whichever the library took is among them. */
static void one_by_one(void *arg)
{
    struct trial t;
    (void)arg;
    trial_init(&t, "one-by-one");
    bool open = trial_open(&t);
    for (int signo = SIGRTMIN; open && signo <= SIGRTMAX; signo++) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, signo);
        set_mask(SIG_BLOCK, &one, NULL);
        trial_runaway(&t, "loop");
        trial_steps(&t, 1);
        pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    }
    trial_check_neighbours(&t);
    trial_close(&t);
}

static void blocked_worker(void *arg)
{
    (void)arg;
    block_all();
    trial_whole("worker", TRIAL_HOOK);
}

/* A worker that blocks everything has a run of its own; so has the one that does not. */
static void only_in_a_worker(void *arg)
{
    struct trial t;
    (void)arg;
    trial_init(&t, "worker-main");
    if (trial_open(&t)) {
        trial_prove(&t, TRIAL_TIMER);
        trial_in_thread(blocked_worker, NULL, 0);
        trial_prove(&t, TRIAL_TIMER);
    }
    trial_close(&t);
}

static void prove_blocked(void *arg)
{
    block_all();
    trial_prove(arg, TRIAL_HOOK);
}

/* A handle moves to a thread whose mask is another. */
static void handle_moves(void *arg)
{
    struct trial t;
    (void)arg;
    trial_init(&t, "moves");
    if (trial_open(&t)) {
        trial_prove(&t, TRIAL_TIMER);
        trial_in_thread(prove_blocked, &t, 0);
        trial_prove(&t, TRIAL_TIMER);
    }
    trial_close(&t);
}

static const char strays_lua[] =
    "if HOW == 'chunk' then while true do end end\n"
    "local function stray(how) if HOW == how then while true do end end end\n"
    "return { params = { { 'n', 1 } },\n"
    "         set_params = function(self) if self.n > 1 then stray 'set' end end,\n"
    "         on_attach = function() stray 'attach' end, save = function() stray 'save' end,\n"
    "         close = function() stray 'close' end, handle = function() end }\n";

/* What else a script may have done, with the timer set by the calls of an event before. */
static void between_events(void *how)
{
    struct trial t;
    char text[700];
    trial_init(&t, how);
    snprintf(text, sizeof text, "local HOW = '%s'\n%s", (const char *)how, strays_lua);
    if (trial_open(&t)) {
        bool attach = strcmp(how, "attach") == 0, chunk = strcmp(how, "chunk") == 0;
        if (!attach && !chunk)
            trial_load(&t, "strays", text);
        trial_runaway(&t, "loop");
        block_all();
        if (attach || chunk)
            CHECK((trial_load(&t, "strays", text) < 0) == chunk, "%s", hotcb_errmsg(t.h));
        if (strcmp(how, "set") == 0)
            CHECK(hotcb_command(t.h, "{\"op\":\"set_params\",\"id\":\"strays\",\"params\":"
                                     "{\"n\":2}}") == HOTCB_EREFUSED, "%s", hotcb_errmsg(t.h));
        if (strcmp(how, "save") == 0)
            hotcb_apply(t.h, t.env, "checkpoint");
        if (attach)
            trial_steps(&t, 1);
    }
    trial_close(&t);
    check_mask("blocked between events", true);
}

static int block_in_value(void *user, hotcb_env *env, const char *key)
{
    block_at_once();
    return hotcb_env_str(env, key, user);
}

static void block_in_log(void *user, enum hotcb_level level, const char *callback,
                         const char *line)
{
    (void)user;
    (void)level;
    (void)line;
    if (callback)
        block_at_once();
}

static void check_stopped(const struct trial *t, const char *way)
{
    char failures[30], reason[30];
    trial_field(t, "runaway", "failures", failures, sizeof failures);
    trial_field(t, "runaway", "error.reason", reason, sizeof reason);
    CHECK(strcmp(failures, "1") == 0 && strcmp(reason, "budget") == 0,
          "%s after the host blocked: %s failures, %s", way, failures, reason);
    check_mask("blocked by the host while it was called", true);
}

/* The call goes on in which the host blocks them, and runs away. */
static void in_a_lazy_value(void *way)
{
    struct trial t;
    trial_init(&t, "lazy");
    if (trial_open(&t)) {
        trial_steps(&t, 2);
        hotcb_env_lazy(t.env, "bad", block_in_value, way);
        trial_steps(&t, 1);
        check_stopped(&t, way);
        trial_check_neighbours(&t);
    }
    trial_close(&t);
}

/* The callback that is called next, for the same event, runs away. */
static void in_a_log_hook(void *way)
{
    struct trial t;
    trial_init(&t, "log-hook");
    t.opt.log = block_in_log;
    if (trial_open(&t)) {
        hotcb_env_str(t.env, "bad", way);
        trial_steps(&t, 1);
        check_stopped(&t, way);
    }
    trial_close(&t);
}

int main(int argc, char **argv)
{
    (void)argc;
    trial_begin(argv[0]);
    trial_in_child("never blocked", never, NULL);
    trial_in_child("blocked before open", before_open, NULL);
    trial_in_child("blocked around each apply", around_apply, NULL);
    trial_in_child("blocked from some step on", from_some_step_on, NULL);
    trial_in_child("blocked one by one", one_by_one, NULL);
    for (int i = 0; i < 5; i++) {
        static char hows[5][10] = {"chunk", "set", "attach", "save", "close"};
        trial_in_child("blocked between events", between_events, hows[i]);
    }
    for (int i = 0; i < 3; i++) {
        static char ways[3][10] = {"loop", "swallow", "sort"};
        trial_in_child("blocked in a lazy value", in_a_lazy_value, ways[i]);
        trial_in_child("blocked in a log hook", in_a_log_hook, ways[i]);
    }
    trial_in_child("blocked in a worker only", only_in_a_worker, NULL);
    trial_in_child("a handle moves to a thread that blocks", handle_moves, NULL);
    return trial_end();
}
