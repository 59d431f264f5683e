/* The timer that watches a thread's scripts; see guard.h. */
#include "script/guard.h"

#if defined(HOTCB_PORTABLE) || defined(HOTCB_UNGUARDED)

enum hcb_guard hcb_guard_open(struct hcb_run *run)
{
    run->thread = NULL;
    return HCB_GUARD_CANNOT;
}

bool hcb_guard_arm(struct hcb_run *run) { return run == NULL; }
void hcb_guard_rest(struct hcb_run *run) { (void)run; }
int64_t hcb_guard_tick(int64_t budget_ns) { return budget_ns; }
void hcb_guard_landed(struct hcb_run *run) { (void)run; }
void hcb_guard_refresh(void) {}
bool hcb_guard_watches(const struct hcb_run *run) { return run != NULL; } /* as before */
size_t hcb_guard_stack_left(void) { return SIZE_MAX; }
const char *hcb_guard_name(void) { return "count hook"; }

#else

#include "base/clock.h"
#include "base/platform.h"
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define GRACE_NS 1000000 /* between asking a run to stop, asking again, and the jump */
#define ASKS 2           /* Lua may miss the first */
#define KERNEL_NS 4000000 /* that a timer on CPU time may be late */
#define TICK_MIN_NS 1000000
#define SHORT_WAIT 4 /* ticks */
#define PATIENCE 64

/* Of one thread; all zero in a forked child. */
struct record {
    struct hcb_guard_thread shared; /* the first, so that it is the record, too */
    uint64_t seen;   /* the run that a tick found */
    int64_t seen_ns; /* and when, in CPU time */
    bool ready;      /* set up, for better or worse */
    bool usable;     /* it has a timer that gets through */
    timer_t timer;
    timer_t fine;    /* on the monotonic clock */
    int64_t asked_ns;
    volatile uint64_t blocked; /* signals that are while scripts run, as last seen */
    bool plain;    /* a tick of this run found no more blocked */
    unsigned more; /* ticks that did, one after the other */
    sigset_t mask; /* that a jump came from */
    uint32_t mxcsr; /* and the modes of floating point there, which a handler has its own of */
    uint16_t x87;
    uintptr_t stack_low, stack_high;
};

static _Thread_local struct record *mine;

/* Of the process, settled once. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_exit_key;
static bool has_key;
static int tick_signal; /* 0: there is none to be had */
static uintptr_t loader_low, loader_high;

/* ---- the handler ------------------------------------------------------------ */

static bool set(timer_t timer, int64_t ns)
{
    struct itimerspec in = {.it_value = {ns / 1000000000, ns % 1000000000}};
    return timer_settime(timer, 0, &in, NULL) == 0;
}

static bool set_timer(struct record *r, int64_t ns)
{
    r->shared.armed_ns = (uint64_t)ns;
    return set(r->timer, ns);
}

