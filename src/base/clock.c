/* Clocks; see clock.h. */
#include "base/clock.h"

#include <time.h>

#define NS_PER_S 1000000000

static int64_t read_ns(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t) != 0)
        return 0;
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t hcb_clock_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t hcb_clock_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

double hcb_clock_wall(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_REALTIME, &t) != 0)
        return 0;
    return (double)t.tv_sec + (double)t.tv_nsec / NS_PER_S;
}
