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

static void keep_stack(lua_State *L, struct hcb_script *s)
{
    if (s->is_table)
        lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_SELF);
    else
        lua_pushglobaltable(L);
    lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_ENV);
    lua_pushliteral(L, "handle");
    lua_settop(L, HCB_AT_TOP);
    hcb_sandbox_keep(&s->box, HCB_AT_TOP);
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
    lua_replace(L, HCB_AT_EVENT);
    s->event = event;
}

/* handle and its arguments, as l_handle would find them: how many arguments; -1 where only
 * that can. */
static int push_handle(lua_State *L, struct hcb_script *s, const char *event)
{
    if (s->event != event) {
        if (s->box.base < HCB_AT_TOP)
            keep_stack(L, s);
        set_event(L, s, event);
    }
    lua_pushvalue(L, HCB_AT_HANDLE);
    if (lua_rawget(L, HCB_AT_HOLDER) != LUA_TFUNCTION || !hcb_lua_refresh_env(L, s))
        return -1;
    if (s->is_table)
        lua_pushvalue(L, HCB_AT_HOLDER);
    lua_pushvalue(L, HCB_AT_EVENT);
    lua_pushvalue(L, HCB_AT_ENV);
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

/* A lazy value is worked out by the host, which may set others, too. */
static int call_host(hotcb_lazy_fn *fn, void *user, struct hotcb_env *env, const char *key)
{
    struct hcb_script *s = env->reader;
    struct hcb_sandbox_outside out;
    hcb_lua_cool_env(s->box.running, s);
    hcb_sandbox_step_out(&out);
    int rc = fn(user, env, key);
    hcb_sandbox_step_in(&out);
    return rc;
}

static void set_env(struct hcb_script *s, struct hotcb_env *env)
{
    s->env = env;
    s->call++;
    env->call_host = call_host;
    env->reader = s;
}

void hcb_script_round(hcb_round_fn *body, void *user)
{
    hcb_sandbox_round(body, user);
}

void hcb_script_call_log(hotcb_log_fn *fn, void *user, enum hotcb_level level, const char *id,
                         const char *line)
{
    struct hcb_sandbox_outside out;
    hcb_sandbox_step_out(&out);
    fn(user, level, id, line);
    hcb_sandbox_step_in(&out);
}

int hcb_script_handle(struct hcb_round *round, struct hcb_script *s, const char *event,
                      struct hotcb_env *env, struct hcb_fault *fault)
{
    if (s->box.dead != HCB_FINE)
        return HCB_SCRIPT_DEAD;
    if (hcb_round_enter(round, &s->box, fault) < 0)
        return -1;
    set_env(s, env);
    int n = push_handle(s->box.L, s, event);
    int status = n >= 0 ? lua_pcall(s->box.L, n, 0, 1)
                        : hcb_round_run(&s->box, l_handle, (void *)(uintptr_t)event);
    status = hcb_round_leave(round, &s->box, status);
    s->env = NULL;
    if (status < 0 && s->box.dead != HCB_FINE)
        hcb_script_tidy(s);
    return status;
}

int hcb_script_attach(struct hcb_script *s, struct hotcb_env *env, struct hcb_fault *fault)
{
    set_env(s, env);
    int status = hcb_script_enter(s, l_attach, NULL, fault);
    s->env = NULL;
    return status;
}

int hcb_script_close(struct hcb_script *s, struct hcb_fault *fault)
{
    return hcb_script_enter(s, l_close, NULL, fault);
}

int hcb_script_save(struct hcb_script *s, struct hcb_value *out, struct hcb_fault *fault)
{
    return hcb_script_enter(s, l_save, out, fault);
}

int hcb_script_restore(struct hcb_script *s, const struct hcb_value *saved,
                       struct hcb_fault *fault)
{
    return hcb_script_enter(s, l_restore, (void *)(uintptr_t)saved, fault);
}
