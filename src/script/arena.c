/* One state's allocator; see arena.h. Places are counted in units of 16 bytes from the
 * start of the mapping, and unit 0 (where the arena itself lies) stands for none. */
#include "script/arena.h"
#include "base/platform.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define UNIT 16
#define HEADER 8
#define PARTS_LOG 3 /* eighths */
#define PARTS (1 << PARTS_LOG)
#define POWERS 29     /* of two, in units: 2^28 of them are 4 GiB */
#define QUICK 32      /* blocks below this many units are kept aside */
#define FREE 0x80000000u

struct block {
    uint32_t units;      /* FREE may be set in it */
    uint32_t before;     /* units of the block in front; 0: it is the first */
    uint32_t next, prev; /* in its list, of a free block; `next` also of one kept aside */
};

struct hcb_arena {
    uint32_t end; /* in units */
    uint32_t first;
    size_t cap, used, aside; /* bytes */
    uint32_t powers; /* which rows of `lists` have any */
    unsigned char parts[POWERS];
    uint32_t lists[POWERS][PARTS];
    uint32_t quick[QUICK];
};

static struct block *at(const struct hcb_arena *a, uint32_t place)
{
    return (struct block *)(void *)((char *)(uintptr_t)a + (size_t)place * UNIT + UNIT - HEADER);
}

static uint32_t place_of(const struct hcb_arena *a, const void *payload)
{
    return (uint32_t)(((size_t)((const char *)payload - (const char *)a)) / UNIT) - 1;
}

static void *payload_of(struct block *b)
{
    return (char *)b + HEADER;
}

static uint32_t size_of(const struct block *b)
{
    return b->units & ~FREE;
}

static int lowest(unsigned bits)
{
#ifdef __GNUC__
    return __builtin_ctz(bits);
#else
    int i = 0;
    while (!(bits >> i & 1))
        i++;
    return i;
#endif
}

static int highest(unsigned bits)
{
#ifdef __GNUC__
    return 31 - __builtin_clz(bits);
#else
    int i = 31;
    while (!(bits >> i & 1))
        i--;
    return i;
#endif
}

/* The list for blocks of this size: all in it are at least as large as its least. */
static void list_of(uint32_t units, int *power, int *part)
{
    int p = highest(units);
    *power = p;
    *part = p < PARTS_LOG ? (int)(units << (PARTS_LOG - p)) & (PARTS - 1)
                          : (int)(units >> (p - PARTS_LOG)) & (PARTS - 1);
}

static void put(struct hcb_arena *a, uint32_t place, uint32_t units)
{
    int power, part;
    list_of(units, &power, &part);
    struct block *b = at(a, place);
    uint32_t *head = &a->lists[power][part];
    b->units = units | FREE;
    b->prev = 0;
    b->next = *head;
    if (*head)
        at(a, *head)->prev = place;
    *head = place;
    a->powers |= 1u << power;
    a->parts[power] |= (unsigned char)(1u << part);
}

static void take_out(struct hcb_arena *a, uint32_t place)
{
    int power, part;
    struct block *b = at(a, place);
    list_of(size_of(b), &power, &part);
    if (b->next)
        at(a, b->next)->prev = b->prev;
    if (b->prev)
        at(a, b->prev)->next = b->next;
    else
        a->lists[power][part] = b->next;
    if (!a->lists[power][part])
        a->parts[power] &= (unsigned char)~(1u << part);
    if (!a->parts[power])
        a->powers &= ~(1u << power);
    b->units = size_of(b);
}

/* The block behind learns how large the one in front of it is. */
static void tell_next(struct hcb_arena *a, uint32_t place, uint32_t units)
{
    if (place + units < a->end)
        at(a, place + units)->before = units;
}

/* The first list from this one on that has any block; NULL: none has. */
static uint32_t *list_from(struct hcb_arena *a, int power, int part)
{
    unsigned parts = power < POWERS ? a->parts[power] & (~0u << part) : 0; /* part may be PARTS */
    if (!parts) {
        unsigned powers = power + 1 < POWERS ? a->powers & (~0u << (power + 1)) : 0;
        if (!powers)
            return NULL;
        power = lowest(powers);
        parts = a->parts[power];
    }
    return &a->lists[power][lowest(parts)];
}

#define TRIED 8

/* In the list of its own size some blocks may be large enough, and some not. */
static uint32_t find_close(const struct hcb_arena *a, uint32_t units, int power, int part)
{
    uint32_t place = power < POWERS ? a->lists[power][part] : 0;
    for (int i = 0; place && i < TRIED && size_of(at(a, place)) < units; i++)
        place = at(a, place)->next;
    return place && size_of(at(a, place)) >= units ? place : 0;
}

/* A free block of at least so many units, out of its list; 0: there is none. First one
 * of about that size, so that what was freed is used again, then a larger one. */
static uint32_t find(struct hcb_arena *a, uint32_t units)
{
    int power, part;
    list_of(units, &power, &part);
    uint32_t place = find_close(a, units, power, part);
    if (!place) {
        const uint32_t *larger = list_from(a, power, part + 1);
        place = larger ? *larger : 0;
    }
    if (place)
        take_out(a, place);
    return place;
}

/* The block at `place` keeps `units`; what is behind them becomes free. */
static void cut(struct hcb_arena *a, uint32_t place, uint32_t units)
{
    struct block *b = at(a, place);
    uint32_t rest = b->units - units;
    if (rest == 0)
        return;
    uint32_t behind = place + b->units;
    if (behind < a->end && at(a, behind)->units & FREE) {
        rest += size_of(at(a, behind));
        take_out(a, behind);
    }
    b->units = units;
    at(a, place + units)->before = units;
    put(a, place + units, rest);
    tell_next(a, place + units, rest);
}

