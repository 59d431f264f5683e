/* require, as text only: which text a name stands for is the host's business
 * (hcb_find_module_fn); that each is loaded once a state is this file's. */
#include "base/platform.h"
#include "script/script_impl.h"
#include <lauxlib.h>
#include <stdlib.h>

static int find_module(struct hcb_script *s, const char *name, struct hcb_err *err)
{
    hcb_buf_reset(&s->module.text);
    free(s->module.chunkname);
    s->module.chunkname = NULL;
    return s->find ? s->find(s->find_user, name, &s->module, err) : 0;
}

/* name loaded -> value; raises where there is none */
static void load_module(lua_State *L, struct hcb_script *s, const char *name)
{
    struct hcb_err err;
    hcb_sandbox_hold(L);
    int was = hcb_platform_hold_cancel();
    int found = find_module(s, name, &err);
    hcb_platform_release_cancel(was);
    hcb_sandbox_release(L);
    if (found < 0)
        luaL_error(L, "require '%s': %s", name, err.text);
    if (found == 0)
        luaL_error(L, "require '%s': no such module (looked in the shipped helpers, beside the "
                      "script and along HOTCB_PATH)", name);
    hcb_lua_load_text(L, hcb_buf_text(&s->module.text), s->module.text.len, s->module.chunkname);
}

/* In HCB_KEY_LOADED, false stands for a module that is just being loaded, or whose
 * loading failed. */
static int l_require(lua_State *L)
{
    struct hcb_script *s = hcb_script_of(L);
    const char *name = luaL_checkstring(L, 1);
    lua_settop(L, 1);
    lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_LOADED); // name loaded
    int type = lua_getfield(L, 2, name);                // name loaded value
    if (type == LUA_TBOOLEAN && !lua_toboolean(L, 3))
        return luaL_error(L, "require '%s': it requires itself, or failed when it was required "
                          "before", name);
    if (type != LUA_TNIL)
        return 1;
    lua_pop(L, 1);
    load_module(L, s, name); // name loaded chunk
    lua_pushboolean(L, 0);
    lua_setfield(L, 2, name);
    lua_pushvalue(L, 1); // name loaded chunk name
    lua_call(L, 1, 1);   // name loaded value
    if (lua_isnil(L, -1) || (lua_isboolean(L, -1) && !lua_toboolean(L, -1))) {
        lua_pop(L, 1);
        lua_pushboolean(L, 1);
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, 2, name);
    return 1;
}

void hcb_lua_open_require(lua_State *L)
{
    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, HCB_KEY_LOADED);
    lua_pushcfunction(L, l_require);
    lua_setglobal(L, "require");
}
