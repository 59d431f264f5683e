/* What all the runs came to: counted as they end, told at the end in one line. */
#ifndef HOSTILE_TALLY_H
#define HOSTILE_TALLY_H

#include "host.h"

struct tally {
    int runs, failures;
    int outcomes[HCB_FILE + 1];
    int placed, failed;        /* failures of scripts that name file and line; all of them */
    int64_t *over_ns;          /* of those that ended by their budget */
    size_t over_n, over_cap;
    long peak_kb;
    char peak_of[200], worst_of[200];
    int64_t worst_ns;
    char guard[40];
};

void tally_add(struct tally *t, const struct report *r, const char *name);
void tally_tell(struct tally *t, int64_t time_ms, int64_t slack);
void tally_release(struct tally *t);

#endif
