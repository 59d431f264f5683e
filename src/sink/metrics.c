/* Lines of hotcb.metrics.jsonl; see metrics.h. Formats only: the file is the
 * business of base/spool.c. */
#include "sink/metrics.h"

#include "base/json.h"

void hcb_metrics_format(struct hcb_buf *lines, const struct hcb_scalar_line *s)
{
    hcb_line_begin(lines, &s->head);
    if (s->is_int)
        hcb_json_put_int(lines, "value", s->i);
    else
        hcb_json_put_real(lines, "value", s->d);
    hcb_line_end(lines);
}
