/* Event names and their numbers; see event.h. Must not know what an event is for. */
#include "env/event.h"

#include "base/platform.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

struct alias {
    const char *name;
    enum hcb_event_id id;
};

static const struct alias aliases[] = {
    {"train_batch_end", HCB_TRAIN_STEP_END},
    {"step_end", HCB_TRAIN_STEP_END},
    {"val_batch_end", HCB_VAL_STEP_END},
    {"train_begin", HCB_FIT_START},
    {"train_end", HCB_FIT_END},
};

static const char *const canonical[] = {
#define EVENT_NAME(id, name) name,
    HCB_EVENTS(EVENT_NAME)
#undef EVENT_NAME
};

#define ALIASES (sizeof(aliases) / sizeof(aliases[0]))

void hcb_events_init(struct hcb_events *e)
{
    memset(e, 0, sizeof(*e));
    e->n = HCB_EVENT_CANONICAL;
    for (int i = 0; i < e->n; i++)
        memcpy(e->names[i], canonical[i], strlen(canonical[i]) + 1);
    hcb_platform_constants(&e->constants_low, &e->constants_high);
}

static void remember(struct hcb_events *e, const char *name, int id)
{
    struct hcb_event_name *r = hcb_event_place(e, name);
    uintptr_t place = (uintptr_t)name;
    snprintf(r->text, sizeof(r->text), "%s", name);
    r->id = id;
    r->constant = place >= e->constants_low && place < e->constants_high ? name : NULL;
}

/* A name goes into messages, logs and JSON: it is one printable word. */
static bool is_fit(const char *name, size_t n)
{
    if (n == 0 || n > HCB_EVENT_NAME_MAX || !hcb_utf8_valid(name, n))
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f)
            return false;
    return true;
}

static int add(struct hcb_events *e, const char *name, int max)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < ALIASES; i++)
        if (strcmp(aliases[i].name, name) == 0)
            return (int)aliases[i].id;
    if (e->n >= max || !is_fit(name, n))
        return -1;
    memcpy(e->names[e->n], name, n + 1);
    return e->n++;
}

static int find_or_add(struct hcb_events *e, const char *name, int max)
{
    if (!name)
        return -1;
    for (int i = 0; i < e->n; i++)
        if (strcmp(e->names[i], name) == 0)
            return i;
    return add(e, name, max);
}

/* Most hosts give the same few texts, from the same places. */
int hcb_event_id(struct hcb_events *e, const char *name)
{
    int id = name ? hcb_event_recent(e, name) : -1;
    if (id >= 0)
        return id;
    id = find_or_add(e, name, HCB_EVENT_MAX);
    if (id >= 0)
        remember(e, name, id);
    return id;
}

int hcb_event_wanted(struct hcb_events *e, const char *name)
{
    return find_or_add(e, name, HCB_EVENT_WANTED_MAX);
}

/* All the names that hotcb knows. */
static void known_names(const char *names[HCB_EVENT_CANONICAL + ALIASES])
{
    for (size_t i = 0; i < HCB_EVENT_CANONICAL; i++)
        names[i] = canonical[i];
    for (size_t i = 0; i < ALIASES; i++)
        names[HCB_EVENT_CANONICAL + i] = aliases[i].name;
}

bool hcb_event_known(const char *name)
{
    const char *names[HCB_EVENT_CANONICAL + ALIASES];
    known_names(names);
    for (size_t i = 0; i < HCB_EVENT_CANONICAL + ALIASES; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

const char *hcb_event_near(const char *name)
{
    const char *names[HCB_EVENT_CANONICAL + ALIASES];
    known_names(names);
    return hcb_near(name, names, HCB_EVENT_CANONICAL + ALIASES);
}
