/* The table `env` that handle gets, and its groups: one table each per state, whose
 * missing fields are looked up in what the host has set. What a script writes goes
 * into the table itself and is taken out again before the next call. */
#include "script/script_impl.h"
#include <lauxlib.h>
#include <string.h>

static struct hotcb_env *live_env(lua_State *L)
{
    struct hotcb_env *env = hcb_script_of(L)->env;
    if (!env)
        luaL_error(L, "env holds only during handle and on_attach");
    return env;
}

static void push_slot(lua_State *L, const struct hcb_slot *slot)
{
    switch (slot ? slot->type : HCB_SLOT_EMPTY) {
    case HCB_SLOT_INT: lua_pushinteger(L, slot->u.i); break;
    case HCB_SLOT_NUM: lua_pushnumber(L, slot->u.d); break;
    case HCB_SLOT_BOOL: lua_pushboolean(L, slot->u.b); break;
    case HCB_SLOT_STR: lua_pushlstring(L, slot->text, slot->text_len); break;
    case HCB_SLOT_TENSOR: hcb_lua_push_tensor(L, slot->tensor); break;
    case HCB_SLOT_EMPTY: lua_pushnil(L); break;
    }
}

/* The group a table stands for is known by its name, for numbers differ between
 * the envs of one run. */
static int group_of(lua_State *L, struct hotcb_env *env)
{
    size_t n;
    const char *name = lua_tolstring(L, lua_upvalueindex(1), &n);
    return n == 0 ? 0 : hcb_env_find_group(env, name, n);
}

static void push_group(lua_State *L, const char *name);

static int l_env_log(lua_State *L)
{
    return hcb_lua_log(L, HOTCB_INFO, 1);
}

/* Its provider, if it has one, is the host's code. */
static const struct hcb_slot *read_slot(lua_State *L, struct hotcb_env *env, int group,
                                        const char *key, size_t n)
{
    hcb_sandbox_hold(L);
    const struct hcb_slot *slot = hcb_env_read(env, group, key, n);
    hcb_sandbox_release(L);
    return slot;
}

static const struct hcb_slot *next_slot(lua_State *L, struct hotcb_env *env, int group,
                                        size_t *at)
{
    hcb_sandbox_hold(L);
    const struct hcb_slot *slot = hcb_env_next(env, group, at);
    hcb_sandbox_release(L);
    return slot;
}

/* ---- hot fields ---------------------------------------------------------------- */

/* It may have become lazy, of another type, or one of a group since it was read. */
static bool can_be_hot(const struct hcb_slot *slot)
{
    return !slot->lazy && slot->group == 0 &&
           (slot->type == HCB_SLOT_INT || slot->type == HCB_SLOT_NUM ||
            slot->type == HCB_SLOT_BOOL);
}

/* The script has read this field, whose name is at stack index 2. */
static void learn(lua_State *L, const struct hotcb_env *env, const struct hcb_slot *slot)
{
    struct hcb_hot *hot = &hcb_script_of(L)->hot;
    uint32_t number = (uint32_t)(slot - env->slots);
    if (hot->n == HCB_HOT || !can_be_hot(slot) || (hot->n > 0 && hot->env != env->serial))
        return;
    for (unsigned i = 0; i < hot->n; i++)
        if (hot->slot[i] == number)
            return;
    lua_pushvalue(L, 2);
    lua_rawseti(L, LUA_REGISTRYINDEX, HCB_KEY_HOT + (int)hot->n);
    hot->env = env->serial;
    hot->slot[hot->n++] = number;
}

static void place_names(lua_State *L, struct hcb_hot *hot)
{
    for (; hot->placed < hot->n; hot->placed++) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, HCB_KEY_HOT + (int)hot->placed);
        lua_replace(L, HCB_AT_HOT + (int)hot->placed);
    }
}

