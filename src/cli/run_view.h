/* A run as it can be seen from outside: its directory, whether it lives, and the
 * status that it wrote last. */
#ifndef HCB_CLI_RUN_VIEW_H
#define HCB_CLI_RUN_VIEW_H

#include "base/err.h"
#include "base/value.h"
#include "cli/cli.h"
#include "control/rundir.h"

struct cli_run {
    struct hcb_rundir at;
    char *commands;            /* where its commands go: the status may name another file */
    struct hcb_value status;   /* null: none was written, or it cannot be read */
    struct hcb_err unreadable; /* why, if it is there and cannot be read */
    int64_t owner;             /* the pid that holds the lock, as hcb_lock_owner() has it */
    bool live;
    bool starting;      /* live, and has not written a status yet */
    bool died;          /* the status says running, and nobody holds the lock */
    double beat_age_s;  /* of the status; negative where there is none */
};

/* Looks at the run directory of the command line. Creates nothing. Returns 0, or
 * the exit code with which all is said (no such run directory). To be closed in
 * either case. */
int cli_run_open(struct cli *cli, struct cli_run *run);
void cli_run_close(struct cli_run *run);

/* Asks again whether the run lives. */
bool cli_run_lives(const struct cli_run *run);

int64_t cli_run_pid(const struct cli_run *run); /* of the status, or else the lock; 0: unknown */

/* The callbacks of the status: NULL, or a list. */
const struct hcb_value *cli_run_callbacks(const struct cli_run *run);
const struct hcb_value *cli_run_callback(const struct cli_run *run, const char *id);
const char *cli_run_near_id(const struct cli_run *run, const char *id); /* or NULL */

/* How long it takes from one look of the run to the next, as its pace has been;
 * 0 where that is unknown. */
double cli_run_look_s(const struct cli_run *run);

/* Commands in the file that the run has not taken in; negative where that cannot
 * be told. Meant for a run that is not live. */
int64_t cli_run_queued(const struct cli_run *run);

/* A warning for who is about to read what a run left behind, or steer one that is
 * gone: "the last run here (pid 4711) died 12 s ago ...". */
void cli_run_say_died(struct cli *cli, const struct cli_run *run);

#endif
