/* The scripts that are built into the library, as text. */
#ifndef HCB_SHIPPED_H
#define HCB_SHIPPED_H

#include <stddef.h>

struct hcb_shipped {
    const char *module; /* "hotcb.callbacks.heartbeat" */
    const char *text;   /* ends in a NUL that n does not count */
    size_t n;
};

extern const struct hcb_shipped hcb_shipped[]; /* ends with a NULL module */

const struct hcb_shipped *hcb_shipped_find(const char *module); /* NULL: none of that name */

#endif
