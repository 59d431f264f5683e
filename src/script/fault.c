/* Faults: texts of any origin become printable and are cut to their storage. */
#include "script/fault.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

const char *hcb_reason_name(enum hcb_reason reason)
{
    switch (reason) {
#define HCB_REASON_CASE(r, name) case r: return name;
        HCB_REASONS(HCB_REASON_CASE)
#undef HCB_REASON_CASE
    case HCB_FINE: break;
    }
    return "";
}

/* Writes one character of s in printable form to out and returns its length; *used
 * says how many bytes of s that was. Newlines stay where lines are wanted. */
static size_t put_printable(char out[8], const char *s, size_t n, bool lines, size_t *used)
{
    unsigned char c = (unsigned char)*s;
    size_t len = hcb_utf8_len(s, n);
    *used = len ? len : 1;
    if (c == '\n' && !lines)
        return (size_t)snprintf(out, 8, "\\n");
    if (c == '\t')
        return (size_t)snprintf(out, 8, lines ? "  " : " ");
    if (len > 1 && !hcb_text_is_printable(s, len)) /* C1 controls, what turns the writing */
        return (size_t)snprintf(out, 8, "\\u%04x", (unsigned)hcb_utf8_code(s, len));
    if (len == 0 || (c < 0x20 && c != '\n') || c == 0x7f)
        return (size_t)snprintf(out, 8, "\\x%02x", c);
    memcpy(out, s, len);
    return len;
}

static void fill(char *out, size_t size, const char *s, size_t n, bool lines)
{
    size_t at = 0, i = 0;
    while (i < n) {
        char piece[8];
        size_t used, len = put_printable(piece, s + i, n - i, lines, &used);
        if (at + len + sizeof "..." > size) {
            memcpy(out + at, "...", 3);
            at += 3;
            break;
        }
        memcpy(out + at, piece, len);
        at += len;
        i += used;
    }
    out[at] = '\0';
}

bool hcb_fault_has_place(const char *text)
{
    for (const char *s = strchr(text, ':'); s; s = strchr(s + 1, ':')) {
        size_t digits = strspn(s + 1, "0123456789");
        if (digits > 0 && s[1 + digits] == ':')
            return true;
    }
    return false;
}

void hcb_fault_message(struct hcb_fault *f, const char *text, size_t n)
{
    fill(f->message, sizeof f->message, text, n, false);
}

void hcb_fault_traceback(struct hcb_fault *f, const char *text, size_t n)
{
    fill(f->traceback, sizeof f->traceback, text, n, true);
}

int hcb_fault_set(struct hcb_fault *f, enum hcb_reason reason, const char *fmt, ...)
{
    char text[sizeof f->message];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    f->reason = reason;
    f->traceback[0] = '\0';
    hcb_fault_message(f, text, strlen(text));
    return -1;
}
