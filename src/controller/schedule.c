/* Crossed multiples, in int64 throughout. */
#include "controller/schedule.h"

/* Next is the smallest multiple of every (> 0) above step. */
static void count_from(struct hcb_schedule *s, int64_t every, int64_t step)
{
    int64_t rest = step % every;
    int64_t up = rest < 0 ? -rest : every - rest;
    s->counting = true;
    s->ended = step > INT64_MAX - up;
    s->next = s->ended ? INT64_MAX : step + up;
}

bool hcb_schedule_due(struct hcb_schedule *s, int64_t every, int64_t step, bool backwards)
{
    if (every <= 0)
        return false;
    bool first = !s->counting || backwards;
    if (!first && (s->ended || step < s->next))
        return false;
    count_from(s, every, step);
    return !first || step % every == 0;
}

void hcb_schedule_change(struct hcb_schedule *s, int64_t every, int64_t last)
{
    if (s->counting && every > 0)
        count_from(s, every, last);
}
