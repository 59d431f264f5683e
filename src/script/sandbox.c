/* The confinement of one Lua state: allocator, budget, allowed globals. */
#include "script/sandbox.h"
#include "base/clock.h"
#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#define HOOK_INSTRUCTIONS 1000
#define TICK_UNITS 20000

static struct hcb_sandbox *sandbox_of(lua_State *L)
{
    return *(struct hcb_sandbox **)lua_getextraspace(L);
}

void *hcb_sandbox_owner(lua_State *L)
{
    return sandbox_of(L)->owner;
}

/* Lua takes it that shrinking never fails, so only growth is refused. */
static void *allocate(void *user, void *p, size_t old, size_t size)
{
    struct hcb_sandbox *sb = user;
    size_t had = p ? old : 0;
    if (size == 0) {
        free(p);
        sb->used -= had;
        return NULL;
    }
    if (size > had && sb->used + (size - had) > sb->cap)
        return NULL;
    void *q = realloc(p, size);
    if (!q && size > had)
        return NULL;
    sb->used = sb->used - had + size;
    return q ? q : p;
}

int hcb_sandbox_raise(lua_State *L, enum hcb_reason reason)
{
    struct hcb_sandbox *sb = sandbox_of(L);
    sb->reason = reason;
    if (reason == HCB_MEMORY)
        sb->dead = HCB_MEMORY;
    return lua_error(L);
}

#define PLACE_LEVELS 8

/* -> "file:line: " of the innermost function in Lua; "" where there is none. The
 * function that raises an error is often one of C's, as error is. */
static void push_place(lua_State *L)
{
    lua_pushliteral(L, "");
    for (int level = 0; level <= PLACE_LEVELS && lua_rawlen(L, -1) == 0; level++) {
        lua_pop(L, 1);
        luaL_where(L, level);
    }
}

/* The clock is first read when the hook first fires, so that a handler of a few
 * hundred instructions costs no system call. What happened is noted here and now,
 * for the error that is raised may be caught on its way (by coroutine.resume). */
static void check_budget(lua_State *L, struct hcb_sandbox *sb)
{
    int64_t now = hcb_clock_cpu_ns();
    if (sb->deadline_ns == 0)
        sb->deadline_ns = now + sb->limits.time_ms * 1000000;
    if (now < sb->deadline_ns && sb->dead == HCB_FINE)
        return;
    if (sb->dead == HCB_FINE) {
        sb->dead = HCB_BUDGET;
        push_place(L);
        hcb_fault_set(sb->fault, HCB_BUDGET,
                      "%sused up its CPU time of %lld ms a call (limits.time_ms)",
                      lua_tostring(L, -1), (long long)sb->limits.time_ms);
    }
    lua_pushnil(L);
    lua_error(L);
}

static void on_count(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    check_budget(L, sandbox_of(L));
}

void hcb_sandbox_tick(lua_State *L, unsigned units)
{
    struct hcb_sandbox *sb = sandbox_of(L);
    sb->work += units;
    if (sb->work < TICK_UNITS)
        return;
    sb->work = 0;
    check_budget(L, sb);
}

/* pcall and xpcall that let a stop through; wanting too much memory is one. */
static int finish_pcall(lua_State *L, int status, lua_KContext extra)
{
    struct hcb_sandbox *sb = sandbox_of(L);
    if (status == LUA_ERRMEM && sb->dead == HCB_FINE)
        sb->dead = HCB_MEMORY;
    if (sb->dead != HCB_FINE)
        return lua_error(L);
    sb->reason = HCB_RUNTIME; /* whatever reason a caught error had */
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_pushboolean(L, 0);
        lua_insert(L, -2);
        return 2;
    }
    return lua_gettop(L) - (int)extra;
}

static int l_pcall(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_pushboolean(L, 1); // f args... true
    lua_insert(L, 1);      // true f args...
    int status = lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, finish_pcall);
    return finish_pcall(L, status, 0);
}

/* The user's handler is not called for a stop. */
static int guarded_handler(lua_State *L)
{
    if (sandbox_of(L)->dead != HCB_FINE)
        return 1;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

static int l_xpcall(lua_State *L)
{
    int n = lua_gettop(L);
    luaL_checktype(L, 2, LUA_TFUNCTION); // f handler args...
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, guarded_handler, 1);
    lua_replace(L, 2);     // f guarded args...
    lua_pushboolean(L, 1); // f guarded args... true
    lua_pushvalue(L, 1);   // f guarded args... true f
    lua_rotate(L, 3, 2);   // f guarded true f args...
    int status = lua_pcallk(L, n - 2, LUA_MULTRET, 2, 2, finish_pcall);
    return finish_pcall(L, status, 2);
}

/* Finalizers would run while the state is closed, when no hook stops them. */
static int l_setmetatable(lua_State *L)
{
    int type = lua_type(L, 2);
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_argexpected(L, type == LUA_TNIL || type == LUA_TTABLE, 2, "nil or table");
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
        return luaL_error(L, "cannot change a protected metatable");
    if (type == LUA_TTABLE) {
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL)
            return luaL_error(L, "__gc is not available to callbacks: use close()");
    }
    lua_settop(L, 2);
    lua_setmetatable(L, 1);
    return 1;
}

static const luaL_Reg replaced[] = {
    {"pcall", l_pcall}, {"xpcall", l_xpcall}, {"setmetatable", l_setmetatable}, {NULL, NULL}
};

static const char *const removed[] = {"dofile", "loadfile", "load", "collectgarbage", "warn"};

