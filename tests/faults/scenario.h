/* Lives of a run, in acts: all that a host and people do with one. Something may fail at
 * any point of them (inject.h); after a few acts what failed works again, and in the end
 * all must be as if nothing had been, or be said. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "inject.h"

struct scenario_result {
    long points;  /* calls that could fail */
    long kept;    /* blocks of memory that were not given back; what a process keeps for good */
    int failures; /* checks; each was printed */
};

int scenario_lives(void);

/* Plays the life that the plan names in the folder `root`, which it makes and removes. */
void scenario_play(const struct fault_plan *plan, const char *root, bool verbose,
                   struct scenario_result *out);

#endif
