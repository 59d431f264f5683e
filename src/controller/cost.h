/* What hotcb costs the loop, from the applies that did something. */
#ifndef HCB_COST_H
#define HCB_COST_H

#include <stdbool.h>
#include <stdint.h>

struct hcb_cost {
    int64_t applies; /* all of them */
    int64_t busy;    /* those that looked or called */
    int64_t total_ns;
    int64_t buckets[256]; /* of busy applies: four to each doubling of ns */
};

/* A clock costs more than an empty call: of a callback's calls the first ones are timed, and
 * then one of 16. Which of them has no rhythm: what a script does each so many calls would
 * else be seen each time, or never. */
static inline bool hcb_cost_is_timed(int64_t calls)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = (uint64_t)calls * odd;
    return calls < 32 || (mixed ^ mixed >> 32) * odd >> 60 == 0;
}

void hcb_cost_add(struct hcb_cost *c, int64_t ns);
double hcb_cost_p99_ms(const struct hcb_cost *c); /* over all applies */

#endif
