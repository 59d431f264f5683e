/* Slots in mappings of many, and a list of those that are free; see pool.h. */
#include "script/pool.h"

#include "base/array.h"
#include "base/platform.h"

#include <stdlib.h>

#define SLOTS 32 /* of a mapping: as many as one page of a page table covers, usually */

struct hcb_pool {
    void **maps;
    size_t map_n, map_cap;
    void **free; /* has room for all slots, so that giving one back needs no memory */
    size_t free_n;
    void *warm; /* given back last; its memory is kept */
};

struct hcb_pool *hcb_pool_new(void)
{
    return calloc(1, sizeof(struct hcb_pool));
}

void hcb_pool_free(struct hcb_pool *pool)
{
    if (!pool)
        return;
    for (size_t i = 0; i < pool->map_n; i++)
        hcb_platform_unmap(pool->maps[i], (size_t)SLOTS * HCB_POOL_SLOT);
    free(pool->maps);
    free(pool->free);
    free(pool);
}

static bool make_room(struct hcb_pool *pool)
{
    void **maps = hcb_grow(pool->maps, pool->map_n, &pool->map_cap, sizeof(*maps));
    if (!maps)
        return false;
    pool->maps = maps;
    size_t all = (pool->map_n + 1) * SLOTS;
    void **slots = realloc(pool->free, all * sizeof(*slots));
    if (!slots)
        return false;
    pool->free = slots;
    return true;
}

/* The first are taken first. */
static bool add_map(struct hcb_pool *pool)
{
    char *map = make_room(pool) ? hcb_platform_map((size_t)SLOTS * HCB_POOL_SLOT) : NULL;
    if (!map)
        return false;
    pool->maps[pool->map_n++] = map;
    for (size_t i = SLOTS; i-- > 0;)
        pool->free[pool->free_n++] = map + i * HCB_POOL_SLOT;
    return true;
}

void *hcb_pool_take(struct hcb_pool *pool)
{
    if (pool->free_n == 0 && !add_map(pool))
        return NULL;
    void *slot = pool->free[--pool->free_n];
    if (slot == pool->warm)
        pool->warm = NULL;
    return slot;
}

void hcb_pool_give(struct hcb_pool *pool, void *slot)
{
    if (pool->warm)
        hcb_platform_discard(pool->warm, HCB_POOL_SLOT);
    pool->warm = slot;
    pool->free[pool->free_n++] = slot;
}
