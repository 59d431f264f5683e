/* Where lines go: to the host's hook and to hotcb.log. */
#ifndef HCB_LOG_H
#define HCB_LOG_H

#include "base/clock.h"
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
    struct hcb_buf pending; /* lines for the file that wait until they are written together */
    bool gathers;
    struct hcb_stamp stamp;
};

void hcb_log_init(struct hcb_log *log, hotcb_log_fn *hook, void *user, enum hotcb_level level);
void hcb_log_release(struct hcb_log *log);

/* Without a file, lines still reach the hook. */
int hcb_log_open(struct hcb_log *log, const char *path, int64_t cap, struct hcb_err *err);

/* From here to the flush lines for the file are gathered and written together: those of what
 * one look takes in, which is told nowhere else yet either. A line of an error is written
 * at once, and so is what was gathered before it. Hooks get each line at once. */
void hcb_log_gather(struct hcb_log *log);
void hcb_log_flush(struct hcb_log *log);

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

/* The same about the run, in parts: a buffer for the text, where each part is to be printable,
 * or NULL if nobody wants a line of that level; and its end, with the moment it is about. */
struct hcb_buf *hcb_log_begin(struct hcb_log *log, enum hotcb_level level);
void hcb_log_end(struct hcb_log *log, enum hotcb_level level, const struct hcb_moment *at);

#endif
