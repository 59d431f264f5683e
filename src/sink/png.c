/* The only door to libpng; see picture.h. Its errors are long jumps, which end here, and its
 * memory is asked of malloc here, so that all of it is given back after one. */
#include "sink/picture.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>

/* Scripts wait for it: on noise, where it is slowest, looking for runs alone takes a third
 * of the time that zlib's fastest search does, and what is flat or repeats row by row, as
 * diagnostics do, gets smaller by it (with the difference to the row above). */
#define LEVEL 1
#define RUNS_ONLY 3 /* zlib's Z_RLE */
#define CHUNK_BYTES (64 << 10)

struct writer {
    png_structp png;
    png_infop info;
    struct hcb_buf *out;
    struct hcb_err *err;
    int status;
    bool starved;
};

static png_voidp take(png_structp png, png_alloc_size_t n)
{
    struct writer *w = png_get_mem_ptr(png);
    void *p = malloc(n);
    w->starved |= !p;
    return p;
}

static void give_back(png_structp png, png_voidp p)
{
    (void)png;
    free(p);
}

static void on_error(png_structp png, png_const_charp text)
{
    struct writer *w = png_get_error_ptr(png);
    w->status = w->starved || w->out->oom ? hcb_fail_nomem(w->err)
                                          : hcb_fail(w->err, HOTCB_EFORMAT, "libpng: %s", text);
    png_longjmp(png, 1);
}

/* Without a function of ours it would print them. */
static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static void on_bytes(png_structp png, png_bytep bytes, size_t n)
{
    struct writer *w = png_get_io_ptr(png);
    hcb_buf_add(w->out, bytes, n);
    if (w->out->oom)
        png_error(png, "out of memory");
}

static void on_flush(png_structp png)
{
    (void)png;
}

static void write_head(struct writer *w, const struct hcb_picture *p)
{
    int type = p->channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB;
    png_set_write_fn(w->png, w, on_bytes, on_flush);
    png_set_IHDR(w->png, w->info, p->width, p->height, 8, type, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(w->png, LEVEL);
    png_set_compression_strategy(w->png, RUNS_ONLY);
    png_set_compression_buffer_size(w->png, CHUNK_BYTES);
    png_set_filter(w->png, PNG_FILTER_TYPE_BASE, PNG_FILTER_UP);
    png_write_info(w->png, w->info);
}

/* false: it was ended. */
static bool write_rows(struct writer *w, const struct hcb_picture *p, hcb_picture_stop_fn *stop,
                       void *user)
{
    size_t row_bytes = (size_t)p->width * p->channels, since = 0;
    for (unsigned y = 0; y < p->height; y++) {
        png_write_row(w->png, (png_const_bytep)p->pixels + y * row_bytes);
        since += row_bytes;
        if (since >= CHUNK_BYTES && stop(user))
            return false;
        since = since < CHUNK_BYTES ? since : 0;
    }
    return true;
}

/* What libpng jumps out of. */
static int write_all(struct writer *w, const struct hcb_picture *p, hcb_picture_stop_fn *stop,
                     void *user)
{
    if (setjmp(png_jmpbuf(w->png)))
        return w->status;
    w->info = png_create_info_struct(w->png);
    if (!w->info)
        return hcb_fail_nomem(w->err);
    write_head(w, p);
    if (!write_rows(w, p, stop, user))
        return hcb_fail(w->err, HOTCB_EREFUSED, "no time is left for a picture");
    png_write_end(w->png, w->info);
    return 0;
}

int hcb_png_encode(const struct hcb_picture *p, hcb_picture_stop_fn *stop, void *user,
                   struct hcb_buf *out, struct hcb_err *err)
{
    struct writer w = {.out = out, .err = err};
    w.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &w, on_error, on_warning, &w, take,
                                      give_back);
    if (!w.png && !w.starved)
        return hcb_fail(err, HOTCB_EFORMAT, "libpng is not the one that hotcb was built with");
    int status = w.png ? write_all(&w, p, stop, user) : hcb_fail_nomem(err);
    png_destroy_write_struct(&w.png, &w.info);
    return status;
}
