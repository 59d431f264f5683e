/* Lines of hotcb.media.jsonl, and the names of pictures; see media.h. Formats only: the
 * files are the business of base/spool.c and artifact.c. */
#include "sink/media.h"

#include "base/json.h"
#include "sink/artifact.h"
#include "sink/picture.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '.' || c == '_' || c == '-' || c == '/';
}

/* The key is judged by itself, for with a step behind it ".." would do. */
int hcb_picture_name(const struct hcb_line_head *head, unsigned channels,
                     char out[HCB_PICTURE_NAME], struct hcb_err *err)
{
    size_t n = head->key_len < HCB_PICTURE_KEY_BYTES ? head->key_len : HCB_PICTURE_KEY_BYTES;
    for (size_t i = 0; i < n; i++)
        out[i] = is_plain(head->key[i]) ? head->key[i] : '_';
    int status = hcb_artifact_check(out, n, err);
    if (status < 0)
        return status;
    char *end = out + n;
    size_t room = HCB_PICTURE_NAME - n;
    uint64_t digits = head->step < 0 ? 0 - (uint64_t)head->step : (uint64_t)head->step;
    const char *extension = hcb_picture_extension(channels);
    if (head->has_step)
        snprintf(end, room, "-%s%06" PRIu64 ".%s", head->step < 0 ? "-" : "", digits, extension);
    else
        snprintf(end, room, ".%s", extension);
    return 0;
}

void hcb_media_histogram(struct hcb_buf *lines, const struct hcb_line_head *head,
                         const char *numbers, size_t n)
{
    hcb_line_begin(lines, head);
    hcb_json_put_str(lines, "kind", "histogram");
    hcb_buf_char(lines, ',');
    hcb_buf_add(lines, numbers, n);
    hcb_line_end(lines);
}

void hcb_media_picture(struct hcb_buf *lines, const struct hcb_picture_line *p)
{
    char path[HCB_PICTURE_NAME + 300];
    snprintf(path, sizeof path, "artifacts/%s/%s", p->head.id, p->name);
    hcb_line_begin(lines, &p->head);
    hcb_json_put_str(lines, "kind", "image");
    hcb_json_put_str(lines, "path", path);
    hcb_json_put_int(lines, "width", p->width);
    hcb_json_put_int(lines, "height", p->height);
    hcb_json_put_int(lines, "channels", p->channels);
    hcb_line_end(lines);
}
