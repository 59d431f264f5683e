/* The table functions that can be kept busy, made to count their work. They go through
 * metamethods as Lua 5.4's do. Beyond what Lua refuses: more than UNPACK_MOST results of
 * table.unpack. The order in which sort compares is its own.
 *
 * Whatever counts may leave by an error: all memory here is Lua's. */
#include "script/lua_library.h"
#include "script/sandbox.h"

#include <lauxlib.h>
#include <limits.h>
#include <lualib.h>

#define UNPACK_MOST 4096
#define BATCH 512 /* units of work between two ticks */

/* ---- counting --------------------------------------------------------------- */

struct work {
    lua_State *L;
    unsigned units;
    unsigned access; /* what reading or writing one element counts */
};

static void settle(struct work *w)
{
    hcb_sandbox_tick(w->L, w->units);
    w->units = 0;
}

static inline void spend(struct work *w, size_t units)
{
    w->units += units < INT_MAX ? (unsigned)units : INT_MAX;
    if (w->units >= BATCH)
        settle(w);
}

/* With a metatable each access may run along a chain of two thousand others. */
static unsigned access_units(lua_State *L, int arg)
{
    if (!lua_getmetatable(L, arg))
        return 2;
    lua_pop(L, 1);
    return 64;
}

/* ---- what counts as a table -------------------------------------------------- */

static bool has_field(lua_State *L, const char *name, int index)
{
    lua_pushstring(L, name);
    bool has = lua_rawget(L, index) != LUA_TNIL;
    lua_pop(L, 1);
    return has;
}

/* Something that is no table will do where its metatable has all that is needed: of
 * "r" reading, "w" writing, "l" a length. */
static void check_table(lua_State *L, int arg, const char *needs)
{
    bool enough = true;
    if (lua_type(L, arg) == LUA_TTABLE)
        return;
    if (lua_getmetatable(L, arg)) {
        int meta = lua_gettop(L);
        for (; *needs && enough; needs++) {
            const char *name = *needs == 'r' ? "__index"
                               : *needs == 'w' ? "__newindex" : "__len";
            enough = has_field(L, name, meta);
        }
        lua_pop(L, 1);
        if (enough)
            return;
    }
    luaL_checktype(L, arg, LUA_TTABLE);
}

static lua_Integer check_length(lua_State *L, int arg, const char *needs)
{
    check_table(L, arg, needs);
    return luaL_len(L, arg);
}

static lua_Integer plus(lua_Integer a, lua_Integer b)
{
    return (lua_Integer)((lua_Unsigned)a + (lua_Unsigned)b);
}

/* ---- insert, remove, move ----------------------------------------------------- */

static void copy_element(struct work *w, int from_arg, lua_Integer from, int to_arg,
                         lua_Integer to)
{
    spend(w, w->access);
    lua_geti(w->L, from_arg, from);
    lua_seti(w->L, to_arg, to);
}

static int l_insert(lua_State *L)
{
    lua_Integer at, end = plus(check_length(L, 1, "rwl"), 1);
    struct work w = {L, 0, access_units(L, 1)};
    switch (lua_gettop(L)) {
    case 2:
        at = end;
        break;
    case 3:
        at = luaL_checkinteger(L, 2);
        luaL_argcheck(L, (lua_Unsigned)at - 1 < (lua_Unsigned)end, 2, "position out of bounds");
        for (lua_Integer i = end; i > at; i--)
            copy_element(&w, 1, i - 1, 1, i);
        break;
    default:
        return luaL_error(L, "wrong number of arguments to 'insert'");
    }
    lua_seti(L, 1, at);
    settle(&w);
    return 0;
}

static int l_remove(lua_State *L)
{
    lua_Integer size = check_length(L, 1, "rwl"), at = luaL_optinteger(L, 2, size);
    struct work w = {L, 0, access_units(L, 1)};
    if (at != size)
        luaL_argcheck(L, (lua_Unsigned)at - 1 <= (lua_Unsigned)size, 2, "position out of bounds");
    lua_geti(L, 1, at);
    for (; at < size; at++)
        copy_element(&w, 1, at + 1, 1, at);
    lua_pushnil(L);
    lua_seti(L, 1, at);
    settle(&w);
    return 1;
}

/* n elements from `from` on; the last one first where the places overlap so. */
static void move_elements(struct work *w, lua_Integer from, lua_Integer n, int to_arg,
                          lua_Integer to)
{
    lua_State *L = w->L;
    bool forward = to > from + (n - 1) || to <= from ||
                   (to_arg != 1 && !lua_compare(L, 1, to_arg, LUA_OPEQ));
    for (lua_Integer k = 0; k < n; k++) {
        lua_Integer i = forward ? k : n - 1 - k;
        copy_element(w, 1, from + i, to_arg, to + i);
    }
    settle(w);
}

