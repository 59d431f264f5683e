/* What public functions work within: their thread is not cancelled amid them, and numbers are
 * worked on in our own environment. They nest. A dispatch, where each system call would show,
 * holds off a cancellation only where it does more than run scripts. */
#ifndef HCB_ENTRY_H
#define HCB_ENTRY_H

#include "base/platform.h"
#include "stats/fp.h"

/* What hcb_leave() is to be given. */
static inline int hcb_enter(void)
{
    int was = hcb_platform_hold_cancel();
    hcb_fp_enter();
    return was;
}

static inline void hcb_leave(int was)
{
    hcb_fp_leave();
    hcb_platform_release_cancel(was);
}

#endif
