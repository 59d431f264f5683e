/* Clocks; see clock.h. */
#include "base/clock.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

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

int64_t hcb_clock_wall_us(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_REALTIME, &t) != 0)
        return 0;
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void hcb_clock_now(struct hcb_moment *now)
{
    now->wall_us = hcb_clock_wall_us();
    now->mono_ns = hcb_clock_ns();
}

static void put_second(struct hcb_stamp *stamp, int64_t second)
{
    time_t t = (time_t)second;
    struct tm tm = {0};
    gmtime_r(&t, &tm);
    stamp->second = second;
    stamp->whole = snprintf(stamp->text, sizeof(stamp->text), "%04lld-%02d-%02dT%02d:%02d:%02d",
                            tm.tm_year + 1900LL, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
                            tm.tm_min, tm.tm_sec);
}

int hcb_stamp_put(struct hcb_stamp *stamp, int64_t wall_us)
{
    int64_t second = wall_us / 1000000, rest = wall_us % 1000000;
    if (rest < 0) {
        rest += 1000000;
        second--;
    }
    if (stamp->whole == 0 || stamp->second != second)
        put_second(stamp, second);
    char *at = stamp->text + stamp->whole;
    at[0] = '.';
    hcb_put_digits(at + 1, (uint64_t)rest / 1000, 3);
    memcpy(at + 4, "Z", 2);
    return stamp->whole + 5;
}
