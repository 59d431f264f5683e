/* hotcb.metrics.jsonl: the scalars that callbacks log, one JSON line each:
 *   {"step":41180,"time":1767225600.123,"run":"...","id":"timing","key":"step_ms","value":3.1}
 * NaN and infinities are the strings "NaN", "Infinity", "-Infinity". */
#ifndef HCB_METRICS_H
#define HCB_METRICS_H

#include "sink/line.h"

struct hcb_scalar_line {
    struct hcb_line_head head;
    bool is_int;
    int64_t i;
    double d; /* the value: i if is_int, else d */
};

/* Appends one line to `lines`; they are written with hcb_spool_write(). */
void hcb_metrics_format(struct hcb_buf *lines, const struct hcb_scalar_line *s);

#endif