static void open_libraries(lua_State *L, bool coroutines)
{
    static const luaL_Reg libraries[] = {
        {LUA_GNAME, luaopen_base},         {LUA_STRLIBNAME, luaopen_string},
        {LUA_TABLIBNAME, luaopen_table},   {LUA_MATHLIBNAME, luaopen_math},
        {LUA_UTF8LIBNAME, luaopen_utf8},   {LUA_COLIBNAME, luaopen_coroutine},
    };
    size_t n = sizeof libraries / sizeof *libraries - (coroutines ? 0 : 1);
    for (size_t i = 0; i < n; i++) {
        luaL_requiref(L, libraries[i].name, libraries[i].func, 1);
        lua_pop(L, 1);
    }
}

static int l_open(lua_State *L)
{
    struct hcb_sandbox *sb = lua_touserdata(L, 1);
    open_libraries(L, sb->limits.coroutines);
    lua_pushglobaltable(L); // _G
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++) {
        lua_pushnil(L);
        lua_setfield(L, -2, removed[i]);
    }
    luaL_setfuncs(L, replaced, 0);
    lua_getfield(L, -1, LUA_STRLIBNAME); // _G string
    lua_pushnil(L);
    lua_setfield(L, -2, "dump");
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1); // _G string "" meta
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    return 0;
}

/* "...:12: ..." somewhere in it. */
static bool has_place(const char *text)
{
    for (const char *s = strchr(text, ':'); s; s = strchr(s + 1, ':')) {
        size_t digits = strspn(s + 1, "0123456789");
        if (digits > 0 && s[1 + digits] == ':')
            return true;
    }
    return false;
}

/* Calls no metamethod: an error value is a text, or its type is named. What was raised
 * without a place (by a function of C's that was called from C) is given one. */
static void note_error(lua_State *L, struct hcb_fault *fault)
{
    size_t n;
    if (lua_type(L, 1) != LUA_TSTRING) {
        push_place(L);
        lua_pushfstring(L, "(the error value is %s%s)", lua_isnil(L, 1) ? "" : "a ",
                        luaL_typename(L, 1));
    } else if (has_place(lua_tolstring(L, 1, &n))) {
        lua_pushliteral(L, "");
        lua_pushvalue(L, 1);
    } else {
        push_place(L);
        lua_pushlstring(L, lua_tostring(L, 1),
                        n < sizeof fault->message ? n : sizeof fault->message);
    }
    lua_concat(L, 2);
    const char *text = lua_tolstring(L, -1, &n);
    hcb_fault_message(fault, text, n);
    lua_pop(L, 1);
}

/* What a stop is about was noted when it happened. */
static int on_error(lua_State *L)
{
    struct hcb_fault *fault = sandbox_of(L)->fault;
    size_t n;
    if (sandbox_of(L)->dead == HCB_FINE)
        note_error(L, fault);
    luaL_traceback(L, L, NULL, 1);
    const char *trace = lua_tolstring(L, -1, &n);
    hcb_fault_traceback(fault, trace, n);
    return 1;
}

static enum hcb_reason reason_of(struct hcb_sandbox *sb, int status)
{
    if (sb->dead == HCB_FINE && status == LUA_ERRMEM)
        sb->dead = HCB_MEMORY;
    return sb->dead == HCB_FINE ? sb->reason : sb->dead;
}

/* A stop is a failure even where the script got to its end all the same. */
static int finish_run(struct hcb_sandbox *sb, int status, struct hcb_fault *fault)
{
    size_t n;
    if (status == LUA_OK && sb->dead == HCB_FINE)
        return 0;
    fault->reason = reason_of(sb, status);
    if (fault->reason == HCB_MEMORY) {
        hcb_fault_set(fault, HCB_MEMORY, "wanted more than its %lld MiB of memory "
                      "(limits.memory_mb)",
                      (long long)sb->limits.memory_mb);
    } else if (!*fault->message && status == LUA_ERRERR && lua_type(sb->L, -1) == LUA_TSTRING) {
        const char *text = lua_tolstring(sb->L, -1, &n); /* on_error could not run */
        hcb_fault_message(fault, text, n);
    }
    lua_settop(sb->L, 1);
    return -1;
}

int hcb_sandbox_run(struct hcb_sandbox *sb, lua_CFunction fn, void *arg, struct hcb_fault *fault)
{
    lua_State *L = sb->L;
    hcb_fault_clear(fault);
    if (sb->dead != HCB_FINE)
        return hcb_fault_set(fault, sb->dead, "the script was stopped before");
    sb->fault = fault;
    sb->deadline_ns = 0;
    sb->reason = HCB_RUNTIME;
    lua_settop(L, 1); // on_error
    lua_pushcfunction(L, fn);
    lua_pushlightuserdata(L, arg); // on_error fn arg
    int status = lua_pcall(L, 1, 0, 1);
    return finish_run(sb, status, fault);
}

int hcb_sandbox_open(struct hcb_sandbox *sb, const struct hcb_limits *limits, void *owner,
                     struct hcb_fault *fault)
{
    memset(sb, 0, sizeof *sb);
    sb->limits = *limits;
    sb->owner = owner;
    sb->cap = (size_t)limits->memory_mb << 20;
    sb->L = lua_newstate(allocate, sb);
    if (!sb->L)
        return hcb_fault_set(fault, HCB_MEMORY, "no memory for a Lua state");
    *(struct hcb_sandbox **)lua_getextraspace(sb->L) = sb;
    lua_pushcfunction(sb->L, on_error); // stays at index 1
    lua_sethook(sb->L, on_count, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
    if (hcb_sandbox_run(sb, l_open, sb, fault) == 0)
        return 0;
    hcb_sandbox_close(sb);
    return -1;
}

void hcb_sandbox_close(struct hcb_sandbox *sb)
{
    if (sb->L)
        lua_close(sb->L);
    sb->L = NULL;
}
