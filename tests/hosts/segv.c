/* A host with a handler for SIGSEGV on a small stack of its own, which it needs: it mends
 * a fault of its own between applies, before and after runaways, and both are as it set them. */
#include "trial.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

static sigjmp_buf mended;
static volatile sig_atomic_t faults;
static char *forbidden;
static void *own_stack;
static size_t own_stack_size;

static void on_fault(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)info;
    (void)context;
    faults++;
    siglongjmp(mended, 1);
}

static void install(size_t size)
{
    struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    own_stack = malloc(size);
    own_stack_size = size;
    stack_t stack = {.ss_sp = own_stack, .ss_size = size};
    sigemptyset(&sa.sa_mask);
    CHECK(own_stack && sigaltstack(&stack, NULL) == 0, "sigaltstack of %zu bytes", size);
    CHECK(sigaction(SIGSEGV, &sa, NULL) == 0, "a handler for SIGSEGV");
}

static void check_own(void)
{
    struct sigaction sa;
    stack_t stack;
    sigaction(SIGSEGV, NULL, &sa);
    sigaltstack(NULL, &stack);
    CHECK(sa.sa_sigaction == on_fault, "the handler for SIGSEGV was changed");
    CHECK(stack.ss_sp == own_stack && stack.ss_size == own_stack_size && stack.ss_flags == 0,
          "the signal stack was changed");
}

static void fault_and_mend(void)
{
    int before = faults;
    if (sigsetjmp(mended, 1) == 0)
        *(volatile char *)forbidden = 1;
    CHECK(faults == before + 1, "a fault of the host was not mended");
}

static void prove_with(const char *name, size_t size)
{
    struct trial t;
    install(size);
    trial_init(&t, name);
    if (trial_open(&t)) {
        for (int i = 0; i < 3; i++) {
            fault_and_mend();
            trial_prove(&t, TRIAL_TIMER);
            check_own();
        }
    }
    trial_close(&t);
    fault_and_mend();
    check_own();
}

static void smallest(void *arg)
{
    (void)arg;
    prove_with("smallest", (size_t)MINSIGSTKSZ);
}

static void usual(void *arg)
{
    (void)arg;
    prove_with("usual", (size_t)SIGSTKSZ);
}

int main(int argc, char **argv)
{
    (void)argc;
    trial_begin(argv[0]);
    forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(forbidden != MAP_FAILED, "a page that nobody may write");
    trial_in_child("the smallest signal stack", smallest, NULL);
    trial_in_child("a signal stack of the usual size", usual, NULL);
    return trial_end();
}
