/* A file that lines of what callbacks ask for go to: scalars, or histograms and pictures.
 * The file keeps its cap itself (spool.h); here its troubles are said. */
#ifndef HCB_LINES_H
#define HCB_LINES_H

#include "controller/log.h"

struct hcb_lines {
    struct hcb_spool spool;
    const char *what;       /* "scalars": for messages */
    struct hcb_buf pending; /* of the call that goes on; reused */
    int64_t lost_calls;     /* whose lines found no memory */
};

/* `l` is zeroed before, or was released. */
int hcb_lines_open(struct hcb_lines *l, const char *path, const char *what, int64_t cap,
                   struct hcb_err *err);
void hcb_lines_release(struct hcb_lines *l);

/* Writes what is pending. */
void hcb_lines_write(struct hcb_lines *l, struct hcb_log *log);

/* Somebody may have removed or replaced the file, and what is written would go unseen. */
void hcb_lines_check(struct hcb_lines *l);
void hcb_lines_hold(struct hcb_lines *l); /* until the next check; see spool.h */

#endif
