/* SIGINT as a flag. It is installed only by what waits: elsewhere the signal ends
 * the process at once, as it should. */
#include "cli/wait.h"

#include <signal.h>
#include <time.h>

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

void cli_interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL); /* no SA_RESTART: a pause is to end */
}

bool cli_interrupted(void)
{
    return interrupted != 0;
}

void cli_nap_ms(int ms)
{
    struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};
    if (!interrupted)
        nanosleep(&pause, NULL);
}
