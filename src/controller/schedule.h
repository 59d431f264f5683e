/* When a callback is due: once per crossed multiple of its interval, counted for
 * each step event by itself. */
#ifndef HCB_SCHEDULE_H
#define HCB_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/* Of one callback and one event. Zeroed: nothing seen yet. */
struct hcb_schedule {
    bool counting;
    bool ended;   /* no multiple is left below 2^63 */
    int64_t next; /* the first step that is due */
};

/* Whether `step` is due, and counts it. The first step seen, and the first after
 * steps went `backwards`, is due only if it is a multiple itself (0 is); later, the
 * first step at or past each next multiple is. every <= 0: never. */
bool hcb_schedule_due(struct hcb_schedule *s, int64_t every, int64_t step, bool backwards);

/* The interval changed: the next multiple is counted from `last`, the last step seen. */
void hcb_schedule_change(struct hcb_schedule *s, int64_t every, int64_t last);

#endif
