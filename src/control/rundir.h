/* Where the files of a run directory are. */
#ifndef HCB_RUNDIR_H
#define HCB_RUNDIR_H

#include <stdbool.h>

struct hcb_rundir {
    char *dir; /* absolute, links kept */
    char *config, *commands, *ledger, *status, *state, *metrics, *media, *log, *lock, *artifacts;
};

/* config and commands may be NULL: their usual places. false: no memory. */
bool hcb_rundir_init(struct hcb_rundir *r, const char *dir, const char *config,
                     const char *commands);
void hcb_rundir_release(struct hcb_rundir *r);

/* What `init` and a host put into an empty run directory. */
#define HCB_CONFIG_TEMPLATE                                                       \
    "# What should run, as hotcb looks at it while training goes on.\n"           \
    "# Saved changes are taken in at the next look; keys you do not touch stay.\n" \
    "version: 1\n"                                                                \
    "callbacks: {}\n"

#endif
