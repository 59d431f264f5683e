/* A ring of the numbers of failed calls. */
#include "controller/failures.h"
#include <string.h>

void hcb_failures_clear(struct hcb_failures *f)
{
    memset(f, 0, sizeof *f);
}

int hcb_failures_add(struct hcb_failures *f, int64_t call)
{
    int recent = 0;
    f->at[f->head] = call;
    f->head = (f->head + 1) % HCB_FAILURE_WINDOW;
    if (f->n < HCB_FAILURE_WINDOW)
        f->n++;
    for (int i = 0; i < f->n; i++)
        recent += call - f->at[i] < HCB_FAILURE_WINDOW;
    return recent;
}

bool hcb_worth_saying(int64_t repeats)
{
    while (repeats >= 10 && repeats % 10 == 0)
        repeats /= 10;
    return repeats == 1;
}
