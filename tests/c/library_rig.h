/* A sandbox in which the functions of lua_library.h stand in the globals, and Lua's own in
 * a global `stock`, so that a test in Lua can compare the two. */
#ifndef LIBRARY_RIG_H
#define LIBRARY_RIG_H

#include "script/lua_library.h"
#include "script/sandbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>

struct library_rig {
    struct hcb_sandbox sb;
    struct hcb_fault fault;
    const char *text; /* of the chunk that is run */
};

/* Sees what two functions do with the same arguments: outcome() packs results or error,
 * same() compares two of them, and check() raises where two functions differ. The callees
 * have the same name in error texts, as both are called `f`. */
static const char library_prelude[] =
    "local pack, unpack = stock.table.pack, stock.table.unpack\n"
    "local function call(f, ...)\n"
    "  local r = pack(f(...))\n"
    "  return unpack(r, 1, r.n)\n"
    "end\n"
    "function outcome(f, ...) return pack(pcall(call, f, ...)) end\n"
    "function show(t)\n"
    "  local r = {}\n"
    "  for i = 1, t.n do\n"
    "    local v = t[i]\n"
    "    r[i] = type(v) == 'string' and stock.string.format('%q', v) or tostring(v)\n"
    "  end\n"
    "  return stock.table.concat(r, ', ')\n"
    "end\n"
    "function same(a, b)\n"
    "  if a.n ~= b.n then return false end\n"
    "  for i = 1, a.n do\n"
    "    if not rawequal(a[i], b[i]) or math.type(a[i]) ~= math.type(b[i]) then return false end\n"
    "  end\n"
    "  return true\n"
    "end\n"
    "function check(what, ours, theirs, ...)\n"
    "  local a, b = outcome(ours, ...), outcome(theirs, ...)\n"
    "  if not same(a, b) then\n"
    "    error(what .. '(' .. show(pack(...)) .. '): ' .. show(a) .. ' not ' .. show(b), 0)\n"
    "  end\n"
    "  return a\n"
    "end\n"
    "function pick(list) return list[math.random(#list)] end\n"
    "math.randomseed(20240611)\n";

/* A fresh library of Lua's own as field `name` of the table on top, and copied into the
 * global of that name. The metatable of strings stays what it is. */
static inline void library_stock(lua_State *L, const char *name, lua_CFunction open)
{
    lua_pushcfunction(L, open);
    lua_call(L, 0, 1);       // stock lib
    lua_getglobal(L, name);  // stock lib global
    for (lua_pushnil(L); lua_next(L, -3); lua_pop(L, 1)) { // stock lib global key value
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_settable(L, -5);
    }
    lua_pop(L, 1);
    lua_setfield(L, -2, name);
}

static inline int library_setup(lua_State *L)
{
    lua_newtable(L); // stock
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1); // stock "" meta
    lua_insert(L, -3);       // meta stock ""
    lua_insert(L, -2);       // meta "" stock
    library_stock(L, LUA_STRLIBNAME, luaopen_string);
    library_stock(L, LUA_TABLIBNAME, luaopen_table);
    library_stock(L, LUA_UTF8LIBNAME, luaopen_utf8);
    lua_setglobal(L, "stock");
    lua_insert(L, -2);
    lua_setmetatable(L, -2);
    hcb_lua_open_string(L);
    hcb_lua_open_table(L);
    hcb_lua_open_utf8(L);
    return 0;
}

static inline int library_chunk(lua_State *L)
{
    struct library_rig *r = lua_touserdata(L, 1);
    if (luaL_loadbufferx(L, r->text, strlen(r->text), "=test", "t") != LUA_OK)
        return lua_error(L);
    lua_call(L, 0, 0);
    return 0;
}

static inline int library_run(struct library_rig *r, const char *text)
{
    r->text = text;
    return hcb_sandbox_run(&r->sb, library_chunk, r, &r->fault);
}

static inline void library_must_run(struct library_rig *r, const char *text)
{
    if (library_run(r, text) < 0)
        fail_msg("%s\n%s", r->fault.message, r->fault.traceback);
}

static inline void library_open(struct library_rig *r, int64_t time_ms, int64_t memory_mb)
{
    struct hcb_limits limits = {time_ms, memory_mb, 1, true};
    memset(r, 0, sizeof *r);
    if (hcb_sandbox_open(&r->sb, &limits, "test", r, NULL, &r->fault) < 0 ||
        hcb_sandbox_run(&r->sb, library_setup, r, &r->fault) < 0)
        fail_msg("%s", r->fault.message);
    library_must_run(r, library_prelude);
}

static inline void library_close(struct library_rig *r)
{
    hcb_sandbox_close(&r->sb);
}

/* ---- what must not burn time -------------------------------------------------- */

struct hostile_row {
    const char *code;
    const char *reasons; /* names of what may stop it; "" as well if it may end */
};

/* Without a count hook, so that only what the functions count themselves (or a timer that
 * the sandbox may have) can end them. */
static inline int library_chunk_unhooked(lua_State *L)
{
    lua_sethook(L, NULL, 0, 0);
    return library_chunk(L);
}

static inline void library_hostile(const struct hostile_row *row, lua_CFunction run)
{
    struct library_rig r;
    library_open(&r, 2000, 16);
    struct hcb_limits limits = r.sb.limits;
    limits.time_ms = 20;
    hcb_sandbox_limits(&r.sb, &limits);
    r.text = row->code;
    int rc = hcb_sandbox_run(&r.sb, run, &r, &r.fault);
    const char *reason = rc < 0 ? hcb_reason_name(r.fault.reason) : "ok";
    if (!strstr(row->reasons, reason))
        fail_msg("%s: %s (%s), not %s", row->code, reason, r.fault.message, row->reasons);
    library_close(&r);
}

static inline void library_hostiles(const struct hostile_row *rows, size_t n, lua_CFunction run)
{
    for (size_t i = 0; i < n; i++)
        library_hostile(&rows[i], run);
}

#endif
