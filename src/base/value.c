/* Plain data; see value.h. Knows nothing of the texts that it was read from. */
#include "base/value.h"

#include "base/array.h"
#include "base/number.h"
#include "base/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void release_map(struct hcb_value *v)
{
    for (size_t i = 0; i < v->u.map.n; i++) {
        free(v->u.map.p[i].key);
        hcb_value_release(&v->u.map.p[i].value);
    }
    free(v->u.map.p);
}

static void release_list(struct hcb_value *v)
{
    for (size_t i = 0; i < v->u.list.n; i++)
        hcb_value_release(&v->u.list.v[i]);
    free(v->u.list.v);
}

void hcb_value_release(struct hcb_value *v)
{
    if (v->type == HCB_TEXT)
        free(v->u.text.s);
    else if (v->type == HCB_LIST)
        release_list(v);
    else if (v->type == HCB_MAP)
        release_map(v);
    free(v->source);
    memset(v, 0, sizeof(*v));
}

static bool copy_list(struct hcb_value *to, const struct hcb_value *from)
{
    hcb_value_list(to);
    for (size_t i = 0; i < from->u.list.n; i++) {
        struct hcb_value *item = hcb_list_add(to);
        if (!item || !hcb_value_copy(item, &from->u.list.v[i]))
            return false;
    }
    return true;
}

static bool copy_map(struct hcb_value *to, const struct hcb_value *from)
{
    hcb_value_map(to);
    for (size_t i = 0; i < from->u.map.n; i++) {
        const struct hcb_pair *pair = &from->u.map.p[i];
        struct hcb_value *item = hcb_map_append(to, pair->key);
        if (!item)
            return false;
        to->u.map.p[i].line = pair->line;
        if (!hcb_value_copy(item, &pair->value))
            return false;
    }
    return true;
}

static bool copy_content(struct hcb_value *to, const struct hcb_value *from)
{
    switch (from->type) {
    case HCB_TEXT:
        return hcb_value_text(to, from->u.text.s, from->u.text.n);
    case HCB_LIST:
        return copy_list(to, from);
    case HCB_MAP:
        return copy_map(to, from);
    default:
        to->type = from->type;
        to->u = from->u;
        return true;
    }
}

bool hcb_value_copy(struct hcb_value *to, const struct hcb_value *from)
{
    struct hcb_value copy = {0};
    bool ok = copy_content(&copy, from);
    if (ok && from->source) {
        copy.source = hcb_strdup(from->source);
        ok = copy.source != NULL;
    }
    if (!ok) {
        hcb_value_release(&copy);
        return false;
    }
    *to = copy;
    return true;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct hcb_pair *x = *(const struct hcb_pair *const *)a;
    const struct hcb_pair *y = *(const struct hcb_pair *const *)b;
    int order = strcmp(x->key, y->key);
    return order != 0 ? order : (x > y) - (x < y);
}

/* The pairs of a map in the order of their keys; yours to free. */
static const struct hcb_pair **sorted_pairs(const struct hcb_value *map)
{
    size_t n = map->u.map.n;
    const struct hcb_pair **pairs = calloc(n + 1, sizeof(*pairs));
    if (!pairs)
        return NULL;
    for (size_t i = 0; i < n; i++)
        pairs[i] = &map->u.map.p[i];
    qsort(pairs, n, sizeof(*pairs), compare_pairs);
    return pairs;
}

static bool equal_pairs(const struct hcb_pair *a, const struct hcb_pair *b)
{
    return strcmp(a->key, b->key) == 0 && hcb_value_equal(&a->value, &b->value);
}

/* Of large maps in another order, where looking up each key would take too long. */
static bool equal_sorted(const struct hcb_pair **x, const struct hcb_pair **y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!equal_pairs(x[i], y[i]))
            return false;
    return true;
}

static bool equal_by_lookup(const struct hcb_value *a, const struct hcb_value *b)
{
    for (size_t i = 0; i < a->u.map.n; i++) {
        const struct hcb_value *other = hcb_map_get(b, a->u.map.p[i].key);
        if (!other || !hcb_value_equal(&a->u.map.p[i].value, other))
            return false;
    }
    return true;
}

#define SMALL_MAP 32

static bool equal_maps(const struct hcb_value *a, const struct hcb_value *b)
{
    size_t n = a->u.map.n;
    if (n != b->u.map.n)
        return false;
    size_t i = 0;
    while (i < n && strcmp(a->u.map.p[i].key, b->u.map.p[i].key) == 0) {
        if (!hcb_value_equal(&a->u.map.p[i].value, &b->u.map.p[i].value))
            return false;
        i++;
    }
    if (i == n)
        return true;
    if (n <= SMALL_MAP)
        return equal_by_lookup(a, b);
    const struct hcb_pair **x = sorted_pairs(a), **y = sorted_pairs(b);
    bool same = x && y ? equal_sorted(x, y, n) : equal_by_lookup(a, b);
    free(x);
    free(y);
    return same;
}

