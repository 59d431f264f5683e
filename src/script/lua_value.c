/* Plain data between Lua and hcb_value. */
#include "script/lua_value.h"
#include "script/script_impl.h"
#include <lauxlib.h>
#include <string.h>

/* One reading. A table that stands in several places is read in each of them, so what
 * takes little room in Lua may take any amount as plain data: hence the bounds. */
struct reading {
    lua_State *L;
    struct hcb_lua_room *room; /* that may still be read */
    struct hcb_err *err;
};

static int from_lua(struct reading *r, int idx, struct hcb_value *out, int depth);

static bool spend(struct reading *r, size_t nodes, size_t bytes)
{
    if (nodes > r->room->nodes || bytes > r->room->bytes)
        return false;
    r->room->nodes -= nodes;
    r->room->bytes -= bytes;
    return true;
}

static int too_large(struct reading *r)
{
    return hcb_fail(r->err, HOTCB_EFORMAT, "too many entries or too much text in all");
}

static int from_list(struct reading *r, int idx, size_t n, struct hcb_value *out, int depth)
{
    hcb_value_list(out);
    for (size_t i = 1; i <= n; i++) {
        struct hcb_value *item = hcb_list_add(out);
        if (!item)
            return hcb_fail_nomem(r->err);
        if (lua_rawgeti(r->L, idx, (lua_Integer)i) == LUA_TNIL)
            return hcb_fail(r->err, HOTCB_EFORMAT, "a list with holes");
        int status = from_lua(r, lua_gettop(r->L), item, depth + 1);
        if (status < 0)
            return status;
        lua_pop(r->L, 1);
    }
    return 0;
}

/* A table has each key once, so a new pair need not be looked for. */
static int from_pair(struct reading *r, struct hcb_value *out, int depth)
{
    size_t n;
    if (lua_type(r->L, -2) != LUA_TSTRING)
        return hcb_fail(r->err, HOTCB_EFORMAT,
                        "a table with keys that are neither text nor 1..n");
    const char *key = lua_tolstring(r->L, -2, &n);
    if (strlen(key) != n)
        return hcb_fail(r->err, HOTCB_EFORMAT, "a key with a NUL character");
    if (!spend(r, 0, n))
        return too_large(r);
    struct hcb_value *item = hcb_map_append(out, key);
    if (!item)
        return hcb_fail_nomem(r->err);
    return from_lua(r, lua_gettop(r->L), item, depth + 1);
}

static int from_map(struct reading *r, int idx, struct hcb_value *out, int depth)
{
    hcb_value_map(out);
    lua_pushnil(r->L);
    while (lua_next(r->L, idx)) {
        int status = from_pair(r, out, depth);
        if (status < 0)
            return status;
        lua_pop(r->L, 1);
    }
    return 0;
}

static size_t count_entries(lua_State *L, int idx)
{
    size_t count = 0;
    lua_pushnil(L);
    while (lua_next(L, idx)) {
        count++;
        lua_pop(L, 1);
    }
    return count;
}

static int from_slot(struct reading *r, const struct hcb_slot *slot, struct hcb_value *out)
{
    switch (slot->type) {
    case HCB_SLOT_INT: hcb_value_int(out, slot->u.i); return 0;
    case HCB_SLOT_NUM: hcb_value_real(out, slot->u.d); return 0;
    case HCB_SLOT_BOOL: hcb_value_bool(out, slot->u.b); return 0;
    case HCB_SLOT_STR:
        if (!spend(r, 0, slot->text_len))
            return too_large(r);
        return hcb_value_text(out, slot->text, slot->text_len) ? 0 : hcb_fail_nomem(r->err);
    default: return hcb_fail(r->err, HOTCB_EFORMAT, "a userdata, which is not plain data");
    }
}

/* What the host has set in a group, but for keys that `own` has. */
static int from_host(struct reading *r, int group, const struct hcb_value *own,
                     struct hcb_value *out)
{
    struct hcb_map_search written = {.map = own};
    const struct hcb_slot *slot;
    size_t at = 0;
    int status = 0;
    hcb_value_map(out);
    while (status == 0 && (slot = hcb_env_next(hcb_script_of(r->L)->env, group, &at))) {
        if (hcb_map_search(&written, slot->key))
            continue;
        if (!spend(r, 1, slot->key_len)) {
            status = too_large(r);
            break;
        }
        struct hcb_value *item = hcb_map_append(out, slot->key);
        status = item ? from_slot(r, slot, item) : hcb_fail_nomem(r->err);
    }
    hcb_map_search_end(&written);
    return status;
}

/* Moves what is in `more` to the end of `out`. */
static int append_all(struct reading *r, struct hcb_value *out, struct hcb_value *more)
{
    for (size_t i = 0; i < more->u.map.n; i++) {
        struct hcb_value *item = hcb_map_append(out, more->u.map.p[i].key);
        if (!item)
            return hcb_fail_nomem(r->err);
        *item = more->u.map.p[i].value;
        memset(&more->u.map.p[i].value, 0, sizeof *item);
    }
    return 0;
}

/* As pairs shows it: what the host has set, and what the script wrote, which hides that. */
static int from_group(struct reading *r, int idx, int group, struct hcb_value *out, int depth)
{
    struct hcb_value more = {0};
    if (!spend(r, count_entries(r->L, idx), 0))
        return too_large(r);
    int status = from_map(r, idx, out, depth);
    if (status < 0 || group <= 0)
        return status;
    status = from_host(r, group, out, &more);
    if (status == 0)
        status = append_all(r, out, &more);
    hcb_value_release(&more);
    return status;
}