static uintptr_t place_of(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

/* A jump out of the dynamic loader, as it binds a function, could leave it in pieces. */
static bool in_loader(const ucontext_t *context)
{
    uintptr_t place = place_of(context);
    return place >= loader_low && place < loader_high;
}

/* What the kernel has of it: the C library's type is larger. */
static uint64_t bits_of(const sigset_t *signals)
{
    uint64_t bits;
    memcpy(&bits, signals, sizeof bits);
    return bits;
}

/* A handler of the host's that came amid the run has its signal blocked: it is not broken
 * off, nor would that signal ever come again. If no tick of a run found less blocked, the
 * host has blocked more since that was last looked at. */
static void note_blocked(struct record *r, const ucontext_t *context)
{
    uint64_t bits = bits_of(&context->uc_sigmask);
    bool more = bits & ~r->blocked;
    r->more = more ? r->more + 1 : 0;
    if (more && (r->plain || r->more < PATIENCE))
        return;
    r->plain = true;
    r->more = 0;
    r->blocked = bits;
}

/* The next tick for a run that is at the end of its time, or beyond. The clock that goes
 * on while a thread sleeps must not wake the host's code. */
static void set_fine(struct record *r, const struct hcb_run *run, int64_t ns)
{
    if (run->held) {
        set_timer(r, ns);
        return;
    }
    r->shared.fine_set = true;
    set(r->fine, ns);
}

/* Such a handler is waited for. One that comes as often as the kernel's clock ticks could be
 * there at each tick of the timer that goes by it. */
static void wait_for_handler(struct record *r, const struct hcb_run *run)
{
    if (r->more > SHORT_WAIT)
        set_fine(r, run, GRACE_NS);
    else
        set_timer(r, GRACE_NS);
}

static void note_origin(struct record *r, const ucontext_t *context)
{
    r->mask = context->uc_sigmask;
#ifdef __x86_64__
    r->mxcsr = context->uc_mcontext.fpregs->mxcsr;
    r->x87 = context->uc_mcontext.fpregs->cwd;
#endif
}

/* A thread that was not scheduled meanwhile has had no time to stop. */
static void overdue(struct record *r, struct hcb_run *run, int64_t now, const ucontext_t *context)
{
    if (r->more > 0) {
        wait_for_handler(r, run);
        return;
    }
    bool had_time = run->late == 0 || now - r->asked_ns >= GRACE_NS / 2;
    if (had_time && run->late < ASKS) {
        run->late++;
        r->asked_ns = now;
        run->stop(run->user);
        had_time = false;
    }
    if (!had_time || run->held || in_loader(context)) {
        set_fine(r, run, GRACE_NS);
        return;
    }
    note_origin(r, context);
    set_timer(r, run->tick_ns);
    siglongjmp(run->out, 1);
}

static void tick(struct record *r, const ucontext_t *context)
{
    struct hcb_run *run = r->shared.current;
    if (!run) {
        r->shared.armed_ns = 0;
        return;
    }
    int64_t now = hcb_clock_cpu_ns();
    if (r->seen != run->serial) {
        r->seen = run->serial;
        r->seen_ns = now;
        r->plain = false;
        r->more = 0;
    }
    note_blocked(r, context);
    int64_t left = r->seen_ns + run->budget_ns - now;
    if (left > KERNEL_NS)
        set_timer(r, left - KERNEL_NS < run->tick_ns ? left - KERNEL_NS : run->tick_ns);
    else if (left > 0)
        set_fine(r, run, left);
    else
        overdue(r, run, now, context);
}

static void on_tick(int signal, siginfo_t *info, void *context)
{
    int error = errno;
    (void)signal;
    if (info->si_code == SI_TIMER && info->si_value.sival_ptr == mine && mine)
        tick(mine, context);
    errno = error;
}

/* ---- set-up ----------------------------------------------------------------- */

static int find_loader(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    if (info->dlpi_addr != *(uintptr_t *)base)
        return 0;
    loader_low = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && end > loader_high)
            loader_high = end;
    }
    return 1;
}

static bool is_free(int signal)
{
    struct sigaction now;
    return sigaction(signal, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
           now.sa_handler == SIG_DFL;
}

/* The highest is left alone: tools that run programs under watch like to take it. */
static int take_signal(void)
{
    struct sigaction ours = {.sa_sigaction = on_tick,
                             .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&ours.sa_mask);
    for (int signal = SIGRTMAX - 1; signal >= SIGRTMIN; signal--)
        if (is_free(signal) && sigaction(signal, &ours, NULL) == 0)
            return signal;
    return 0;
}

static void delete_timers(struct record *r)
{
    if (!r->usable)
        return;
    timer_delete(r->timer);
    timer_delete(r->fine);
}

/* A tick that is on its way may still come: it must not find the record gone. */
static void at_exit(void *record)
{
    struct record *r = record;
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, tick_signal);
    pthread_sigmask(SIG_BLOCK, &ours, NULL);
    mine = NULL;
    delete_timers(r);
    hcb_platform_unmap(r, sizeof *r);
}

static void set_up_process(void)
{
    uintptr_t base = getauxval(AT_BASE);
    if (base)
        dl_iterate_phdr(find_loader, &base);
    has_key = pthread_key_create(&at_exit_key, at_exit) == 0;
    tick_signal = has_key ? take_signal() : 0;
}

/* Our handler in its place, and the signal not blocked; what is blocked is noted. */
static bool gets_through(struct record *r)
{
    struct sigaction now;
    sigset_t blocked;
    if (pthread_sigmask(SIG_SETMASK, NULL, &blocked) != 0)
        return false;
    r->blocked = bits_of(&blocked);
    return !sigismember(&blocked, tick_signal) && sigaction(tick_signal, NULL, &now) == 0 &&
           now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_tick;
}

/* Without the timer from now on. */
static void give_up(struct record *r)
{
    delete_timers(r);
    r->usable = r->shared.fine_set = false;
    r->shared.armed_ns = 0;
}

