/* How much there is below a folder, links not followed: for a cap on what may come to be
 * there. */
#ifndef HCB_FOLDER_H
#define HCB_FOLDER_H

#include "base/err.h"
#include <stdint.h>

#define HCB_FOLDER_DEPTH 16 /* folders below are there, but not looked into */

struct hcb_folder {
    int64_t bytes;   /* of the regular files */
    int64_t entries; /* files, folders and whatever else */
};

/* Counts what is below the directory fd, until there are more than max entries, and
 * removes what a process that was killed left half-written there. */
int hcb_folder_count(int fd, int64_t max, struct hcb_folder *out, struct hcb_err *err);

#endif
