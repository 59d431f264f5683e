/* The arena of a Lua state: whatever is allocated, resized and freed, blocks keep their
 * bytes, never overlap, and everything that was freed can be had again. */
#include "script/arena.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define BLOCKS 512

struct block {
    unsigned char *p;
    size_t n;
    unsigned char fill;
};

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void check_bytes(const struct block *b)
{
    for (size_t i = 0; i < b->n; i++)
        assert_int_equal(b->p[i], b->fill);
}

/* Sizes as Lua asks for them: mostly small, sometimes a page, rarely much. */
static size_t some_size(uint32_t *seed)
{
    uint32_t kind = next_random(seed) % 100;
    size_t most = kind < 80 ? 200 : kind < 97 ? 5000 : 120000;
    return 1 + next_random(seed) % most;
}

static void change(struct hcb_arena *a, struct block *b, uint32_t *seed)
{
    check_bytes(b);
    size_t size = b->p && next_random(seed) % 3 == 0 ? 0 : some_size(seed);
    size_t kept = b->n < size ? b->n : size;
    unsigned char *q = hcb_arena_alloc(a, b->p, b->n, size);
    if (!q && size > 0) {
        assert_true(size > b->n); /* only growth is refused */
        return;
    }
    for (size_t i = 0; i < kept; i++)
        assert_int_equal(q[i], b->fill);
    assert_int_equal((uintptr_t)q % 8, 0);
    b->p = q;
    b->n = size;
    b->fill = (unsigned char)next_random(seed);
    if (q)
        memset(q, b->fill, size);
}

static void free_all(struct hcb_arena *a, struct block *blocks)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        check_bytes(&blocks[i]);
        hcb_arena_alloc(a, blocks[i].p, blocks[i].n, 0);
        blocks[i] = (struct block){0};
    }
}

static size_t fill_with(struct hcb_arena *a, size_t size)
{
    size_t n = 0;
    unsigned char *p;
    while ((p = hcb_arena_alloc(a, NULL, 0, size))) {
        memset(p, 0xff, size);
        n += size;
    }
    return n;
}

/* `beginning`: bytes that no large block can have, as they are in another part. */
static void use_at_random(size_t cap, struct hcb_pool *pool, size_t beginning)
{
    struct block blocks[BLOCKS] = {{0}};
    struct hcb_arena *a = hcb_arena_open(cap, pool);
    uint32_t seed = (uint32_t)cap + 1;
    assert_non_null(a);
    for (int i = 0; i < 20000; i++) {
        change(a, &blocks[next_random(&seed) % BLOCKS], &seed);
        if (i % 700 == 0)
            hcb_arena_trim(a);
        if (i % 500 == 0)
            assert_true(hcb_arena_check(a));
        assert_true(hcb_arena_used(a) <= hcb_arena_cap(a));
    }
    free_all(a, blocks);
    assert_true(hcb_arena_check(a));
    assert_int_equal(hcb_arena_used(a), 0);
    size_t most = cap - beginning - (8 << 10); /* what was in pieces is whole again */
    void *p = hcb_arena_alloc(a, NULL, 0, most);
    assert_non_null(p);
    memset(p, 1, most);
    hcb_arena_close(a);
}

static void test_random_use(void **state)
{
    static const size_t caps[] = {64 << 10, 256 << 10, 1 << 20, 16 << 20};
    struct hcb_pool *pool = hcb_pool_new();
    (void)state;
    for (size_t c = 0; c < sizeof caps / sizeof *caps; c++) {
        use_at_random(caps[c], NULL, 0);
        use_at_random(caps[c], pool, c > 0 ? HCB_POOL_SLOT : 0);
    }
    hcb_pool_free(pool);
}

/* Slots are near each other, none is given twice, and those given back are taken again. */
static void test_slots(void **state)
{
    unsigned char *slots[100];
    struct hcb_pool *pool = hcb_pool_new();
    uint32_t seed = 1;
    (void)state;
    for (int i = 0; i < 100; i++)
        slots[i] = NULL;
    for (int turn = 0; turn < 2000; turn++) {
        int i = (int)(next_random(&seed) % 100);
        if (slots[i]) {
            assert_int_equal(slots[i][0], i);
            assert_int_equal(slots[i][HCB_POOL_SLOT - 1], i);
            hcb_pool_give(pool, slots[i]);
            slots[i] = NULL;
        } else {
            slots[i] = hcb_pool_take(pool);
            slots[i][0] = slots[i][HCB_POOL_SLOT - 1] = (unsigned char)i;
        }
    }
    hcb_pool_free(pool);
}

