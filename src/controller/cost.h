/* What hotcb costs the loop, from the applies that did something. */
#ifndef HCB_COST_H
#define HCB_COST_H

#include <stdint.h>

struct hcb_cost {
    int64_t applies; /* all of them */
    int64_t busy;    /* those that looked or called */
    int64_t total_ns;
    int64_t buckets[256]; /* of busy applies: four to each doubling of ns */
};

void hcb_cost_add(struct hcb_cost *c, int64_t ns);
double hcb_cost_p99_ms(const struct hcb_cost *c); /* over all applies */

#endif
