/* A look at the files of all callbacks: in rounds, which one look may leave to the next, and in
 * turn where the notice tells of changes, for what it does not tell of. */
#include "controller/run.h"

#define TURN_NS INT64_C(1000000000) /* in which each callback has its turn, */
#define TURN_MOST 64                /* but no more of them a look */
#define LOADS_LEFT 2                /* to hotcb.yaml and the commands: one each */

static void said(void *user, const struct hcb_op *op, const struct hcb_outcome *outcome)
{
    hcb_record(user, op, outcome);
}

/* What stat says nothing new of is compared again as far as the allowance goes; where it ended
 * last time, it begins. */
static int check(struct hotcb *h, size_t i)
{
    struct hcb_rounds *r = &h->rounds;
    struct hcb_glance *glance = &h->registry.world.glance;
    bool may = i >= r->again_at && r->again > 0;
    glance->again = may ? r->again : 0;
    int n = hcb_registry_check_files(&h->registry, i, said, h);
    if (may)
        r->again = glance->again;
    if (may && r->again <= 0)
        r->again_at = i + 1;
    return n;
}

static int go_round(struct hotcb *h)
{
    struct hcb_rounds *r = &h->rounds;
    struct hcb_glance *glance = &h->registry.world.glance;
    uint64_t count = hcb_notice_count(h->notice);
    size_t i = r->cut ? r->at : 0;
    bool whole = !r->cut;
    int n = 0;
    r->again = hcb_again_more(r->again);
    for (; i < h->registry.n && hcb_can_answer(h, 2); i += !glance->later) {
        n += check(h, i);
        if (glance->later)
            break;
    }
    whole = whole && i >= h->registry.n;
    r->cut = glance->later;
    r->at = i;
    r->count = whole ? count : 0;
    if (r->again > 0)
        r->again_at = 0;
    return n;
}

/* Who would be told of is looked at all the same, now and then. */
static int take_turns(struct hotcb *h)
{
    struct hcb_rounds *r = &h->rounds;
    struct hcb_glance *glance = &h->registry.world.glance;
    int64_t callbacks = (int64_t)h->registry.n, waited = glance->now_ns - r->turn_ns;
    int64_t due = waited < TURN_NS ? callbacks * waited / TURN_NS : callbacks;
    int n = 0;
    if (due == 0 && callbacks > 0)
        return 0;
    r->turn_ns = glance->now_ns;
    glance->by_stat = true;
    glance->again = 0;
    for (int i = 0; i < due && i < TURN_MOST && !glance->later && hcb_can_answer(h, 2); i++) {
        r->turn_at = r->turn_at < h->registry.n ? r->turn_at : 0;
        n += hcb_registry_check_files(&h->registry, r->turn_at++, said, h);
    }
    glance->by_stat = false;
    return n;
}

int hcb_look_scripts(struct hotcb *h)
{
    struct hcb_rounds *r = &h->rounds;
    struct hcb_world *w = &h->registry.world;
    uint64_t count = hcb_notice_count(h->notice);
    int n = 0;
    w->loads -= LOADS_LEFT;
    if (r->cut || count == 0 || count != r->count)
        n += go_round(h);
    if (!r->cut && count > 0)
        n += take_turns(h);
    w->loads += LOADS_LEFT;
    h->more |= w->glance.later;
    w->glance.later = false;
    return n;
}
