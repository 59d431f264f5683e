/* A growing byte string. Low level: knows nothing of what it holds.
 *
 * Failure to allocate is sticky: the buffer then ignores what is added, and
 * `oom` says so, so that a caller builds a text first and checks once. */
#ifndef HCB_BUF_H
#define HCB_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct hcb_buf {
    char *data; /* ends in a NUL that len does not count; NULL while nothing was added */
    size_t len, cap;
    bool oom;
};

#if defined(__GNUC__)
#define HCB_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define HCB_PRINTF(fmt, args)
#endif

void hcb_buf_release(struct hcb_buf *b); /* frees, and leaves an empty buffer */
void hcb_buf_reset(struct hcb_buf *b);   /* empties it, and keeps its memory */
bool hcb_buf_grow(struct hcb_buf *b, size_t extra); /* of reserve() alone */
static inline bool hcb_buf_reserve(struct hcb_buf *b, size_t extra)
{
    return !b->oom && extra < b->cap - b->len ? true : hcb_buf_grow(b, extra);
}

static inline void hcb_buf_add(struct hcb_buf *b, const void *bytes, size_t n)
{
    if (!hcb_buf_reserve(b, n))
        return;
    if (n > 0)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
}

static inline void hcb_buf_str(struct hcb_buf *b, const char *s)
{
    hcb_buf_add(b, s, strlen(s));
}

static inline void hcb_buf_char(struct hcb_buf *b, char c)
{
    if (!hcb_buf_reserve(b, 1))
        return;
    b->data[b->len++] = c;
    b->data[b->len] = '\0';
}
void hcb_buf_printf(struct hcb_buf *b, const char *fmt, ...) HCB_PRINTF(2, 3);
void hcb_buf_vprintf(struct hcb_buf *b, const char *fmt, va_list ap);

const char *hcb_buf_text(const struct hcb_buf *b); /* never NULL */
char *hcb_buf_take(struct hcb_buf *b);             /* yours to free; NULL if oom */

#endif