static void push_hot(lua_State *L, const struct hcb_slot *slot)
{
    if (!can_be_hot(slot))
        lua_pushnil(L);
    else if (slot->type == HCB_SLOT_INT)
        lua_pushinteger(L, slot->u.i);
    else
        push_slot(L, slot);
}

bool hcb_lua_refresh_hot(lua_State *L, struct hcb_script *s)
{
    struct hcb_hot *hot = &s->hot;
    const struct hcb_slot *slots = s->env->slots;
    if (s->env_written || hot->env != s->env->serial || ++hot->calls % 1024 == 0)
        return false;
    if (hot->placed < hot->n)
        place_names(L, hot);
    for (unsigned i = 0; i < hot->n; i++) {
        lua_pushvalue(L, HCB_AT_HOT + (int)i);
        push_hot(L, &slots[hot->slot[i]]);
        lua_rawset(L, HCB_AT_ENV);
    }
    return true;
}

/* field -> field, and whether it is what the host has set: else the script wrote it. */
static bool is_of_host(lua_State *L, const struct hcb_slot *slot)
{
    push_hot(L, slot);
    bool nan = lua_type(L, -2) == LUA_TNUMBER && !lua_rawequal(L, -2, -2);
    bool same = lua_rawequal(L, -1, -2) || (nan && !lua_rawequal(L, -1, -1));
    lua_pop(L, 1);
    return same;
}

void hcb_lua_cool_env(lua_State *L, struct hcb_script *s)
{
    if (s->hot.placed == 0)
        return;
    lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_ENV); // env
    for (unsigned i = 0; i < s->hot.placed; i++) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, HCB_KEY_HOT + (int)i);
        lua_pushvalue(L, -1); // env name name
        if (lua_rawget(L, -3) != LUA_TNIL && is_of_host(L, &s->env->slots[s->hot.slot[i]])) {
            lua_pop(L, 1);
            lua_pushnil(L); // env name nil
            lua_rawset(L, -3);
        } else {
            lua_pop(L, 2);
        }
    }
    lua_pop(L, 1);
}

static bool is_text(const char *text, const char *key, size_t n)
{
    return n == strlen(text) && memcmp(text, key, n) == 0;
}

static int l_index(lua_State *L)
{
    struct hotcb_env *env = live_env(L);
    int group = group_of(L, env);
    size_t n;
    if (group < 0 || lua_type(L, 2) != LUA_TSTRING)
        return 0;
    const char *key = lua_tolstring(L, 2, &n);
    if (group == 0 && is_text("log", key, n)) {
        lua_pushcfunction(L, l_env_log);
        return 1;
    }
    const struct hcb_slot *slot = read_slot(L, env, group, key, n);
    if (slot) {
        if (group == 0)
            learn(L, env, slot);
        push_slot(L, slot);
    } else if (group == 0 && is_text("framework", key, n)) {
        lua_pushstring(L, hcb_script_of(L)->framework);
    } else if (group == 0 && hcb_env_find_group(env, key, n) > 0) {
        push_group(L, key);
    } else {
        lua_pushnil(L);
    }
    return 1;
}

static int l_newindex(lua_State *L)
{
    hcb_script_of(L)->env_written = true;
    lua_rawset(L, 1);
    return 0;
}

