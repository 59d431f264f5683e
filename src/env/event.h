/* Event names: the canonical ones, the other names for them, and a host's own. */
#ifndef HCB_EVENT_H
#define HCB_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define HCB_EVENTS(X)                 \
    X(HCB_FIT_START, "fit_start")     \
    X(HCB_GRADS_READY, "grads_ready") \
    X(HCB_TRAIN_STEP_END, "train_step_end") \
    X(HCB_VAL_STEP_END, "val_step_end") \
    X(HCB_EPOCH_END, "epoch_end")     \
    X(HCB_EVAL_END, "eval_end")       \
    X(HCB_CHECKPOINT, "checkpoint")   \
    X(HCB_EXCEPTION, "exception")     \
    X(HCB_FIT_END, "fit_end")

enum hcb_event_id {
#define HCB_EVENT_ENUM(id, name) id,
    HCB_EVENTS(HCB_EVENT_ENUM)
#undef HCB_EVENT_ENUM
    HCB_EVENT_CANONICAL /* ids from here on are a host's own events */
};

#define HCB_EVENT_MAX 64      /* kinds of event in one run, the canonical ones included */
#define HCB_EVENT_WANTED_MAX 32 /* so many of them at most for scripts that wait for them */
#define HCB_EVENT_NAME_MAX 63 /* bytes of a name */

#define HCB_EVENT_RECENT 8 /* names that are found again without a search */

/* A name as the host gave it. */
struct hcb_event_name {
    const char *constant; /* where it is, if what is there can never change; else NULL */
    char text[HCB_EVENT_NAME_MAX + 1];
    int id;
};

/* The table of one run: names get small numbers, the first time they are seen. */
struct hcb_events {
    char names[HCB_EVENT_MAX][HCB_EVENT_NAME_MAX + 1];
    bool seen[HCB_EVENT_MAX]; /* the host has emitted it */
    int n;
    struct hcb_event_name recent[HCB_EVENT_RECENT]; /* by where the host keeps the name */
    uintptr_t constants_low, constants_high; /* of the program */
};

void hcb_events_init(struct hcb_events *e);

/* The id of a name, aliases resolved: train_batch_end and step_end are
 * train_step_end, val_batch_end is val_step_end, train_begin is fit_start,
 * train_end is fit_end. -1: no room for another event, or no fit name. */
int hcb_event_id(struct hcb_events *e, const char *name);

/* Where such a name is kept, whether or not it is. */
static inline struct hcb_event_name *hcb_event_place(struct hcb_events *e, const char *name)
{
    return &e->recent[(uintptr_t)name / 8 % HCB_EVENT_RECENT];
}

/* The id of a name that came lately; -1: it has to be searched for. */
static inline int hcb_event_recent(struct hcb_events *e, const char *name)
{
    const struct hcb_event_name *r = hcb_event_place(e, name);
    if (r->constant == name)
        return r->id;
    return *name && strcmp(r->text, name) == 0 ? r->id : -1;
}

/* The same for a name that a script lists. Scripts cannot use up the room that the
 * host needs for events of its own. */
int hcb_event_wanted(struct hcb_events *e, const char *name);

/* Whether it is a canonical name or one of the other names for them; and which of
 * those may be meant by it, or NULL. */
bool hcb_event_known(const char *name);
const char *hcb_event_near(const char *name);

#endif
