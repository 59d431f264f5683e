/* One state's allocator; see arena.h. Places are counted in units of 8 bytes from the start
 * of the first part, and unit 0 (where the arena itself lies) stands for none. From `split` on
 * they are in the second part, which is elsewhere; no block goes from one into the other. */
#include "script/arena.h"
#include "base/platform.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define UNIT 8
#define HEADER 4
#define LEAST 2      /* units: a free block's header, links and footer */
#define PARTS_LOG 3  /* eighths */
#define PARTS (1 << PARTS_LOG)
#define POWERS 30    /* of two, in units: 2^29 of them are 4 GiB */
#define QUICK 64     /* blocks below this many units are kept aside */
#define FREE 0x80000000u
#define FREE_BEFORE 0x40000000u /* the block in front is free, and says its size at its end */
#define UNITS 0x3fffffffu
#define TRIM_POWER 10 /* blocks of so many units (2^10: 8 KiB) have pages to give back */

struct block {
    uint32_t head;       /* units, and flags */
    uint32_t next, prev; /* in its list, of a free block; `next` also of one kept aside */
};

struct hcb_arena {
    uint32_t end; /* in units */
    uint32_t split; /* or `end`, as long as the second part is not begun */
    uint32_t first;
    ptrdiff_t gap; /* bytes by which the second part is further than it would be behind the first */
    size_t cap, used, aside; /* bytes */
    struct hcb_pool *pool; /* of the first part; NULL: it is all */
    char *more;            /* the second part */
    uint32_t powers; /* which rows of `lists` have any */
    unsigned char parts[POWERS];
    uint32_t lists[POWERS][PARTS];
    uint32_t quick[QUICK];
};

static struct block *at(const struct hcb_arena *a, uint32_t place)
{
    uintptr_t gap = place < a->split ? 0 : (uintptr_t)a->gap;
    return (struct block *)((uintptr_t)a + gap + (uintptr_t)place * UNIT + UNIT - HEADER);
}

static uint32_t place_of(const struct hcb_arena *a, const void *payload)
{
    uintptr_t bytes = (uintptr_t)payload - (uintptr_t)a;
    if (bytes > (uintptr_t)a->split * UNIT)
        bytes -= (uintptr_t)a->gap;
    return (uint32_t)(bytes / UNIT) - 1;
}

/* What begins here has no neighbour in front of it. */
static bool is_edge(const struct hcb_arena *a, uint32_t place)
{
    return place == a->split || place == a->end;
}

static void *payload_of(struct block *b)
{
    return (char *)b + HEADER;
}

static uint32_t size_of(const struct block *b)
{
    return b->head & UNITS;
}

static void set_size(struct block *b, uint32_t units)
{
    b->head = (b->head & FREE_BEFORE) | units;
}

