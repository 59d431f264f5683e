/* Where lines go: to the host's hook and to hotcb.log. */
#ifndef HCB_LOG_H
#define HCB_LOG_H

#include "base/spool.h"
#include <hotcb/hotcb.h>

struct hcb_log {
    hotcb_log_fn *hook;
    void *user;
    enum hotcb_level level;
    struct hcb_spool spool; /* hotcb.log */
    bool to_file;           /* the spool is open */
    int64_t start_ns;
    struct hcb_buf text, line;
};

void hcb_log_init(struct hcb_log *log, hotcb_log_fn *hook, void *user, enum hotcb_level level);
void hcb_log_release(struct hcb_log *log);

/* Without a file, lines still reach the hook. */
int hcb_log_open(struct hcb_log *log, const char *path, int64_t cap, struct hcb_err *err);

/* In the file a line is
 *   2026-11-30T02:29:20.123Z +12.345 INFO  [id] text
 * with the seconds since the run was opened by the monotonic clock; [hotcb] for lines
 * that are about no callback. */

/* A line that callback `id` logged itself: the n bytes of it that were kept, of `whole`. */
void hcb_log_text(struct hcb_log *log, enum hotcb_level level, const char *id, const char *text,
                  size_t n, size_t whole);
/* A line of the controller's, about callback `id` or (NULL) the run. The hook gets it
 * without a callback, as "[id] text". */
void hcb_log(struct hcb_log *log, enum hotcb_level level, const char *id, const char *fmt, ...)
    HCB_PRINTF(4, 5);

#endif
