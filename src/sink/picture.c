/* Which form a picture's file has, and those that need no library; see picture.h. Knows
 * nothing of where the file goes. */
#include "sink/picture.h"

const char *hcb_picture_extension(unsigned channels)
{
#ifdef HOTCB_PNG
    (void)channels;
    return "png";
#else
    return channels == 1 ? "pgm" : "ppm";
#endif
}

#ifdef HOTCB_PNG

int hcb_picture_encode(const struct hcb_picture *p, hcb_picture_stop_fn *stop, void *user,
                       struct hcb_buf *out, struct hcb_err *err)
{
    return hcb_png_encode(p, stop, user, out, err);
}

#else

/* A copy of a MiB takes no time that would be worth asking. */
int hcb_picture_encode(const struct hcb_picture *p, hcb_picture_stop_fn *stop, void *user,
                       struct hcb_buf *out, struct hcb_err *err)
{
    (void)stop;
    (void)user;
    hcb_buf_printf(out, "P%d\n%u %u\n255\n", p->channels == 1 ? 5 : 6, p->width, p->height);
    hcb_buf_add(out, p->pixels, (size_t)p->width * p->height * p->channels);
    return out->oom ? hcb_fail_nomem(err) : 0;
}

#endif
