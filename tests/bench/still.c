/* To be preloaded where instructions are counted: clocks that stand still. Lua seeds its hashes
 * by them, and what is done at each of their ticks would be done at other times. */
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
    (void)clock;
    t->tv_sec = 1000000000;
    t->tv_nsec = 0;
    return 0;
}

time_t time(time_t *t)
{
    if (t)
        *t = 1000000000;
    return 1000000000;
}
