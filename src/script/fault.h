/* What went wrong inside a script, in storage of the caller's. */
#ifndef HCB_FAULT_H
#define HCB_FAULT_H

#include "base/buf.h"
#include <stddef.h>

/* The names are what ledger and status show as the reason. */
#define HCB_REASONS(X)                                                  \
    X(HCB_RUNTIME, "runtime") /* the script raised an error */          \
    X(HCB_BUDGET, "budget")   /* it used up its CPU time */             \
    X(HCB_MEMORY, "memory")   /* it wanted more than its memory */      \
    X(HCB_SYNTAX, "syntax")   /* it does not compile */                 \
    X(HCB_FILE, "file")       /* its file cannot be used */

enum hcb_reason {
    HCB_FINE = 0,
#define HCB_REASON_ENUM(reason, name) reason,
    HCB_REASONS(HCB_REASON_ENUM)
#undef HCB_REASON_ENUM
};

struct hcb_fault {
    enum hcb_reason reason;
    char message[1024];   /* "path:line: text", printable, one line */
    char traceback[2048]; /* several lines, or "" */
};

const char *hcb_reason_name(enum hcb_reason reason); /* "" for HCB_FINE */

/* "...:12: ..." somewhere in it. */
bool hcb_fault_has_place(const char *text);

static inline void hcb_fault_clear(struct hcb_fault *f)
{
    f->reason = HCB_FINE;
    f->message[0] = f->traceback[0] = '\0';
}

/* Sets reason and message; returns -1, for `return hcb_fault_set(...)`. */
int hcb_fault_set(struct hcb_fault *f, enum hcb_reason reason, const char *fmt, ...)
    HCB_PRINTF(3, 4);
/* The same from bytes of any content, made printable and cut. */
void hcb_fault_message(struct hcb_fault *f, const char *text, size_t n);
void hcb_fault_traceback(struct hcb_fault *f, const char *text, size_t n);

#endif
