/* The global `hotcb`, and `print`: what a script may ask of the host. Nothing is
 * done here; it is queued (effects.h). */
#include "base/clock.h"
#include "base/json.h"
#include "script/lua_value.h"
#include "script/script_impl.h"
#include <lauxlib.h>
#include <string.h>

#define HCB_KEY_FORMAT "hcb.format" /* string.format, whatever the script does to its own */

/* NULL where there is no room for it. */
static struct hcb_effect *queue(lua_State *L, enum hcb_effect_kind kind, const char *text,
                                size_t n)
{
    hcb_sandbox_hold(L);
    struct hcb_effect *e = hcb_effects_add(hcb_script_of(L)->effects, kind, text, n);
    hcb_sandbox_release(L);
    return e;
}

static void queue_log(lua_State *L, enum hotcb_level level, int idx)
{
    size_t n;
    const char *text = luaL_tolstring(L, idx, &n);
    struct hcb_effect *e = queue(L, HCB_EFFECT_LOG, text, n);
    if (e)
        e->level = level;
    lua_pop(L, 1);
}

/* One argument is the line itself, so that a '%' in it is no format. */
int hcb_lua_log(lua_State *L, enum hotcb_level level, int first)
{
    int n = lua_gettop(L);
    luaL_checkany(L, first);
    if (n > first) {
        luaL_checktype(L, first, LUA_TSTRING);
        lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_FORMAT);
        lua_insert(L, first);
        lua_call(L, n - first + 1, 1);
    }
    queue_log(L, level, first);
    return 0;
}

static int l_log(lua_State *L)
{
    static const char *const names[] = {"debug", "info", "warn", "error", NULL};
    static const enum hotcb_level levels[] = {HOTCB_DEBUG, HOTCB_INFO, HOTCB_WARN, HOTCB_ERROR};
    if (lua_gettop(L) == 1)
        return hcb_lua_log(L, HOTCB_INFO, 1);
    return hcb_lua_log(L, levels[luaL_checkoption(L, 1, NULL, names)], 2);
}

static int l_print(lua_State *L)
{
    luaL_Buffer line;
    int n = lua_gettop(L);
    luaL_buffinit(L, &line);
    for (int i = 1; i <= n; i++) {
        if (i > 1)
            luaL_addchar(&line, ' ');
        luaL_tolstring(L, i, NULL);
        luaL_addvalue(&line);
    }
    luaL_pushresult(&line);
    queue_log(L, HOTCB_INFO, lua_gettop(L));
    return 0;
}

/* hotcb.artifact(name, bytes [, "append"]); the name is judged when it is written. */
static int l_artifact(lua_State *L)
{
    static const char *const modes[] = {"replace", "append", NULL};
    size_t name_len, n;
    const char *name = luaL_checklstring(L, 1, &name_len);
    luaL_checktype(L, 2, LUA_TSTRING);
    const char *bytes = lua_tolstring(L, 2, &n);
    int append = luaL_checkoption(L, 3, "replace", modes);
    hcb_sandbox_hold(L);
    struct hcb_effect *e = hcb_effects_add_bytes(hcb_script_of(L)->effects, HCB_EFFECT_ARTIFACT,
                                                 name, name_len, bytes, n);
    if (e)
        e->append = append == 1;
    hcb_sandbox_release(L);
    return 0;
}

static int l_stop(lua_State *L)
{
    size_t n;
    const char *reason = luaL_optlstring(L, 1, "a callback asked for it", &n);
    queue(L, HCB_EFFECT_STOP, reason, n);
    return 0;
}

static int l_disable(lua_State *L)
{
    queue(L, HCB_EFFECT_DISABLE, "", 0);
    return 0;
}

static int l_clock(lua_State *L)
{
    lua_pushnumber(L, (lua_Number)hcb_clock_ns() / 1e9);
    return 1;
}

#define SCRATCH_BYTES (64 << 10)

void hcb_script_spare_scratch(struct hcb_script *s)
{
    if (s->scratch.cap > SCRATCH_BYTES)
        hcb_buf_release(&s->scratch);
}

/* Both use storage of the script's, since pushing the result may raise. */
static int encode(lua_State *L, struct hcb_script *s, struct hcb_err *err)
{
    hcb_value_release(&s->scratch_value);
    int status = hcb_value_from_lua(L, 1, &s->scratch_value, err);
    if (status < 0)
        return status;
    hcb_buf_reset(&s->scratch);
    hcb_json_value(&s->scratch, &s->scratch_value);
    hcb_value_release(&s->scratch_value);
    return s->scratch.oom ? hcb_fail_nomem(err) : 0;
}

static int l_json_encode(lua_State *L)
{
    struct hcb_script *s = hcb_script_of(L);
    struct hcb_err err;
    luaL_checkany(L, 1);
    hcb_value_make_room(L);
    hcb_sandbox_hold(L);
    int status = encode(L, s, &err);
    hcb_sandbox_release(L);
    if (status < 0)
        return luaL_error(L, "json.encode: %s", err.text);
    lua_pushlstring(L, s->scratch.data, s->scratch.len);
    hcb_sandbox_hold(L);
    hcb_script_spare_scratch(s);
    hcb_sandbox_release(L);
    return 1;
}

static int decode(struct hcb_script *s, const char *text, size_t n, struct hcb_err *err)
{
    hcb_value_release(&s->scratch_value);
    if (n > HCB_LUA_TEXT_BYTES)
        return hcb_fail(err, HOTCB_EFORMAT, "more than %d KiB of text", HCB_LUA_TEXT_BYTES >> 10);
    return hcb_json_parse_within(text, n, HCB_LUA_NODES, &s->scratch_value, err);
}

static int l_json_decode(lua_State *L)
{
    struct hcb_script *s = hcb_script_of(L);
    struct hcb_err err;
    size_t n;
    luaL_checktype(L, 1, LUA_TSTRING);
    const char *text = lua_tolstring(L, 1, &n);
    hcb_sandbox_hold(L);
    int status = decode(s, text, n, &err);
    hcb_sandbox_release(L);
    if (status < 0) {
        lua_pushnil(L);
        lua_pushstring(L, err.text);
        return 2;
    }
    hcb_value_to_lua(L, &s->scratch_value);
    hcb_sandbox_hold(L);
    hcb_value_release(&s->scratch_value);
    hcb_sandbox_release(L);
    return 1;
}

static const luaL_Reg functions[] = {
    {"log", l_log},
    {"scalar", hcb_lua_scalar},
    {"histogram", hcb_lua_histogram},
    {"image", hcb_lua_image},
    {"artifact", l_artifact},
    {"stop", l_stop},
    {"disable", l_disable},
    {"clock", l_clock},
    {"system", hcb_lua_system},
    {NULL, NULL}
};

static const luaL_Reg json[] = {
    {"encode", l_json_encode}, {"decode", l_json_decode}, {NULL, NULL}
};

void hcb_lua_open_host(lua_State *L)
{
    luaL_newlib(L, functions); // hotcb
    luaL_newlib(L, json);      // hotcb json
    lua_setfield(L, -2, "json");
    lua_setglobal(L, "hotcb");
    lua_pushcfunction(L, l_print);
    lua_setglobal(L, "print");
    lua_getglobal(L, "string"); // string
    lua_getfield(L, -1, "format");
    lua_setfield(L, LUA_REGISTRYINDEX, HCB_KEY_FORMAT);
    lua_pop(L, 1);
}
