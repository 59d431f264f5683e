/* Clocks. Durations come from the monotonic ones only: the wall clock may jump. */
#ifndef HCB_CLOCK_H
#define HCB_CLOCK_H

#include "base/platform.h"
#include <stdint.h>
#include <time.h>

int64_t hcb_clock_ns(void);        /* monotonic */
int64_t hcb_clock_cpu_ns(void);    /* CPU time of the calling thread; a system call */
double hcb_clock_wall(void);       /* seconds since 1970 */
int64_t hcb_clock_wall_us(void);   /* the same in microseconds */

/* One moment by both clocks, for what is told of it in several places. */
struct hcb_moment {
    int64_t wall_us, mono_ns;
};
void hcb_clock_now(struct hcb_moment *now);

/* A wall clock's time as text, "2026-11-30T02:29:20.123Z"; zeroed at first. What is said
 * of a second is worked out once for all that happens in it. */
struct hcb_stamp {
    int64_t second;
    int whole; /* bytes up to the point; 0: nothing is known yet */
    char text[48];
};
int hcb_stamp_put(struct hcb_stamp *stamp, int64_t wall_us); /* returns its length */

#define HCB_NS_PER_S 1000000000

static inline int64_t hcb_clock_read_ns(hcb_clock_fn *read, clockid_t clock)
{
    struct timespec t;
    return read(clock, &t) == 0 ? (int64_t)t.tv_sec * HCB_NS_PER_S + t.tv_nsec : 0;
}

/* Monotonic, a few ms coarse, no system call. */
static inline int64_t hcb_clock_coarse_ns(void)
{
    return hcb_clock_read_ns(clock_gettime, HCB_COARSE_CLOCK);
}

/* The same by hcb_platform_coarse_clock(), for those who ask often. */
static inline int64_t hcb_clock_coarse_by(hcb_clock_fn *read)
{
    return hcb_clock_read_ns(read, HCB_COARSE_CLOCK);
}

#endif
