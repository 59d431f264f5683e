/* Failures as a number and a sentence; see err.h. Allocates nothing, and must
 * not know who reads the sentence. */
#include "base/err.h"

#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Names, files and scripts bring bytes into a sentence that a terminal would obey, and
 * somebody will print it. The usual one has none, and needs no memory. */
static void make_printable(char *text, size_t size)
{
    struct hcb_buf safe = {0};
    hcb_text_printable(&safe, text, strlen(text));
    if (safe.oom) {
        for (char *c = text; *c; c++)
            *c = *c >= ' ' && *c < 0x7f ? *c : '?'; /* ASCII has to do */
    } else if (safe.len < size) {
        memcpy(text, safe.data, safe.len + 1);
    } else {
        size_t cut = hcb_utf8_cut(safe.data, size - sizeof("..."));
        memcpy(text, safe.data, cut);
        memcpy(text + cut, "...", sizeof("..."));
    }
    hcb_buf_release(&safe);
}

/* The text may be made of the old text of the same err, so it is built beside it. */
static int fail(struct hcb_err *err, int code, const char *tail, const char *fmt, va_list ap)
{
    char text[sizeof(err->text)];
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    if (n < 0)
        n = snprintf(text, sizeof(text), "a message that could not be formatted");
    if (tail && (size_t)n < sizeof(text))
        n += snprintf(text + n, sizeof(text) - (size_t)n, ": %s", tail);
    if ((size_t)n >= sizeof(text)) {
        size_t cut = hcb_utf8_cut(text, sizeof(text) - sizeof("..."));
        memcpy(text + cut, "...", sizeof("..."));
    }
    if (!hcb_text_is_printable(text, strlen(text)))
        make_printable(text, sizeof(text));
    err->code = code;
    memcpy(err->text, text, sizeof(text));
    return code;
}

int hcb_fail(struct hcb_err *err, int code, const char *fmt, ...)
{
    if (!err)
        return code;
    va_list ap;
    va_start(ap, fmt);
    fail(err, code, NULL, fmt, ap);
    va_end(ap);
    return code;
}

static int code_of_errno(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR:
        return HOTCB_ENOENT;
    case ENOMEM:
        return HOTCB_ENOMEM;
    default:
        return HOTCB_EIO;
    }
}

int hcb_fail_errno(struct hcb_err *err, const char *fmt, ...)
{
    int number = errno;
    int code = code_of_errno(number);
    if (!err)
        return code;
    char what[sizeof(err->text) / 2];
    snprintf(what, sizeof(what), "cannot %s", fmt);
    va_list ap;
    va_start(ap, fmt);
    fail(err, code, strerror(number), what, ap);
    va_end(ap);
    return code;
}

int hcb_fail_nomem(struct hcb_err *err)
{
    return hcb_fail(err, HOTCB_ENOMEM, "out of memory");
}
