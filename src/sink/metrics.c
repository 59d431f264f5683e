/* Lines of hotcb.metrics.jsonl; see metrics.h. Formats only: the file is the
 * business of base/spool.c. */
#include "sink/metrics.h"

#include "base/json.h"

#include <math.h>

/* The time to the millisecond: more digits would be noise, and half the line. */
static double to_ms(double wall)
{
    return floor(wall * 1000 + 0.5) / 1000;
}

void hcb_metrics_format(struct hcb_buf *lines, const struct hcb_scalar_line *s)
{
    hcb_json_open(lines, '{');
    hcb_json_key(lines, "step");
    if (s->has_step)
        hcb_json_int(lines, s->step);
    else
        hcb_json_null(lines);
    hcb_json_key(lines, "time");
    hcb_json_real(lines, to_ms(s->wall));
    hcb_json_key(lines, "run");
    hcb_json_str(lines, s->run);
    hcb_json_key(lines, "id");
    hcb_json_str(lines, s->id);
    hcb_json_key(lines, "key");
    hcb_json_text(lines, s->key, s->key_len);
    hcb_json_key(lines, "value");
    if (s->is_int)
        hcb_json_int(lines, s->i);
    else
        hcb_json_real(lines, s->d);
    hcb_json_close(lines, '}');
    hcb_buf_char(lines, '\n');
}
