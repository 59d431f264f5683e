/* A failure: a number of enum hotcb_error and a finished sentence, in storage of
 * the caller's, so that saying "out of memory" needs none. */
#ifndef HCB_ERR_H
#define HCB_ERR_H

#include "base/buf.h"
#include <hotcb/hotcb.h>

struct hcb_err {
    int code; /* 0 or negative */
    char text[1024];
};

/* Fills *err (NULL is fine) and returns `code`, for `return hcb_fail(...)`. The text
 * becomes one printable line; if it is too long, it is cut at a character and ends in
 * "...". */
int hcb_fail(struct hcb_err *err, int code, const char *fmt, ...) HCB_PRINTF(3, 4);

/* For the failure of a system call: "cannot <what>: <strerror>", code by errno. */
int hcb_fail_errno(struct hcb_err *err, const char *fmt, ...) HCB_PRINTF(2, 3);

int hcb_fail_nomem(struct hcb_err *err);

#endif