int hcb_lua_group_shown(lua_State *L, int table)
{
    const struct hotcb_env *env = hcb_script_of(L)->env;
    int group = HCB_NO_VIEW;
    if (!lua_getmetatable(L, table))
        return HCB_NO_VIEW;
    lua_pushliteral(L, "__index");
    if (lua_rawget(L, -2) == LUA_TFUNCTION && lua_tocfunction(L, -1) == l_index) {
        lua_getupvalue(L, -1, 1); // meta index name
        size_t n = lua_rawlen(L, -1);
        group = n == 0 ? 0 : env ? hcb_env_find_group(env, lua_tostring(L, -1), n) : -1;
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
    return group;
}

static bool is_view(lua_State *L, int table)
{
    return hcb_lua_group_shown(L, table) != HCB_NO_VIEW;
}

/* table -> the same, with what the host has set in that group */
static void copy_slots(lua_State *L, struct hotcb_env *env, int group)
{
    size_t at = 0;
    const struct hcb_slot *slot;
    while ((slot = next_slot(L, env, group, &at))) {
        lua_pushlstring(L, slot->key, slot->key_len);
        push_slot(L, slot);
        lua_rawset(L, -3);
    }
}

static void copy_groups(lua_State *L, const struct hotcb_env *env)
{
    for (size_t i = 1; i < env->group_n; i++) {
        push_group(L, env->groups[i].name);
        lua_setfield(L, -2, env->groups[i].name);
    }
}

/* What the script wrote itself comes last, for it hides what the host has set. */
static void copy_raw(lua_State *L, int from)
{
    lua_pushnil(L);
    while (lua_next(L, from)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
}

/* What the script wrote itself, but for keys that the host has set, which were there before.
 * t key -> the next key, and its value */
static int next_own(lua_State *L, struct hotcb_env *env, int group)
{
    while (lua_next(L, 1)) {
        size_t n;
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tolstring(L, -2, &n) : NULL;
        if (!key || !read_slot(L, env, group, key, n))
            return 2;
        lua_pop(L, 1);
    }
    lua_pushnil(L);
    return 1;
}

/* The iterator of a group, in the host's order. Upvalues: the group's name, and where in it
 * the next slot is; -1: the host's are done. t key -> key value */
static int l_group_next(lua_State *L)
{
    struct hotcb_env *env = live_env(L);
    int group = group_of(L, env);
    lua_Integer place = lua_tointeger(L, lua_upvalueindex(2));
    size_t at = (size_t)place;
    const struct hcb_slot *slot = group >= 0 && place >= 0 ? next_slot(L, env, group, &at) : NULL;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    lua_pushinteger(L, slot ? (lua_Integer)at : -1);
    lua_replace(L, lua_upvalueindex(2));
    if (!slot) {
        if (place >= 0) { /* its own begin */
            lua_pushnil(L);
            lua_replace(L, 2);
        }
        return next_own(L, env, group);
    }
    lua_pushlstring(L, slot->key, slot->key_len); // t key key'
    lua_pushvalue(L, -1);
    if (lua_rawget(L, 1) == LUA_TNIL) {           // t key key' own
        lua_pop(L, 1);
        push_slot(L, slot);
    }
    return 2;
}

static int pairs_of_group(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1)); // name
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, l_group_next, 2);  // next
    lua_pushvalue(L, 1);
    lua_pushnil(L); // next t nil
    return 3;
}

/* table -> the same, with what is in the one at index 1 */
static void copy_plain(lua_State *L, struct hotcb_env *env, int group)
{
    if (group == 0) {
        lua_pushstring(L, hcb_script_of(L)->framework);
        lua_setfield(L, -2, "framework");
    }
    if (group >= 0)
        copy_slots(L, env, group);
    if (group == 0) {
        copy_groups(L, env);
        lua_pushcfunction(L, l_env_log);
        lua_setfield(L, -2, "log");
    }
    copy_raw(L, 1);
}

static int l_pairs(lua_State *L)
{
    struct hotcb_env *env = live_env(L);
    if (group_of(L, env) != 0)
        return pairs_of_group(L);
    lua_pushvalue(L, lua_upvalueindex(2)); // next
    lua_newtable(L);
    copy_plain(L, env, 0);                 // next all
    lua_pushnil(L);                        // next all nil
    return 3;
}

/* ---- functions that go by no metamethods ---------------------------------------- */

static int l_rawset(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkany(L, 2);
    luaL_checkany(L, 3);
    lua_settop(L, 3);
    if (is_view(L, 1))
        hcb_script_of(L)->env_written = true;
    lua_rawset(L, 1);
    return 1;
}