static void set_up(struct record *r)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = tick_signal,
                             .sigev_value = {.sival_ptr = r}};
    event.sigev_notify_thread_id = gettid();
    r->ready = true;
    if (!hcb_platform_stack(&r->stack_low, &r->stack_high))
        r->stack_low = r->stack_high = 0;
    if (tick_signal == 0 || !gets_through(r) ||
        timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &r->timer) != 0)
        return;
    r->usable = timer_create(CLOCK_MONOTONIC, &event, &r->fine) == 0;
    if (!r->usable)
        timer_delete(r->timer);
}

static struct record *new_record(void)
{
    pthread_once(&once, set_up_process);
    if (!has_key)
        return NULL;
    struct record *r = hcb_platform_map_wiped(sizeof *r);
    if (r && pthread_setspecific(at_exit_key, r) != 0) {
        hcb_platform_unmap(r, sizeof *r);
        return NULL;
    }
    return mine = r;
}

static struct record *ready_record(void)
{
    struct record *r = mine ? mine : new_record();
    if (r && !r->ready)
        set_up(r);
    return r;
}

/* ---- entry and exit ---------------------------------------------------------- */

static struct record *record_of(const struct hcb_run *run)
{
    return (struct record *)run->thread;
}

/* The run is known, so a tick need not see it first. One may still come of the timer as it was
 * set before, here too: it must not take this run for one that began when another did. A forked
 * child has no timer. */
static bool arm(struct record *r, const struct hcb_run *run)
{
    if (!r->usable)
        return false;
    if (!gets_through(r)) {
        give_up(r);
        return false;
    }
    r->seen_ns = hcb_clock_cpu_ns();
    r->plain = true; /* it has just been looked at */
    r->more = 0;
    atomic_signal_fence(memory_order_seq_cst);
    r->seen = run->serial;
    if (!set_timer(r, run->tick_ns)) { /* a filter of system calls may forbid it */
        give_up(r);
        return false;
    }
    return true;
}

bool hcb_guard_arm(struct hcb_run *run)
{
    if (arm(record_of(run), run))
        return true;
    run->thread->current = run->outer;
    run->thread = NULL;
    return false;
}

/* No tick of the fine timer is to come when no script runs; one that this run was inside
 * of is watched by the other. */
void hcb_guard_rest(struct hcb_run *run)
{
    struct record *r = record_of(run);
    r->shared.fine_set = false;
    set(r->fine, 0);
    if (r->shared.current)
        set_timer(r, r->shared.current->tick_ns);
    else
        r->shared.armed_ns = 0;
}

int64_t hcb_guard_tick(int64_t budget_ns)
{
    int64_t ns = budget_ns / 4 - KERNEL_NS;
    return ns < TICK_MIN_NS ? TICK_MIN_NS : ns;
}

/* Outside the bounds that are known it is on a stack of the host's making. */
static size_t stack_left(const struct record *r)
{
    char here;
    uintptr_t place = (uintptr_t)&here;
    return r && place >= r->stack_low && place < r->stack_high ? place - r->stack_low : SIZE_MAX;
}

enum hcb_guard hcb_guard_open(struct hcb_run *run)
{
    struct record *r = ready_record();
    run->thread = NULL;
    if (stack_left(r) < HCB_GUARD_STACK)
        return HCB_GUARD_NO_STACK;
    if (!r || !r->usable)
        return HCB_GUARD_CANNOT;
    run->thread = &r->shared;
    run->outer = r->shared.current;
    return HCB_GUARD_WATCHES;
}

void hcb_guard_landed(struct hcb_run *run)
{
    hcb_guard_leave(run);
#ifdef __x86_64__
    uint32_t mxcsr = mine->mxcsr & ~UINT32_C(0x3f); /* without what was raised meanwhile */
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(mine->x87));
#endif
    pthread_sigmask(SIG_SETMASK, &mine->mask, NULL);
}

bool hcb_guard_watches(const struct hcb_run *run)
{
    return mine && mine->usable && mine->shared.current == run;
}

void hcb_guard_refresh(void)
{
    struct record *r = ready_record();
    if (r && r->usable && !gets_through(r))
        give_up(r);
}

size_t hcb_guard_stack_left(void)
{
    return stack_left(ready_record());
}

const char *hcb_guard_name(void)
{
    const struct record *r = ready_record();
    return r && r->usable ? "timer" : "count hook";
}

#endif