static int l_move(lua_State *L)
{
    lua_Integer first = luaL_checkinteger(L, 2), last = luaL_checkinteger(L, 3);
    lua_Integer to = luaL_checkinteger(L, 4);
    int to_arg = lua_isnoneornil(L, 5) ? 1 : 5;
    check_table(L, 1, "r");
    check_table(L, to_arg, "w");
    if (last >= first) {
        luaL_argcheck(L, first > 0 || last < LUA_MAXINTEGER + first, 3,
                      "too many elements to move");
        lua_Integer n = last - first + 1;
        luaL_argcheck(L, to <= LUA_MAXINTEGER - n + 1, 4, "destination wrap around");
        struct work w = {L, 0, access_units(L, 1) + access_units(L, to_arg)};
        move_elements(&w, first, n, to_arg, to);
    }
    lua_pushvalue(L, to_arg);
    return 1;
}

/* ---- concat, unpack ------------------------------------------------------------ */

static void add_element(struct work *w, luaL_Buffer *b, lua_Integer i)
{
    lua_State *L = w->L;
    int type = lua_geti(L, 1, i);
    if (type == LUA_TSTRING)
        spend(w, w->access + lua_rawlen(L, -1) / 16);
    else if (type == LUA_TNUMBER)
        spend(w, w->access + 32); /* to make a text of it */
    else
        luaL_error(L, "invalid value (%s) at index %I in table for 'concat'",
                   luaL_typename(L, -1), (LUAI_UACINT)i);
    luaL_addvalue(b);
}

static int l_concat(lua_State *L)
{
    luaL_Buffer b;
    size_t sep_n;
    lua_Integer last = check_length(L, 1, "rl");
    const char *sep = luaL_optlstring(L, 2, "", &sep_n);
    lua_Integer i = luaL_optinteger(L, 3, 1);
    last = luaL_optinteger(L, 4, last);
    struct work w = {L, 0, access_units(L, 1)};
    luaL_buffinit(L, &b);
    for (; i < last; i++) {
        add_element(&w, &b, i);
        luaL_addlstring(&b, sep, sep_n);
        spend(&w, sep_n / 16);
    }
    if (i == last)
        add_element(&w, &b, i);
    luaL_pushresult(&b);
    settle(&w);
    return 1;
}

static int l_unpack(lua_State *L)
{
    lua_Integer first = luaL_optinteger(L, 2, 1);
    lua_Integer last = lua_isnoneornil(L, 3) ? luaL_len(L, 1) : luaL_checkinteger(L, 3);
    if (first > last)
        return 0;
    lua_Unsigned n = (lua_Unsigned)last - (lua_Unsigned)first;
    if (n >= UNPACK_MOST || !lua_checkstack(L, (int)++n))
        return luaL_error(L, "too many results to unpack");
    struct work w = {L, 0, access_units(L, 1)};
    for (lua_Unsigned i = 0; i < n; i++) {
        spend(&w, w.access);
        lua_geti(L, 1, plus(first, (lua_Integer)i));
    }
    return (int)n;
}

/* ---- sort ---------------------------------------------------------------------- */

/* Quicksort that goes over to heapsort where it is not getting on, so that no order of the
 * elements and no comparator makes it more than O(n log n). A comparator that contradicts
 * itself is found out in the end, or not; no index ever leaves the range. Elements are
 * numbered from 1; table and comparator are at stack indices 1 and 2. */
struct sort {
    struct work w;
    bool by_function;
    size_t weight; /* of a comparison */
};

/* That the value at stack index i is compared from now on: of a string, the length is what
 * it may take, whatever the other one's. */
static void weigh(struct sort *s, int i)
{
    bool text = !s->by_function && lua_type(s->w.L, i) == LUA_TSTRING;
    s->weight = text ? 4 + lua_rawlen(s->w.L, i) / 16 : 4;
}

static bool ask(lua_State *L, int a, int b)
{
    lua_pushvalue(L, 2);
    lua_pushvalue(L, a - 1);
    lua_pushvalue(L, b - 2);
    lua_call(L, 2, 1);
    bool less = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return less;
}

/* Whether the value at stack index a comes before the one at b (both negative), one of
 * which was weighed. */
static bool is_less(struct sort *s, int a, int b)
{
    spend(&s->w, s->weight);
    return s->by_function ? ask(s->w.L, a, b) : lua_compare(s->w.L, a, b, LUA_OPLT);
}

static void get(struct sort *s, unsigned i)
{
    spend(&s->w, s->w.access);
    lua_geti(s->w.L, 1, i);
}

/* Takes the value from the top of the stack. */
static void put(struct sort *s, unsigned i)
{
    lua_seti(s->w.L, 1, i);
}

/* Puts the elements i < j in order. Returns whether they had to change places. */
static bool order_two(struct sort *s, unsigned i, unsigned j)
{
    get(s, i);
    get(s, j); // a b
    weigh(s, -1);
    if (!is_less(s, -1, -2)) {
        lua_pop(s->w.L, 2);
        return false;
    }
    put(s, i);
    put(s, j);
    return true;
}

static void order_three(struct sort *s, unsigned i, unsigned j, unsigned k)
{
    order_two(s, i, k);
    if (!order_two(s, i, j))
        order_two(s, j, k);
}

/* The larger child of `node` in the heap of n elements that begins at lo (and counts
 * nodes from 1). -> child's value. Returns the child. */
