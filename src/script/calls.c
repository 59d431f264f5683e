/* The calls into one script: its hooks, with env or without. Functions whose names begin with
 * l_ run inside the state, protected, and may raise; push_handle does neither. */
#include "script/lua_value.h"
#include "script/script_impl.h"
#include <lauxlib.h>

/* name -> function [self], if the callback has it; false, and nothing, if not */
static bool push_hook(lua_State *L, struct hcb_script *s, const char *name)
{
    if (!s->is_table) {
        lua_getglobal(L, name);
        return true;
    }
    lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_SELF); // self
    if (lua_getfield(L, -1, name) == LUA_TNIL) {
        lua_pop(L, 2);
        return false;
    }
    lua_insert(L, -2); // function self
    return true;
}

static int l_handle(lua_State *L)
{
    const char *event = lua_touserdata(L, 1);
    struct hcb_script *s = hcb_script_of(L);
    lua_settop(L, 0);
    if (!push_hook(L, s, "handle"))
        return luaL_error(L, "handle is no longer there");
    lua_pushstring(L, event);
    hcb_lua_push_env(L, s);
    lua_call(L, s->is_table ? 3 : 2, 0);
    return 0;
}

/* At the bottom of the stack, once handle has been called: self (or the globals), env, the
 * name "handle", and that of the last event. */
enum { HOLDER = 2, ENV, HANDLE, EVENT };

static void keep_stack(lua_State *L, struct hcb_script *s)
{
    if (s->is_table)
        lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_SELF);
    else
        lua_pushglobaltable(L);
    lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_ENV);
    lua_pushliteral(L, "handle");
    lua_pushnil(L);
    hcb_sandbox_keep(L, EVENT);
}

/* The name of the event, known by where the host has it. */
static void set_event(lua_State *L, struct hcb_script *s, const char *event)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, event) != LUA_TSTRING) {
        lua_pop(L, 1);
        lua_pushstring(L, event);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, event);
    }
    lua_replace(L, EVENT);
    s->event = event;
}

/* handle and its arguments, as l_handle would find them; -1 where only that can. */
static int push_handle(lua_State *L, void *event)
{
    struct hcb_script *s = hcb_script_of(L);
    if (s->box.base < EVENT)
        keep_stack(L, s);
    if (s->event != event)
        set_event(L, s, event);
    lua_pushvalue(L, HANDLE);
    if (lua_rawget(L, HOLDER) != LUA_TFUNCTION || !hcb_lua_refresh_env(L, s, ENV))
        return -1;
    if (s->is_table)
        lua_pushvalue(L, HOLDER);
    lua_pushvalue(L, EVENT);
    lua_pushvalue(L, ENV);
    return s->is_table ? 3 : 2;
}

static int l_attach(lua_State *L)
{
    struct hcb_script *s = hcb_script_of(L);
    if (!s->is_table || !push_hook(L, s, "on_attach"))
        return 0;
    hcb_lua_push_env(L, s);
    lua_call(L, 2, 0);
    return 0;
}

static int l_close(lua_State *L)
{
    struct hcb_script *s = hcb_script_of(L);
    hcb_lua_forget_env(L, s);
    if (s->is_table && push_hook(L, s, "close"))
        lua_call(L, 1, 0);
    return 0;
}

static int l_save(lua_State *L)
{
    struct hcb_value *out = lua_touserdata(L, 1);
    struct hcb_script *s = hcb_script_of(L);
    struct hcb_err err;
    hcb_lua_forget_env(L, s);
    if (!s->is_table || !push_hook(L, s, "save"))
        return 0;
    lua_call(L, 1, 1);
    if (!lua_isnil(L, -1) && !lua_istable(L, -1))
        return luaL_error(L, "save() must return a table of plain data");
    if (hcb_value_from_lua_held(L, -1, out, &err) < 0)
        return luaL_error(L, "save(): %s", err.text);
    return 0;
}

static int l_restore(lua_State *L)
{
    const struct hcb_value *saved = lua_touserdata(L, 1);
    struct hcb_script *s = hcb_script_of(L);
    hcb_lua_forget_env(L, s);
    if (!s->is_table || !push_hook(L, s, "restore"))
        return 0;
    hcb_value_to_lua(L, saved);
    lua_call(L, 2, 0);
    return 0;
}

/* A lazy value is worked out by the host. */
static int call_host(hotcb_lazy_fn *fn, void *user, struct hotcb_env *env, const char *key)
{
    struct hcb_sandbox_outside out;
    hcb_sandbox_step_out(&out);
    int rc = fn(user, env, key);
    hcb_sandbox_step_in(&out);
    return rc;
}

static int run_with_env(struct hcb_script *s, hcb_push_fn *push, lua_CFunction fn,
                        const char *event, struct hotcb_env *env, struct hcb_fault *fault)
{
    s->env = env;
    s->call++;
    env->call_host = call_host;
    int status = hcb_script_enter(s, push, fn, (void *)(uintptr_t)event, fault);
    s->env = NULL;
    return status;
}

void hcb_script_begin(void) { hcb_sandbox_begin(); }
void hcb_script_end(void) { hcb_sandbox_end(); }

void hcb_script_call_log(hotcb_log_fn *fn, void *user, enum hotcb_level level, const char *id,
                         const char *line)
{
    struct hcb_sandbox_outside out;
    hcb_sandbox_step_out(&out);
    fn(user, level, id, line);
    hcb_sandbox_step_in(&out);
}

int hcb_script_handle(struct hcb_script *s, const char *event, struct hotcb_env *env,
                      struct hcb_fault *fault)
{
    return run_with_env(s, push_handle, l_handle, event, env, fault);
}

int hcb_script_attach(struct hcb_script *s, struct hotcb_env *env, struct hcb_fault *fault)
{
    return run_with_env(s, NULL, l_attach, NULL, env, fault);
}

int hcb_script_close(struct hcb_script *s, struct hcb_fault *fault)
{
    return hcb_script_enter(s, NULL, l_close, NULL, fault);
}

int hcb_script_save(struct hcb_script *s, struct hcb_value *out, struct hcb_fault *fault)
{
    return hcb_script_enter(s, NULL, l_save, out, fault);
}

int hcb_script_restore(struct hcb_script *s, const struct hcb_value *saved,
                       struct hcb_fault *fault)
{
    return hcb_script_enter(s, NULL, l_restore, (void *)(uintptr_t)saved, fault);
}