static int l_rawget(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkany(L, 2);
    lua_settop(L, 2);
    if (is_view(L, 1))
        lua_gettable(L, 1);
    else
        lua_rawget(L, 1);
    return 1;
}

/* t key -> t key keys: those that next goes by, in this call. They are listed when it begins;
 * a walk that goes on meanwhile finds its key in the same list, whatever was taken away. */
static void push_keys(lua_State *L)
{
    struct hotcb_env *env = live_env(L);
    lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_WALKS); // t key walks
    lua_pushvalue(L, 1);
    bool known = lua_rawget(L, 3) != LUA_TNIL;
    if (!known) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, 1);
        lua_pushvalue(L, 4);
        hcb_script_of(L)->env_written = true;
        lua_rawset(L, 3);
    }
    if (!known || lua_isnil(L, 2))
        copy_plain(L, env, hcb_lua_group_shown(L, 1));
    lua_remove(L, 3);
}

static int next_of_view(lua_State *L)
{
    push_keys(L); // t key keys
    lua_insert(L, 2);
    while (lua_next(L, 2)) { // t keys key value
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        if (lua_gettable(L, 1) != LUA_TNIL) /* it may have been taken away since */
            return 2;
        lua_pop(L, 1);
    }
    lua_pushnil(L);
    return 1;
}

static int l_next(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    if (is_view(L, 1))
        return next_of_view(L);
    if (lua_next(L, 1))
        return 2;
    lua_pushnil(L);
    return 1;
}

static const luaL_Reg metamethods[] = {
    {"__index", l_index}, {"__newindex", l_newindex}, {"__pairs", l_pairs}, {NULL, NULL}
};

/* -> table of that group; "" is env itself */
static void push_view(lua_State *L, const char *group)
{
    lua_newtable(L);                     // t
    lua_createtable(L, 0, 4);            // t meta
    lua_pushstring(L, group);            // t meta group
    lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_NEXT); // t meta group next
    luaL_setfuncs(L, metamethods, 2);    // t meta
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
}

static void push_group(lua_State *L, const char *name)
{
    lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_GROUPS); // groups
    if (lua_getfield(L, -1, name) == LUA_TNIL) {        // groups nil
        lua_pop(L, 1);
        push_view(L, name);
        lua_pushvalue(L, -1);
        lua_setfield(L, -3, name);
    }
    lua_remove(L, -2); // -> group
}

static void clear_raw(lua_State *L, int table)
{
    lua_pushnil(L);
    while (lua_next(L, table)) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, table); /* setting a field that is there to nil is fine under next */
    }
}

static void clear_writes(lua_State *L, int env)
{
    lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_WALKS);
    clear_raw(L, lua_gettop(L));
    lua_pop(L, 1);
    lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_GROUPS);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        clear_raw(L, lua_gettop(L));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    clear_raw(L, env);
}

void hcb_lua_push_env(lua_State *L, struct hcb_script *s)
{
    lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_ENV);
    if (!s->env_written && s->hot.n == 0)
        return;
    clear_writes(L, lua_gettop(L));
    s->env_written = false;
    s->hot.n = s->hot.placed = 0;
}

void hcb_lua_forget_env(lua_State *L, struct hcb_script *s)
{
    if (s->hot.n == 0)
        return;
    hcb_lua_push_env(L, s);
    lua_pop(L, 1);
}

void hcb_lua_open_env(lua_State *L)
{
    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, HCB_KEY_GROUPS);
    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, HCB_KEY_WALKS);
    lua_register(L, "rawset", l_rawset);
    lua_register(L, "rawget", l_rawget);
    lua_getglobal(L, "next");
    lua_setfield(L, LUA_REGISTRYINDEX, HCB_KEY_NEXT);
    lua_register(L, "next", l_next);
    push_view(L, "");
    lua_setfield(L, LUA_REGISTRYINDEX, HCB_KEY_ENV);
}
