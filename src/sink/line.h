/* What the lines of hotcb.metrics.jsonl and hotcb.media.jsonl have in common:
 *   {"step":41180,"time":1767225600.123,"run":"...","id":"timing","key":"step_ms", ... }
 * `step` is null where the host has set none. */
#ifndef HCB_LINE_H
#define HCB_LINE_H

#include "base/buf.h"
#include <stdint.h>

struct hcb_line_head {
    const char *run, *id, *key;
    size_t key_len;
    bool has_step;
    int64_t step;
    double wall;
};

/* Around the fields that a line has of its own. */
void hcb_line_begin(struct hcb_buf *lines, const struct hcb_line_head *head);
void hcb_line_end(struct hcb_buf *lines);

#endif
