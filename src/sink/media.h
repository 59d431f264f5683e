/* hotcb.media.jsonl: the histograms and pictures that callbacks give, one JSON line each:
 *   {"step":7,"time":..,"run":"..","id":"..","key":"grads/w1","kind":"histogram",
 *    "counts":[3,1],"edges":[0.0,0.5,1.0]}
 *   {"step":7,"time":..,"run":"..","id":"..","key":"w1","kind":"image",
 *    "path":"artifacts/<id>/w1-000007.png","width":28,"height":28,"channels":1}
 * A path is relative to the run directory, and names a file that was written. */
#ifndef HCB_MEDIA_H
#define HCB_MEDIA_H

#include "base/err.h"
#include "sink/line.h"

#define HCB_HISTOGRAM_BINS 4096
#define HCB_PICTURE_KEY_BYTES 150
#define HCB_PICTURE_NAME 192 /* of a name, with its NUL */

/* The name that a picture has as an artifact: "<key>-<step>.png", where other bytes of the
 * key than letters, digits, "._-" and '/' are '_', and a step has six digits at least; no
 * "-<step>" where the head has none. EREFUSED: the key makes no good name; err says why. */
int hcb_picture_name(const struct hcb_line_head *head, unsigned channels,
                     char out[HCB_PICTURE_NAME], struct hcb_err *err);

/* Both append one line to `lines`; they are written with hcb_spool_write(). `numbers` is
 * what a histogram's line ends with: "counts":[...],"edges":[...] */
void hcb_media_histogram(struct hcb_buf *lines, const struct hcb_line_head *head,
                         const char *numbers, size_t n);
struct hcb_picture_line {
    struct hcb_line_head head;
    const char *name; /* of the artifact */
    unsigned width, height, channels;
};
void hcb_media_picture(struct hcb_buf *lines, const struct hcb_picture_line *p);

#endif
