/* How lines about a step begin and end; see line.h. Knows nothing of what they say. */
#include "sink/line.h"

#include "base/json.h"

#include <math.h>

/* The time to the millisecond: more digits would be noise, and half the line. */
static double to_ms(double wall)
{
    return floor(wall * 1000 + 0.5) / 1000;
}

void hcb_line_begin(struct hcb_buf *lines, const struct hcb_line_head *head)
{
    hcb_json_open(lines, '{');
    if (head->has_step)
        hcb_json_put_int(lines, "step", head->step);
    else
        hcb_json_put_null(lines, "step");
    hcb_json_put_real(lines, "time", to_ms(head->wall));
    hcb_json_put_str(lines, "run", head->run);
    hcb_json_put_str(lines, "id", head->id);
    hcb_json_key(lines, "key");
    hcb_json_text(lines, head->key, head->key_len);
}

void hcb_line_end(struct hcb_buf *lines)
{
    hcb_json_close(lines, '}');
    hcb_buf_char(lines, '\n');
}
