/* The coroutine library: Lua's own, but for what must let a stop through, and for close,
 * whose nesting Lua does not count. */
#include "script/lua_library.h"
#include "script/sandbox.h"
#include <lauxlib.h>
#include <lualib.h>

static lua_State *check_thread(lua_State *L)
{
    lua_State *co = lua_tothread(L, 1);
    luaL_argexpected(L, co, 1, "coroutine");
    return co;
}

/* Why it cannot be resumed; NULL if it can. */
static const char *fault_of(lua_State *co, int args)
{
    int status = lua_status(co);
    lua_Debug ar;
    if (status == LUA_OK && lua_getstack(co, 0, &ar))
        return "cannot resume non-suspended coroutine";
    if ((status == LUA_OK && lua_gettop(co) == 0) || (status != LUA_OK && status != LUA_YIELD))
        return "cannot resume dead coroutine";
    return lua_checkstack(co, args) ? NULL : "too many arguments to resume";
}

/* The values on top of L go to co. Returns the number of results that are then on top of
 * L; -1: the error value is. */
static int resume(lua_State *L, lua_State *co, int args)
{
    int results;
    const char *fault = fault_of(co, args);
    if (fault) {
        lua_pushstring(L, fault);
        return -1;
    }
    lua_xmove(L, co, args);
    hcb_sandbox_switch(L, co);
    int status = lua_resume(co, L, args, &results);
    hcb_sandbox_back(L);
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_xmove(co, L, 1);
        return -1;
    }
    if (!lua_checkstack(L, results + 1)) {
        lua_pop(co, results);
        lua_pushliteral(L, "too many results to resume");
        return -1;
    }
    lua_xmove(co, L, results);
    return results;
}

static int l_resume(lua_State *L)
{
    lua_State *co = check_thread(L);
    int n = resume(L, co, lua_gettop(L) - 1);
    lua_pushboolean(L, n >= 0);
    n = n < 0 ? 1 : n;
    lua_insert(L, -(n + 1));
    return n + 1;
}

/* Closes the pending variables of the coroutine at `thread` by Lua's own close, at `stock`:
 * -> its results */
static int close_by(lua_State *L, int stock, int thread)
{
    lua_State *co = lua_tothread(L, thread);
    if (hcb_sandbox_deep(L))
        return luaL_error(L, "coroutines that close each other are nested too deep");
    int top = lua_gettop(L);
    lua_pushvalue(L, stock);
    lua_pushvalue(L, thread);
    hcb_sandbox_switch(L, co);
    lua_call(L, 1, LUA_MULTRET);
    hcb_sandbox_back(L);
    return lua_gettop(L) - top;
}

/* Only one that is suspended or dead can be closed; Lua's own says so of the others. */
static int l_close(lua_State *L)
{
    lua_State *co = check_thread(L);
    lua_Debug ar;
    if (co == L || (lua_status(co) == LUA_OK && lua_getstack(co, 0, &ar)))
        return luaL_error(L, "cannot close a %s coroutine", co == L ? "running" : "normal");
    return close_by(L, lua_upvalueindex(1), 1);
}

/* A text gets the place of who called, as Lua's own does it. */
static int raise_here(lua_State *L)
{
    if (lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int wrapped(lua_State *L)
{
    lua_State *co = lua_tothread(L, lua_upvalueindex(2));
    int n = resume(L, co, lua_gettop(L));
    if (n >= 0)
        return n;
    int status = lua_status(co);
    if (status != LUA_OK && status != LUA_YIELD) { // it failed: error
        if (close_by(L, lua_upvalueindex(1), lua_upvalueindex(2)) == 2) // error false error
            return raise_here(L);
        lua_settop(L, -2);
    }
    return raise_here(L);
}

static int l_wrap(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_State *co = lua_newthread(L); // f close co
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    lua_pushcclosure(L, wrapped, 2);
    return 1;
}

void hcb_lua_open_coroutine(lua_State *L)
{
    static const luaL_Reg closing[] = {{"close", l_close}, {"wrap", l_wrap}, {NULL, NULL}};
    luaL_requiref(L, LUA_COLIBNAME, luaopen_coroutine, 1); // coroutine
    lua_pushcfunction(L, l_resume);
    lua_setfield(L, -2, "resume");
    lua_getfield(L, -1, "close"); // coroutine close
    luaL_setfuncs(L, closing, 1);
    lua_pop(L, 1);
}