static unsigned get_larger_child(struct sort *s, unsigned lo, unsigned node, unsigned n)
{
    unsigned child = 2 * node;
    get(s, lo + child - 1); // a
    if (child < n) {
        get(s, lo + child); // a b
        weigh(s, -1);
        if (is_less(s, -2, -1)) {
            lua_remove(s->w.L, -2);
            return child + 1;
        }
        lua_pop(s->w.L, 1);
    }
    return child;
}

/* Lets the value on top of the stack sink to its place, from the free place `node` on. */
static void sift_down(struct sort *s, unsigned lo, unsigned node, unsigned n)
{
    while (node <= n / 2) { // value
        unsigned child = get_larger_child(s, lo, node, n); // value childs
        weigh(s, -1);
        if (!is_less(s, -2, -1)) {
            lua_pop(s->w.L, 1);
            break;
        }
        put(s, lo + node - 1); // value
        node = child;
    }
    put(s, lo + node - 1);
}

static void heapsort(struct sort *s, unsigned lo, unsigned hi)
{
    unsigned n = hi - lo + 1;
    for (unsigned node = n / 2; node >= 1; node--) {
        get(s, lo + node - 1);
        sift_down(s, lo, node, n);
    }
    for (; n > 1; n--) {
        get(s, lo + n - 1);
        get(s, lo); // last first
        put(s, lo + n - 1);
        sift_down(s, lo, 1, n - 1);
    }
}

/* With the pivot's value on top of the stack and, for an honest comparator, something not
 * below it at hi - 1 (the pivot) and not above it at lo: parts [lo, hi] so that what is
 * before the returned place is not above the pivot, and what is behind it not below. */
static unsigned partition(struct sort *s, unsigned lo, unsigned hi)
{
    lua_State *L = s->w.L;
    unsigned i = lo, j = hi - 1;
    weigh(s, -1);
    for (;;) { // pivot
        while (get(s, ++i), is_less(s, -1, -2)) { // pivot a[i]
            if (i == hi - 1)
                luaL_error(L, "invalid order function for sorting");
            lua_pop(L, 1);
        }
        while (get(s, --j), is_less(s, -3, -1)) { // pivot a[i] a[j]
            if (j < i)
                luaL_error(L, "invalid order function for sorting");
            lua_pop(L, 1);
        }
        if (j < i)
            break;
        put(s, i);
        put(s, j);
    }
    lua_pop(L, 1); // pivot a[i]
    get(s, hi - 1);
    put(s, i);
    put(s, hi - 1);
    return i;
}

/* Median of three: puts it to hi - 1, its value on the stack; lo and hi hold the others. */
static void choose_pivot(struct sort *s, unsigned lo, unsigned hi)
{
    unsigned middle = lo + (hi - lo) / 2;
    order_three(s, lo, middle, hi);
    get(s, middle);
    lua_pushvalue(s->w.L, -1);
    get(s, hi - 1); // pivot pivot other
    put(s, middle);
    put(s, hi - 1); // pivot
}

/* At most three. */
static void sort_few(struct sort *s, unsigned lo, unsigned hi)
{
    if (hi == lo + 2)
        order_three(s, lo, lo + 1, hi);
    else if (hi == lo + 1)
        order_two(s, lo, hi);
}

static void sort_range(struct sort *s, unsigned lo, unsigned hi, int patience)
{
    while (hi > lo + 2) {
        if (patience-- == 0) {
            heapsort(s, lo, hi);
            return;
        }
        choose_pivot(s, lo, hi); // pivot
        unsigned p = partition(s, lo, hi);
        lua_pop(s->w.L, 1);
        if (p - lo < hi - p) { /* the smaller part by recursion: at most 31 deep */
            sort_range(s, lo, p - 1, patience);
            lo = p + 1;
        } else {
            sort_range(s, p + 1, hi, patience);
            hi = p - 1;
        }
    }
    sort_few(s, lo, hi);
}

static int log2_of(lua_Integer n)
{
    int log = 0;
    while (n >>= 1)
        log++;
    return log;
}

static int l_sort(lua_State *L)
{
    lua_Integer n = check_length(L, 1, "rwl");
    struct sort s = {{L, 0, access_units(L, 1)}, false, 0};
    if (n < 2)
        return 0;
    luaL_argcheck(L, n < INT_MAX, 1, "array too big");
    if (!lua_isnoneornil(L, 2)) {
        luaL_checktype(L, 2, LUA_TFUNCTION);
        s.by_function = true;
    }
    lua_settop(L, 2);
    luaL_checkstack(L, 8, "too deep to sort");
    sort_range(&s, 1, (unsigned)n, 2 * log2_of(n));
    settle(&s.w);
    return 0;
}

/* ---- the table ----------------------------------------------------------------- */

static const luaL_Reg replacements[] = {
    {"insert", l_insert}, {"remove", l_remove}, {"move", l_move}, {"concat", l_concat},
    {"unpack", l_unpack}, {"sort", l_sort}, {NULL, NULL}
};

void hcb_lua_open_table(lua_State *L)
{
    lua_getglobal(L, LUA_TABLIBNAME);
    luaL_setfuncs(L, replacements, 0);
    lua_pop(L, 1);
}
