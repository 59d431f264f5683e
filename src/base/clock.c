/* Clocks; see clock.h. */
#include "base/clock.h"

int64_t hcb_clock_ns(void)
{
    return hcb_clock_read_ns(clock_gettime, CLOCK_MONOTONIC);
}

int64_t hcb_clock_cpu_ns(void)
{
    return hcb_clock_read_ns(clock_gettime, CLOCK_THREAD_CPUTIME_ID);
}

double hcb_clock_wall(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_REALTIME, &t) != 0)
        return 0;
    return (double)t.tv_sec + (double)t.tv_nsec / HCB_NS_PER_S;
}
