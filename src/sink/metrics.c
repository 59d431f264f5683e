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
    if (s->has_step)
        hcb_json_put_int(lines, "step", s->step);
    else
        hcb_json_put_null(lines, "step");
    hcb_json_put_real(lines, "time", to_ms(s->wall));
    hcb_json_put_str(lines, "run", s->run);
    hcb_json_put_str(lines, "id", s->id);
    hcb_json_key(lines, "key");
    hcb_json_text(lines, s->key, s->key_len);
    if (s->is_int)
        hcb_json_put_int(lines, "value", s->i);
    else
        hcb_json_put_real(lines, "value", s->d);
    hcb_json_close(lines, '}');
    hcb_buf_char(lines, '\n');
}
