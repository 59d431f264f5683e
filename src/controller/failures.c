/* A ring of the distances between failed calls: there may be thousands of callbacks, each with
 * one, and what is a window or more away does not matter. */
#include "controller/failures.h"
#include <string.h>

void hcb_failures_clear(struct hcb_failures *f)
{
    memset(f, 0, sizeof *f);
}

int hcb_failures_add(struct hcb_failures *f, int64_t call)
{
    int64_t gap = call - f->last, ago = 0;
    int recent = 0;
    f->head = (unsigned char)((f->head + 1) % HCB_FAILURE_WINDOW);
    f->gaps[f->head] = (unsigned char)(gap < HCB_FAILURE_WINDOW ? gap : HCB_FAILURE_WINDOW);
    f->last = call;
    if (f->n < HCB_FAILURE_WINDOW)
        f->n++;
    for (int i = f->head; recent < f->n && ago < HCB_FAILURE_WINDOW; recent++) {
        ago += f->gaps[i];
        i = (i + HCB_FAILURE_WINDOW - 1) % HCB_FAILURE_WINDOW;
    }
    return recent;
}

bool hcb_worth_saying(int64_t repeats)
{
    while (repeats >= 10 && repeats % 10 == 0)
        repeats /= 10;
    return repeats == 1;
}
