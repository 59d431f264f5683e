/* Where the states of one run begin: slots that lie close to each other. A state that has a
 * mapping of many MiB to itself costs the processor entries of its page tables and caches for
 * each of them, and calls of many states wait for these. Knows nothing of what is in a slot.
 * Belongs to one thread at a time. */
#ifndef HCB_POOL_H
#define HCB_POOL_H

#define HCB_POOL_SLOT (64 << 10) /* bytes; only what is touched takes memory */

struct hcb_pool;

struct hcb_pool *hcb_pool_new(void); /* NULL: no memory */
/* All slots have been given back. NULL is fine. */
void hcb_pool_free(struct hcb_pool *pool);

/* A slot, aligned to pages, of any content; NULL: the system refused it. */
void *hcb_pool_take(struct hcb_pool *pool);
/* Its memory goes back to the system, but for that of the slot that was given back last. */
void hcb_pool_give(struct hcb_pool *pool, void *slot);

#endif
