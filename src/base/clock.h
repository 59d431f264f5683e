/* Clocks. Durations come from the monotonic ones only: the wall clock may jump. */
#ifndef HCB_CLOCK_H
#define HCB_CLOCK_H

#include <stdint.h>

int64_t hcb_clock_coarse_ns(void); /* monotonic, a few ms coarse, no system call */
int64_t hcb_clock_ns(void);        /* monotonic */
int64_t hcb_clock_cpu_ns(void);    /* CPU time of the calling thread; a system call */
double hcb_clock_wall(void);       /* seconds since 1970 */

#endif
