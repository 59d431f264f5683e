/* Pixels as the bytes of a file: PNG, or PGM and PPM where hotcb is built without libpng. */
#ifndef HCB_PICTURE_H
#define HCB_PICTURE_H

#include "base/err.h"

#define HCB_PICTURE_SIDE 65535
#define HCB_PICTURE_BYTES (1 << 20) /* of pixels */

struct hcb_picture {
    const char *pixels;     /* row by row from the top, no gaps */
    unsigned width, height; /* 1 to HCB_PICTURE_SIDE */
    unsigned channels;      /* a byte each: 1 is grey; 3 red, green, blue */
};

/* Is asked while a picture is encoded, every 64 KiB or so: true ends it. */
typedef bool hcb_picture_stop_fn(void *user);

const char *hcb_picture_extension(unsigned channels); /* "png", or "pgm" and "ppm" */

/* Appends the file's bytes. On failure there may be some, too. EREFUSED: it was ended. */
int hcb_picture_encode(const struct hcb_picture *p, hcb_picture_stop_fn *stop, void *user,
                       struct hcb_buf *out, struct hcb_err *err);

/* png.c, where that is built. */
int hcb_png_encode(const struct hcb_picture *p, hcb_picture_stop_fn *stop, void *user,
                   struct hcb_buf *out, struct hcb_err *err);

#endif
