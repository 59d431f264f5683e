/* Clocks. Durations come from the monotonic ones only: the wall clock may jump. */
#ifndef HCB_CLOCK_H
#define HCB_CLOCK_H

#include "base/platform.h"
#include <stdint.h>
#include <time.h>

int64_t hcb_clock_ns(void);        /* monotonic */
int64_t hcb_clock_cpu_ns(void);    /* CPU time of the calling thread; a system call */
double hcb_clock_wall(void);       /* seconds since 1970 */

/* Monotonic, a few ms coarse, no system call. */
static inline int64_t hcb_clock_coarse_ns(void)
{
    struct timespec t;
    return clock_gettime(HCB_COARSE_CLOCK, &t) == 0 ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec
                                                    : 0;
}

#endif