static bool equal_lists(const struct hcb_value *a, const struct hcb_value *b)
{
    if (a->u.list.n != b->u.list.n)
        return false;
    for (size_t i = 0; i < a->u.list.n; i++)
        if (!hcb_value_equal(&a->u.list.v[i], &b->u.list.v[i]))
            return false;
    return true;
}

/* A NaN equals a NaN here: the question is whether something changed. */
static bool equal_reals(double a, double b)
{
    if (hcb_is_nan(a) || hcb_is_nan(b))
        return hcb_is_nan(a) && hcb_is_nan(b);
    return a == b;
}

bool hcb_value_equal(const struct hcb_value *a, const struct hcb_value *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case HCB_NULL:
        return true;
    case HCB_BOOL:
        return a->u.b == b->u.b;
    case HCB_INT:
        return a->u.i == b->u.i;
    case HCB_REAL:
        return equal_reals(a->u.d, b->u.d);
    case HCB_TEXT:
        return a->u.text.n == b->u.text.n &&
               memcmp(a->u.text.s, b->u.text.s, a->u.text.n) == 0;
    case HCB_LIST:
        return equal_lists(a, b);
    case HCB_MAP:
        return equal_maps(a, b);
    }
    return false;
}

const char *hcb_type_name(enum hcb_type t)
{
    switch (t) {
    case HCB_NULL: return "null";
    case HCB_BOOL: return "a boolean";
    case HCB_INT: return "an integer";
    case HCB_REAL: return "a number";
    case HCB_TEXT: return "text";
    case HCB_LIST: return "a list";
    case HCB_MAP: return "a map";
    }
    return "?";
}

void hcb_value_bool(struct hcb_value *v, bool b)
{
    v->type = HCB_BOOL;
    v->u.b = b;
}

void hcb_value_int(struct hcb_value *v, int64_t i)
{
    v->type = HCB_INT;
    v->u.i = i;
}

void hcb_value_real(struct hcb_value *v, double d)
{
    v->type = HCB_REAL;
    v->u.d = d;
}

bool hcb_value_text(struct hcb_value *v, const char *s, size_t n)
{
    char *copy = malloc(n + 1);
    if (!copy)
        return false;
    if (n > 0)
        memcpy(copy, s, n);
    copy[n] = '\0';
    v->type = HCB_TEXT;
    v->u.text.s = copy;
    v->u.text.n = n;
    return true;
}

void hcb_value_list(struct hcb_value *v)
{
    v->type = HCB_LIST;
    v->u.list.v = NULL;
    v->u.list.n = v->u.list.cap = 0;
}

void hcb_value_map(struct hcb_value *v)
{
    v->type = HCB_MAP;
    v->u.map.p = NULL;
    v->u.map.n = v->u.map.cap = 0;
}

struct hcb_value *hcb_list_add(struct hcb_value *list)
{
    assert(list->type == HCB_LIST);
    struct hcb_value *v = hcb_grow(list->u.list.v, list->u.list.n, &list->u.list.cap, sizeof(*v));
    if (!v)
        return NULL;
    list->u.list.v = v;
    struct hcb_value *item = &list->u.list.v[list->u.list.n++];
    memset(item, 0, sizeof(*item));
    return item;
}

struct hcb_pair *hcb_map_pair(const struct hcb_value *map, const char *key)
{
    if (!map || map->type != HCB_MAP)
        return NULL;
    for (size_t i = 0; i < map->u.map.n; i++) {
        const char *other = map->u.map.p[i].key;
        if (*other == *key && strcmp(other, key) == 0)
            return &map->u.map.p[i];
    }
    return NULL;
}

struct hcb_value *hcb_map_get(const struct hcb_value *map, const char *key)
{
    struct hcb_pair *pair = hcb_map_pair(map, key);
    return pair ? &pair->value : NULL;
}

static int compare_key(const void *key, const void *pair)
{
    return strcmp(key, (*(const struct hcb_pair *const *)pair)->key);
}

/* Where there is no memory for an index, a plain search serves. */
static const struct hcb_pair *search_index(struct hcb_map_search *s, const char *key)
{
    size_t n = s->map->u.map.n;
    if (!s->sorted && n > SMALL_MAP)
        s->sorted = sorted_pairs(s->map);
    if (!s->sorted)
        return hcb_map_pair(s->map, key);
    const struct hcb_pair **at = bsearch(key, s->sorted, n, sizeof(*s->sorted), compare_key);
    return at ? *at : NULL;
}

