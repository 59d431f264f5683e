/* The memory of one Lua state: exactly its cap, mapped, so that the state can never hold
 * more, and so that all of it can be dropped at once whatever condition it is in. Its
 * beginning lies close to that of others, in a slot of a pool. Knows of Lua only the
 * contract of lua_Alloc.
 *
 * Inside, blocks of 8-byte units with a header of 4 bytes; free ones in lists by size
 * (two levels: power of two, then eighths of it) and merged with their neighbours when
 * they are freed; small ones are kept aside unmerged, for the next of the same size,
 * until memory runs short. Every operation but that one takes constant time. */
#ifndef HCB_ARENA_H
#define HCB_ARENA_H

#include "script/pool.h"
#include <stddef.h>

struct hcb_arena;

/* Maps `cap` bytes (at least 64 KiB, at most 4 GiB; rounded up to whole pages), of which
 * only what is touched takes memory; the first are a slot of the pool, if there is one and it
 * has one. No block is larger than what is then left of them. NULL, with errno: the system
 * refused it. */
struct hcb_arena *hcb_arena_open(size_t cap, struct hcb_pool *pool);
void hcb_arena_close(struct hcb_arena *a); /* NULL is fine */

/* A lua_Alloc, with an arena as its user data. NULL for a size above 0: no room.
 * Making a block smaller never fails. */
void *hcb_arena_alloc(void *arena, void *p, size_t old, size_t size);

/* Gives pages that are free, and were used, back to the system. */
void hcb_arena_trim(struct hcb_arena *a);

size_t hcb_arena_used(const struct hcb_arena *a); /* bytes in blocks, headers included */
size_t hcb_arena_cap(const struct hcb_arena *a);

/* For tests: whether all that must hold does. Walks the whole arena. */
int hcb_arena_check(const struct hcb_arena *a);

#endif