/* The last word of the block in front of the place. */
static uint32_t *footer_before(const struct hcb_arena *a, uint32_t place)
{
    return (uint32_t *)(void *)at(a, place) - 1;
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

/* A free block has no free neighbours. */
static void put(struct hcb_arena *a, uint32_t place, uint32_t units)
{
    int power, part;
    list_of(units, &power, &part);
    struct block *b = at(a, place);
    uint32_t *head = &a->lists[power][part];
    b->head = units | FREE;
    b->prev = 0;
    b->next = *head;
    if (*head)
        at(a, *head)->prev = place;
    *head = place;
    a->powers |= 1u << power;
    a->parts[power] |= (unsigned char)(1u << part);
    if (is_edge(a, place + units))
        return;
    *footer_before(a, place + units) = units;
    at(a, place + units)->head |= FREE_BEFORE;
}

static void take_out(struct hcb_arena *a, uint32_t place)
{
    int power, part;
    struct block *b = at(a, place);
    uint32_t units = size_of(b);
    list_of(units, &power, &part);
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
    b->head = units;
    if (!is_edge(a, place + units))
        at(a, place + units)->head &= ~FREE_BEFORE;
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

/* Headers end where a unit does, so that the last one of a part is left out. */
static uint32_t units_of(size_t bytes)
{
    return (uint32_t)(bytes / UNIT) - 1;
}

static size_t more_bytes(size_t cap)
{
    return cap - HCB_POOL_SLOT;
}

/* Even an empty block takes memory, of most states the only one that it would. */
static bool begin_more(struct hcb_arena *a)
{
    if (!a->more || a->end > a->split)
        return false;
    a->end = a->split + units_of(more_bytes(a->cap));
    put(a, a->split, a->end - a->split);
    return true;
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

/* If the block behind this place is free, takes it out; the units that it had. */
static uint32_t take_behind(struct hcb_arena *a, uint32_t behind)
{
    if (is_edge(a, behind) || !(at(a, behind)->head & FREE))
        return 0;
    uint32_t units = size_of(at(a, behind));
    take_out(a, behind);
    return units;
}

/* The block at `place` keeps `units`; what is behind them becomes free, if it is enough
 * for a block. */
static void cut(struct hcb_arena *a, uint32_t place, uint32_t units)
{
    struct block *b = at(a, place);
    uint32_t had = size_of(b), rest = had - units + take_behind(a, place + had);
    if (rest < LEAST) {
        set_size(b, units + rest);
        return;
    }
    set_size(b, units);
    at(a, place + units)->head = 0;
    put(a, place + units, rest);
}

static void merge(struct hcb_arena *a, uint32_t place)
{
    struct block *b = at(a, place);
    uint32_t units = size_of(b) + take_behind(a, place + size_of(b));
    if (b->head & FREE_BEFORE) {
        uint32_t before = *footer_before(a, place);
        take_out(a, place - before);
        place -= before;
        units += before;
    }
    put(a, place, units);
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
    uint32_t units = (uint32_t)((size + HEADER + UNIT - 1) / UNIT);
    return units < LEAST ? LEAST : units;
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
        while (!place && (merge_aside(a) || begin_more(a)))
            place = find(a, units);
        if (!place)
            return NULL;
        cut(a, place, units);
    }
    a->used += (size_t)size_of(at(a, place)) * UNIT;
    return payload_of(at(a, place));
}

static void release(struct hcb_arena *a, void *p)
{
    uint32_t place = place_of(a, p), units = size_of(at(a, place));
    a->used -= (size_t)units * UNIT;
    if (units >= QUICK) {
        merge(a, place);
        return;
    }
    at(a, place)->next = a->quick[units];
    a->quick[units] = place;
    a->aside += (size_t)units * UNIT;
}

/* Makes the block larger where it is, if what is behind it is free. */
static bool extend(struct hcb_arena *a, uint32_t place, uint32_t units)
{
    struct block *b = at(a, place);
    uint32_t behind = place + size_of(b);
    if (is_edge(a, behind) || !(at(a, behind)->head & FREE) ||
        size_of(b) + size_of(at(a, behind)) < units)
        return false;
    set_size(b, size_of(b) + take_behind(a, behind));
    cut(a, place, units);
    return true;
}

static void *resize(struct hcb_arena *a, void *p, size_t old, size_t size)
{
    uint32_t place = place_of(a, p), had = size_of(at(a, place));
    if (size >= a->cap)
        return NULL;
    uint32_t units = units_for(size);
    if (units < had)
        cut(a, place, units);
    if (units <= had || extend(a, place, units)) {
        a->used = a->used - (size_t)had * UNIT + (size_t)size_of(at(a, place)) * UNIT;
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

/* In two parts; NULL: it cannot be. */
static struct hcb_arena *open_parts(size_t cap, struct hcb_pool *pool)
{
    char *more = hcb_platform_map(more_bytes(cap));
    struct hcb_arena *a = more ? hcb_pool_take(pool) : NULL;
    if (!a) {
        if (more)
            hcb_platform_unmap(more, more_bytes(cap));
        return NULL;
    }
    memset(a, 0, sizeof *a);
    a->pool = pool;
    a->more = more;
    a->split = a->end = units_of(HCB_POOL_SLOT);
    a->gap = (ptrdiff_t)((uintptr_t)more - (uintptr_t)a - (uintptr_t)a->split * UNIT);
    return a;
}

static struct hcb_arena *open_whole(size_t cap)
{
    struct hcb_arena *a = hcb_platform_map(cap);
    if (a)
        a->split = a->end = units_of(cap);
    return a;
}

struct hcb_arena *hcb_arena_open(size_t cap, struct hcb_pool *pool)
{
    struct hcb_arena *a = pool && cap > 2 * HCB_POOL_SLOT ? open_parts(cap, pool) : NULL;
    if (!a)
        a = open_whole(cap);
    if (!a)
        return NULL;
    a->cap = cap;
    a->first = (uint32_t)((sizeof *a + UNIT - 1) / UNIT);
    put(a, a->first, a->split - a->first);
    return a;
}

void hcb_arena_close(struct hcb_arena *a)
{
    if (!a)
        return;
    if (!a->pool) {
        hcb_platform_unmap(a, a->cap);
        return;
    }
    hcb_platform_unmap(a->more, more_bytes(a->cap));
    hcb_pool_give(a->pool, a);
}

static void discard(struct block *b)
{
    hcb_platform_discard(b + 1, (size_t)size_of(b) * UNIT - sizeof *b - sizeof(uint32_t));
}

/* The largest free blocks are where memory was taken last. */
void hcb_arena_trim(struct hcb_arena *a)
{
    merge_aside(a);
    for (int i = TRIM_POWER; i < POWERS; i++)
        for (int j = 0; j < PARTS; j++)
            for (uint32_t p = a->lists[i][j]; p; p = at(a, p)->next)
                discard(at(a, p));
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
    size_t free_units = 0, taken = 0;
    bool was_free = false;
    for (uint32_t p = a->first, n; p < a->end; p += n) {
        const struct block *b = at(a, p);
        bool is_free = b->head & FREE;
        n = size_of(b);
        if (is_edge(a, p))
            was_free = false;
        if (n < LEAST || p + n > (p < a->split ? a->split : a->end) ||
            was_free != !!(b->head & FREE_BEFORE) || (is_free && was_free) ||
            (is_free && !is_edge(a, p + n) && *footer_before(a, p + n) != n))
            return 0;
        was_free = is_free;
        *(is_free ? &free_units : &taken) += n;
    }
    return free_units == listed(a) && taken * UNIT == a->used + a->aside;
}
