/* How many of a callback's last 100 calls failed. Costs nothing on a good call. And how
 * often that is said. */
#ifndef HCB_FAILURES_H
#define HCB_FAILURES_H

#include <stdbool.h>
#include <stdint.h>

#define HCB_FAILURE_WINDOW 100

struct hcb_failures {
    int64_t last; /* call number of the last failure */
    unsigned char gaps[HCB_FAILURE_WINDOW]; /* from each to the one before it, a ring */
    unsigned char n, head;
};

void hcb_failures_clear(struct hcb_failures *f);

/* Counts a failure of call number `call` (they grow) and returns how many there
 * were within the last 100 calls. */
int hcb_failures_add(struct hcb_failures *f, int64_t call);

/* 1, 10, 100, 1000, ...: what goes on is said at first, then less and less often. */
bool hcb_worth_saying(int64_t repeats);

#endif