const struct hcb_pair *hcb_map_search(struct hcb_map_search *s, const char *key)
{
    if (!s->map || s->map->type != HCB_MAP || s->map->u.map.n == 0)
        return NULL;
    const struct hcb_pair *first = s->map->u.map.p, *pair = first + s->next;
    if (s->next >= s->map->u.map.n || strcmp(pair->key, key) != 0)
        pair = search_index(s, key);
    if (pair)
        s->next = (size_t)(pair - first) + 1;
    return pair;
}

void hcb_map_search_end(struct hcb_map_search *s)
{
    free(s->sorted);
    s->sorted = NULL;
}

static bool grow_map(struct hcb_value *map)
{
    struct hcb_pair *p = hcb_grow(map->u.map.p, map->u.map.n, &map->u.map.cap, sizeof(*p));
    if (p)
        map->u.map.p = p;
    return p != NULL;
}

struct hcb_value *hcb_map_append(struct hcb_value *map, const char *key)
{
    assert(map->type == HCB_MAP);
    char *copy = hcb_strdup(key);
    if (!copy || !grow_map(map)) {
        free(copy);
        return NULL;
    }
    struct hcb_pair *pair = &map->u.map.p[map->u.map.n++];
    memset(pair, 0, sizeof(*pair));
    pair->key = copy;
    return &pair->value;
}

/* Of small maps: most are, and they need no memory. */
static const struct hcb_pair *twice_by_lookup(const struct hcb_value *map)
{
    for (size_t i = 1; i < map->u.map.n; i++)
        if (hcb_map_pair(map, map->u.map.p[i].key) != &map->u.map.p[i])
            return &map->u.map.p[i];
    return NULL;
}

bool hcb_map_twice(const struct hcb_value *map, const struct hcb_pair **twice)
{
    *twice = NULL;
    if (map->u.map.n <= SMALL_MAP) {
        *twice = twice_by_lookup(map);
        return true;
    }
    const struct hcb_pair **pairs = sorted_pairs(map);
    if (!pairs)
        return false;
    for (size_t i = 1; i < map->u.map.n; i++)
        if (strcmp(pairs[i - 1]->key, pairs[i]->key) == 0 && (!*twice || pairs[i] < *twice))
            *twice = pairs[i];
    free(pairs);
    return true;
}

struct hcb_value *hcb_map_put(struct hcb_value *map, const char *key)
{
    struct hcb_pair *pair = hcb_map_pair(map, key);
    if (!pair)
        return hcb_map_append(map, key);
    hcb_value_release(&pair->value);
    return &pair->value;
}

bool hcb_map_set(struct hcb_value *map, const char *key, const struct hcb_value *v)
{
    struct hcb_value copy = {0};
    if (!hcb_value_copy(&copy, v))
        return false;
    struct hcb_value *place = hcb_map_put(map, key);
    if (!place) {
        hcb_value_release(&copy);
        return false;
    }
    *place = copy;
    return true;
}

void hcb_map_remove(struct hcb_value *map, const char *key)
{
    struct hcb_pair *pair = hcb_map_pair(map, key);
    if (!pair)
        return;
    free(pair->key);
    hcb_value_release(&pair->value);
    size_t after = (size_t)(map->u.map.p + map->u.map.n - (pair + 1));
    memmove(pair, pair + 1, after * sizeof(*pair));
    map->u.map.n--;
}

const char *hcb_map_text(const struct hcb_value *map, const char *key, const char *fallback)
{
    const struct hcb_value *v = hcb_map_get(map, key);
    return v && v->type == HCB_TEXT ? v->u.text.s : fallback;
}

int64_t hcb_map_int(const struct hcb_value *map, const char *key, int64_t fallback)
{
    const struct hcb_value *v = hcb_map_get(map, key);
    return v && v->type == HCB_INT ? v->u.i : fallback;
}

double hcb_map_real(const struct hcb_value *map, const char *key, double fallback)
{
    const struct hcb_value *v = hcb_map_get(map, key);
    if (v && v->type == HCB_INT)
        return (double)v->u.i;
    return v && v->type == HCB_REAL ? v->u.d : fallback;
}

bool hcb_map_bool(const struct hcb_value *map, const char *key, bool fallback)
{
    const struct hcb_value *v = hcb_map_get(map, key);
    return v && v->type == HCB_BOOL ? v->u.b : fallback;
}
