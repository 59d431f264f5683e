/* A growing byte string; see buf.h. Low level: it may use nothing but libc, and
 * must not know what the bytes mean. */
#include "base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 64

void hcb_buf_release(struct hcb_buf *b)
{
    free(b->data);
    *b = (struct hcb_buf){0};
}

void hcb_buf_reset(struct hcb_buf *b)
{
    b->len = 0;
    b->oom = false;
    if (b->data)
        b->data[0] = '\0';
}

bool hcb_buf_grow(struct hcb_buf *b, size_t extra)
{
    if (b->oom)
        return false;
    if (extra > SIZE_MAX / 2 - b->len - 1) {
        b->oom = true;
        return false;
    }
    size_t need = b->len + extra + 1;
    size_t cap = b->cap ? b->cap : FIRST_CAP;
    while (cap < need)
        cap *= 2;
    char *data = realloc(b->data, cap);
    if (!data) {
        b->oom = true;
        return false;
    }
    if (!b->data)
        data[0] = '\0';
    b->data = data;
    b->cap = cap;
    return true;
}

void hcb_buf_printf(struct hcb_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    hcb_buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void hcb_buf_vprintf(struct hcb_buf *b, const char *fmt, va_list ap)
{
    if (!hcb_buf_reserve(b, 1))
        return;
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(b->data + b->len, b->cap - b->len, fmt, ap);
    if (n < 0) {
        b->oom = true;
    } else if ((size_t)n < b->cap - b->len) {
        b->len += (size_t)n;
    } else if (hcb_buf_reserve(b, (size_t)n)) {
        vsnprintf(b->data + b->len, b->cap - b->len, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
    b->data[b->len] = '\0';
}

const char *hcb_buf_text(const struct hcb_buf *b)
{
    return b->data ? b->data : "";
}

char *hcb_buf_take(struct hcb_buf *b)
{
    char *data = NULL;
    if (hcb_buf_reserve(b, 0)) {
        data = b->data;
        b->data = NULL;
    }
    hcb_buf_release(b);
    return data;
}
