/* One attack in one host process, from its first step to its exit; or all of them, one
 * after another, in one. */
#ifndef HOSTILE_HOST_H
#define HOSTILE_HOST_H

#include "entries.h"
#include "wrap.h"
#include <stdint.h>

/* How the hostile callback comes into the run. */
enum route { BY_YAML, BY_COMMAND_FILE, BY_HOST, ROUTE_COUNT };

struct job {
    const struct entry *entry; /* NULL: all of them */
    enum place place;
    enum route route;
    bool coroutines;
    bool unload; /* at the end, rather than leave it to the run's */
    bool narrow; /* the host's thread has a small stack, as some have */
};

/* In memory that is shared with the parent, so that it says how far a host came. */
struct report {
    bool complete;
    char doing[200];     /* the entry it is at, where there are several */
    enum hcb_reason outcome;
    bool by_budget;      /* it ended by its budget: then over_ns counts */
    bool placed;         /* the message names a file and a line */
    int64_t over_ns;     /* CPU time of the dearest call, less the budget */
    long peak_kb;        /* resident, above what it was before the run */
    char guard[40];      /* what status says keeps scripts within their budget */
    char message[1100];
    char complaint[600]; /* "" if nothing was wrong */
};

/* Runs it in `dir`, an empty directory. Returns the exit code of the process. */
int host_run(const struct job *job, const char *dir, int64_t time_ms, struct report *out);

/* The same with every entry that can be, one after another in one run: what one leaves
 * behind would add up. */
int host_run_all(const struct entries *all, const char *dir, int64_t time_ms,
                 struct report *out);

const char *route_name(enum route route);

#endif
