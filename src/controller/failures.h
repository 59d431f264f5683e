/* How many of a callback's last 100 calls failed. Costs nothing on a good call. */
#ifndef HCB_FAILURES_H
#define HCB_FAILURES_H

#include <stdint.h>

#define HCB_FAILURE_WINDOW 100

struct hcb_failures {
    int64_t at[HCB_FAILURE_WINDOW]; /* call numbers of the last failures, a ring */
    int n, head;
};

void hcb_failures_clear(struct hcb_failures *f);

/* Counts a failure of call number `call` (they grow) and returns how many there
 * were within the last 100 calls. */
int hcb_failures_add(struct hcb_failures *f, int64_t call);

#endif