static void merge(struct hcb_arena *a, uint32_t place)
{
    struct block *b = at(a, place);
    uint32_t units = b->units, behind = place + units;
    if (behind < a->end && at(a, behind)->units & FREE) {
        units += size_of(at(a, behind));
        take_out(a, behind);
    }
    if (b->before && at(a, place - b->before)->units & FREE) {
        place -= b->before;
        units += size_of(at(a, place));
        take_out(a, place);
    }
    put(a, place, units);
    tell_next(a, place, units);
}

/* What was kept aside is merged, and can serve any size. */
static bool merge_aside(struct hcb_arena *a)
{
    bool any = false;
    for (int i = 0; i < QUICK; i++)
        while (a->quick[i]) {
            uint32_t place = a->quick[i];
            a->quick[i] = at(a, place)->next;
            merge(a, place);
            any = true;
        }
    a->aside = 0;
    return any;
}

static uint32_t units_for(size_t size)
{
    return (uint32_t)((size + HEADER + UNIT - 1) / UNIT);
}

static void *allocate(struct hcb_arena *a, size_t size)
{
    if (size >= a->cap)
        return NULL;
    uint32_t units = units_for(size), place;
    if (units < QUICK && a->quick[units]) {
        place = a->quick[units];
        a->quick[units] = at(a, place)->next;
        a->aside -= (size_t)units * UNIT;
    } else {
        place = find(a, units);
        if (!place && merge_aside(a))
            place = find(a, units);
        if (!place)
            return NULL;
        cut(a, place, units);
    }
    a->used += (size_t)units * UNIT;
    return payload_of(at(a, place));
}

static void release(struct hcb_arena *a, void *p)
{
    uint32_t place = place_of(a, p);
    struct block *b = at(a, place);
    a->used -= (size_t)b->units * UNIT;
    if (b->units >= QUICK) {
        merge(a, place);
        return;
    }
    b->next = a->quick[b->units];
    a->quick[b->units] = place;
    a->aside += (size_t)b->units * UNIT;
}

/* Makes the block larger where it is, if what is behind it is free. */
static bool extend(struct hcb_arena *a, uint32_t place, uint32_t units)
{
    struct block *b = at(a, place);
    uint32_t behind = place + b->units;
    if (behind >= a->end || !(at(a, behind)->units & FREE) ||
        b->units + size_of(at(a, behind)) < units)
        return false;
    b->units += size_of(at(a, behind));
    take_out(a, behind);
    tell_next(a, place, b->units);
    cut(a, place, units);
    return true;
}

static void *resize(struct hcb_arena *a, void *p, size_t old, size_t size)
{
    uint32_t place = place_of(a, p), had = at(a, place)->units;
    if (size >= a->cap)
        return NULL;
    uint32_t units = units_for(size);
    if (units <= had)
        cut(a, place, units);
    if (units <= had || extend(a, place, units)) {
        a->used = a->used - (size_t)had * UNIT + (size_t)units * UNIT;
        return p;
    }
    void *q = allocate(a, size);
    if (q) {
        memcpy(q, p, old < size ? old : size);
        release(a, p);
    }
    return q;
}

void *hcb_arena_alloc(void *arena, void *p, size_t old, size_t size)
{
    if (size == 0) {
        if (p)
            release(arena, p);
        return NULL;
    }
    return p ? resize(arena, p, old, size) : allocate(arena, size);
}

struct hcb_arena *hcb_arena_open(size_t cap)
{
    struct hcb_arena *a = hcb_platform_map(cap);
    if (!a)
        return NULL;
    a->cap = cap;
    a->first = (uint32_t)((sizeof *a + UNIT - 1) / UNIT);
    a->end = (uint32_t)(cap / UNIT) - 1; /* payloads begin half a unit on */
    put(a, a->first, a->end - a->first);
    return a;
}

void hcb_arena_close(struct hcb_arena *a)
{
    if (a)
        hcb_platform_unmap(a, a->cap);
}

/* The largest free block is where memory was taken last. */
void hcb_arena_trim(struct hcb_arena *a)
{
    merge_aside(a);
    if (!a->powers)
        return;
    int power = highest(a->powers);
    uint32_t place = a->lists[power][highest(a->parts[power])];
    hcb_platform_discard(at(a, place) + 1, (size_t)(size_of(at(a, place)) - 1) * UNIT);
}

size_t hcb_arena_used(const struct hcb_arena *a)
{
    return a->used;
}

size_t hcb_arena_cap(const struct hcb_arena *a)
{
    return a->cap;
}

static size_t listed(const struct hcb_arena *a)
{
    size_t n = 0;
    for (int i = 0; i < POWERS; i++)
        for (int j = 0; j < PARTS; j++)
            for (uint32_t p = a->lists[i][j]; p; p = at(a, p)->next)
                n += size_of(at(a, p));
    return n;
}

int hcb_arena_check(const struct hcb_arena *a)
{
    uint32_t before = 0;
    size_t free_units = 0, taken = 0;
    bool was_free = false;
    for (uint32_t p = a->first; p < a->end; p += before) {
        const struct block *b = at(a, p);
        bool is_free = b->units & FREE;
        if (size_of(b) == 0 || b->before != before || (is_free && was_free))
            return 0;
        before = size_of(b);
        was_free = is_free;
        *(is_free ? &free_units : &taken) += before;
        if (p + before > a->end)
            return 0;
    }
    return free_units == listed(a) && taken * UNIT == a->used + a->aside;
}