/* Of the first part and of the second, up to the cap, and not one byte of another's. */
static void test_two_parts_fill_up(void **state)
{
    struct hcb_pool *pool = hcb_pool_new();
    struct hcb_arena *all[8];
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        all[i] = hcb_arena_open(1 << 20, pool);
        assert_true(fill_with(all[i], 10 + 100 * i) > (1 << 20) / 2);
    }
    for (size_t i = 0; i < 8; i++) {
        assert_true(hcb_arena_check(all[i]));
        assert_true(hcb_arena_used(all[i]) <= 1 << 20);
        hcb_arena_close(all[i]);
    }
    hcb_pool_free(pool);
}

static void test_fills_up_to_its_cap(void **state)
{
    static const size_t sizes[] = {1, 8, 24, 56, 100, 1000, 4096, 100000};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct hcb_arena *a = hcb_arena_open(1 << 20, NULL);
        size_t got = fill_with(a, sizes[i]);
        assert_true(hcb_arena_check(a));
        assert_true(hcb_arena_used(a) <= 1 << 20);
        assert_true(hcb_arena_used(a) + sizes[i] + 4096 > 1 << 20);
        assert_true(sizes[i] < 50 || got > (1 << 20) * 7 / 10);
        assert_null(hcb_arena_alloc(a, NULL, 0, SIZE_MAX));
        assert_null(hcb_arena_alloc(a, NULL, 0, SIZE_MAX - 8));
        assert_null(hcb_arena_alloc(a, NULL, 0, 1 << 20));
        hcb_arena_close(a);
    }
}

static void test_shrinking_never_fails(void **state)
{
    (void)state;
    struct hcb_arena *a = hcb_arena_open(64 << 10, NULL);
    unsigned char *p = hcb_arena_alloc(a, NULL, 0, 40000);
    memset(p, 7, 40000);
    fill_with(a, 16);
    for (size_t n = 40000; n > 1; n = n * 2 / 3) {
        p = hcb_arena_alloc(a, p, n, n * 2 / 3);
        assert_non_null(p);
        assert_int_equal(p[n * 2 / 3 - 1], 7);
        assert_true(hcb_arena_check(a));
    }
    hcb_arena_close(a);
}

/* A string that grows by appending leaves one freed block of each size behind. */
static void test_growing_strings_fit(void **state)
{
    (void)state;
    struct hcb_arena *a = hcb_arena_open(1 << 20, NULL);
    void *last = hcb_arena_alloc(a, NULL, 0, 1);
    for (size_t n = 2; n < 300000; n += 1 + n / 50) {
        void *p = hcb_arena_alloc(a, NULL, 0, n);
        assert_non_null(p);
        hcb_arena_alloc(a, last, 1, 0);
        last = p;
    }
    assert_true(hcb_arena_check(a));
    hcb_arena_close(a);
}

/* As strings are made: in a buffer that is a bit smaller, and freed. */
static void test_holes_are_used_again(void **state)
{
    (void)state;
    struct hcb_arena *a = hcb_arena_open(16 << 20, NULL);
    for (int i = 0; i < 170; i++) {
        void *buffer = hcb_arena_alloc(a, NULL, 0, 90000);
        assert_non_null(buffer);
        assert_non_null(hcb_arena_alloc(a, NULL, 0, 90025));
        hcb_arena_alloc(a, buffer, 90000, 0);
    }
    hcb_arena_close(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_use), cmocka_unit_test(test_slots),
        cmocka_unit_test(test_two_parts_fill_up),
        cmocka_unit_test(test_fills_up_to_its_cap),
        cmocka_unit_test(test_shrinking_never_fails),
        cmocka_unit_test(test_growing_strings_fit),
        cmocka_unit_test(test_holes_are_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
