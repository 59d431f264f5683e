/* A file of lines that never grows past its cap: when the next line would pass
 * half of it, the file becomes <name>.1 (the old .1 is dropped and its lines
 * counted), so what `tail -F` follows stays whole lines. Trouble (a full disk, a
 * deleted directory) is reported when it begins and when it ends, costs the
 * lines in between, and counts them. A line that a process left torn gets its end
 * before the next one is written. */
#ifndef HCB_SPOOL_H
#define HCB_SPOOL_H

#include "base/err.h"
#include <stdint.h>

struct hcb_spool {
    char *path;
    int fd;
    int64_t size, cap;    /* of the current part; cap is for both parts together */
    int64_t lines;        /* in the current part, as far as this process wrote them */
    int64_t old_lines;    /* the same of <name>.1 */
    int64_t dropped;      /* lines lost to rotation or trouble, or longer than a part */
    int64_t lost;         /* of those, by the trouble that is or was last */
    bool torn;            /* the file ends inside a line */
    bool held;
    bool trouble;
    struct hcb_err why;   /* while in trouble */
};

int hcb_spool_open(struct hcb_spool *s, const char *path, int64_t cap, struct hcb_err *err);
void hcb_spool_close(struct hcb_spool *s);
bool hcb_spool_is_open(const struct hcb_spool *s); /* lines would be written now; NULL: no */

/* Appends whole lines (n bytes that end in '\n') by one write, or by several
 * where a part of the file ends between them; and where there is no room for all of
 * them, as many as there is room for. Returns 0, a negative error when
 * trouble begins, and 0 again while it lasts; its end shows in `trouble`. */
int hcb_spool_write(struct hcb_spool *s, const char *lines, size_t n, struct hcb_err *err);

/* The run directory is gone, or somebody else's: lines are dropped, without a word but
 * counted, until it is found again, which is when the file is opened anew. */
void hcb_spool_hold(struct hcb_spool *s);
void hcb_spool_reopen(struct hcb_spool *s);

#endif
