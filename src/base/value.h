/* Plain data: what JSON, YAML and Lua tables have in common, and the only form
 * in which it travels between them.
 *
 * A zeroed struct is null. Integers are int64, exact, and never the same as
 * reals. A map keeps its order and has each key once. */
#ifndef HCB_VALUE_H
#define HCB_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hcb_type { HCB_NULL, HCB_BOOL, HCB_INT, HCB_REAL, HCB_TEXT, HCB_LIST, HCB_MAP };

struct hcb_pair;

struct hcb_value {
    enum hcb_type type;
    union {
        bool b;
        int64_t i;
        double d;
        struct { char *s; size_t n; } text;                   /* NUL-ended, may hold NULs */
        struct { struct hcb_value *v; size_t n, cap; } list;
        struct { struct hcb_pair *p; size_t n, cap; } map;
    } u;
    char *source; /* of a scalar that was read: how it was spelt ("1.10"), or NULL */
};

struct hcb_pair {
    char *key;
    int line; /* where the key stands in the file it was read from, or 0 */
    struct hcb_value value;
};

/* Bounds that every reader of outside data keeps: a value deeper or larger is
 * refused by the reader. */
#define HCB_VALUE_DEPTH 48
#define HCB_VALUE_NODES 200000

void hcb_value_release(struct hcb_value *v); /* frees what it holds, leaves null */
bool hcb_value_copy(struct hcb_value *to, const struct hcb_value *from); /* false: no memory */
bool hcb_value_equal(const struct hcb_value *a, const struct hcb_value *b); /* `source` aside */
const char *hcb_type_name(enum hcb_type t); /* "a number", "text", ... */

/* Setters release nothing: for a null value. */
void hcb_value_bool(struct hcb_value *v, bool b);
void hcb_value_int(struct hcb_value *v, int64_t i);
void hcb_value_real(struct hcb_value *v, double d);
bool hcb_value_text(struct hcb_value *v, const char *s, size_t n);
void hcb_value_list(struct hcb_value *v);
void hcb_value_map(struct hcb_value *v);

/* A new null element at the end; NULL when out of memory. */
struct hcb_value *hcb_list_add(struct hcb_value *list);

/* The value under a key, or NULL (also where `map` is NULL or no map); and the pair. */
struct hcb_value *hcb_map_get(const struct hcb_value *map, const char *key);
struct hcb_pair *hcb_map_pair(const struct hcb_value *map, const char *key);
/* For many searches in one large map, in about its order: the place behind the last one that
 * was found is tried first, and an index is made once that fails. Zeroed but for `map`. */
struct hcb_map_search {
    const struct hcb_value *map;
    size_t next;
    const struct hcb_pair **sorted; /* or NULL */
};
const struct hcb_pair *hcb_map_search(struct hcb_map_search *s, const char *key);
void hcb_map_search_end(struct hcb_map_search *s);
/* The same as hcb_map_get, made null and new where there is none; NULL when out of memory. */
struct hcb_value *hcb_map_put(struct hcb_value *map, const char *key);
/* Makes *map hold a copy of v under key. */
bool hcb_map_set(struct hcb_value *map, const char *key, const struct hcb_value *v);
/* For readers of large outside data, where a search per key would take too long:
 * a new null pair at the end, whether or not the key is there (NULL: no memory);
 * and, once all are in, the first pair whose key stood earlier too, NULL if each
 * stands once (false: no memory). */
struct hcb_value *hcb_map_append(struct hcb_value *map, const char *key);
bool hcb_map_twice(const struct hcb_value *map, const struct hcb_pair **twice);
void hcb_map_remove(struct hcb_value *map, const char *key);

/* Readers for data of a known shape: the value under key if it has that type,
 * else the fallback. An integer serves as a real. */
const char *hcb_map_text(const struct hcb_value *map, const char *key, const char *fallback);
int64_t hcb_map_int(const struct hcb_value *map, const char *key, int64_t fallback);
double hcb_map_real(const struct hcb_value *map, const char *key, double fallback);
bool hcb_map_bool(const struct hcb_value *map, const char *key, bool fallback);

#endif
