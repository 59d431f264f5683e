/* What looks like a slip of the hand in a script that loads: nothing that stops it. */
#ifndef HCB_REVIEW_H
#define HCB_REVIEW_H

#include "script/script.h"

#define HCB_REVIEW_MAX 50 /* warnings of one script; the rest is left out */

/* Lists of text; null where nothing was looked at. */
struct hcb_review {
    struct hcb_value hooks;    /* of those that hotcb calls, the ones it has */
    struct hcb_value warnings; /* "x.lua:12: sets the global 'n': ..." */
    struct hcb_value notes;    /* what may well be meant */
};

/* Of a script that was opened from this text. Calls none of its functions. *out is
 * zeroed before, and to be released in any case. Returns 0, or negative with *err. */
int hcb_script_review(struct hcb_script *s, const char *text, size_t n, struct hcb_review *out,
                      struct hcb_err *err);
void hcb_review_release(struct hcb_review *review);

#endif