static int from_view(struct reading *r, int idx, int group, struct hcb_value *out, int depth)
{
    if (!hcb_script_of(r->L)->env)
        return hcb_fail(r->err, HOTCB_EFORMAT, "env, which holds only during handle and on_attach");
    if (group == 0)
        return hcb_fail(r->err, HOTCB_EFORMAT, "env itself, which is not plain data");
    return from_group(r, idx, group, out, depth);
}

#define TABLE_UNITS 2000 /* of work: a large table may have few entries */

static int from_table(struct reading *r, int idx, struct hcb_value *out, int depth)
{
    if (hcb_sandbox_overdue(r->L, TABLE_UNITS))
        return hcb_fail(r->err, HOTCB_EFORMAT, "no time is left to read it");
    if (depth >= HCB_VALUE_DEPTH || !lua_checkstack(r->L, 8))
        return hcb_fail(r->err, HOTCB_EFORMAT, "tables nested more than %d deep",
                        HCB_VALUE_DEPTH);
    int view = hcb_lua_group_shown(r->L, idx);
    if (view != HCB_NO_VIEW)
        return from_view(r, idx, view, out, depth);
    size_t n = (size_t)lua_rawlen(r->L, idx), count = count_entries(r->L, idx);
    if (!spend(r, count, 0))
        return too_large(r);
    if (n > 0 && n == count)
        return from_list(r, idx, n, out, depth);
    return from_map(r, idx, out, depth);
}

static int from_text(struct reading *r, int idx, struct hcb_value *out)
{
    size_t n;
    const char *s = lua_tolstring(r->L, idx, &n);
    if (!spend(r, 0, n))
        return too_large(r);
    return hcb_value_text(out, s, n) ? 0 : hcb_fail_nomem(r->err);
}

static int from_lua(struct reading *r, int idx, struct hcb_value *out, int depth)
{
    lua_State *L = r->L;
    switch (lua_type(L, idx)) {
    case LUA_TNIL: return 0;
    case LUA_TBOOLEAN: hcb_value_bool(out, lua_toboolean(L, idx)); return 0;
    case LUA_TNUMBER:
        if (lua_isinteger(L, idx))
            hcb_value_int(out, lua_tointeger(L, idx));
        else
            hcb_value_real(out, lua_tonumber(L, idx));
        return 0;
    case LUA_TSTRING: return from_text(r, idx, out);
    case LUA_TTABLE: return from_table(r, idx, out, depth);
    default:
        return hcb_fail(r->err, HOTCB_EFORMAT, "a %s, which is not plain data",
                        lua_typename(L, lua_type(L, idx)));
    }
}

int hcb_value_from_lua_within(lua_State *L, int idx, struct hcb_lua_room *room,
                              struct hcb_value *out, struct hcb_err *err)
{
    struct reading r = {.L = L, .room = room, .err = err};
    int top = lua_gettop(L);
    int status = from_lua(&r, lua_absindex(L, idx), out, 0);
    lua_settop(L, top);
    if (status < 0)
        hcb_value_release(out);
    return status;
}

int hcb_value_from_lua(lua_State *L, int idx, struct hcb_value *out, struct hcb_err *err)
{
    struct hcb_lua_room room = {HCB_LUA_NODES, HCB_LUA_TEXT_BYTES};
    return hcb_value_from_lua_within(L, idx, &room, out, err);
}

/* What reading takes at each depth, and at the first. */
void hcb_value_make_room(lua_State *L)
{
    luaL_checkstack(L, 8 * (HCB_VALUE_DEPTH + 2), NULL);
}

int hcb_value_from_lua_held(lua_State *L, int idx, struct hcb_value *out, struct hcb_err *err)
{
    hcb_value_make_room(L);
    hcb_sandbox_hold(L);
    int status = hcb_value_from_lua(L, idx, out, err);
    hcb_sandbox_release(L);
    return status;
}

static void push_list(lua_State *L, const struct hcb_value *v)
{
    lua_createtable(L, (int)v->u.list.n, 0);
    for (size_t i = 0; i < v->u.list.n; i++) {
        hcb_value_to_lua(L, &v->u.list.v[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

static void push_map(lua_State *L, const struct hcb_value *v)
{
    lua_createtable(L, 0, (int)v->u.map.n);
    for (size_t i = 0; i < v->u.map.n; i++) {
        lua_pushstring(L, v->u.map.p[i].key);
        hcb_value_to_lua(L, &v->u.map.p[i].value);
        lua_rawset(L, -3);
    }
}

void hcb_value_to_lua(lua_State *L, const struct hcb_value *v)
{
    luaL_checkstack(L, 4, NULL);
    switch (v->type) {
    case HCB_NULL: lua_pushnil(L); break;
    case HCB_BOOL: lua_pushboolean(L, v->u.b); break;
    case HCB_INT: lua_pushinteger(L, v->u.i); break;
    case HCB_REAL: lua_pushnumber(L, v->u.d); break;
    case HCB_TEXT: lua_pushlstring(L, v->u.text.s, v->u.text.n); break;
    case HCB_LIST: push_list(L, v); break;
    case HCB_MAP: push_map(L, v); break;
    }
}
