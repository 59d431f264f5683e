/* The hot path: applies of runs with callbacks that do next to nothing, beside raw calls of
 * the same functions in a bare Lua state. Knows nothing of files beyond making some. */
#include "serve.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- scripts ---- */

static const char empty[] =
    "return { handle = function(self, event, env) end }\n";
static const char every[] =
    "return { every = " BENCH_NEVER ", handle = function(self, event, env)\n"
    "  if env.step % self.every == 0 then error('due') end\n"
    "end }\n";
static const char not_due[] =
    "return { params = { { 'every', " BENCH_NEVER " } }, schedule = 'every',\n"
    "  handle = function(self, event, env) error('due') end }\n";
static const char loop[] =
    "return { handle = function(self, event, env)\n"
    "  local x = 0 for i = 1, 1000 do x = x + i end\n"
    "end }\n";
static const char two_keys[] =
    "return { handle = function(self, event, env)\n"
    "  local x = env.metrics.s7 local t = env.grads.t700\n"
    "end }\n";
static const char all_keys[] =
    "return { handle = function(self, event, env)\n"
    "  local m = env.metrics\n"
    "  for i = 1, #self.names do local x = m[self.names[i]] end\n"
    "end, names = (function()\n"
    "  local t = {} for i = 1, 100 do t[i] = 's' .. i - 1 end return t\n"
    "end)() }\n";

/* ---- applies ---- */

static void apply(struct item *item, long times)
{
    for (long i = 0; i < times; i++) {
        hotcb_env_step(item->env, item->step++);
        hotcb_apply(item->h, item->env, BENCH_EVENT);
    }
}

static void apply_alone(struct item *item, long times)
{
    for (long i = 0; i < times; i++)
        hotcb_apply(item->h, item->env, BENCH_EVENT);
}

/* ---- what it is compared with ---- */

static __attribute__((noinline)) int nothing(hotcb *h, hotcb_env *env, const char *event)
{
    __asm__ volatile("" : : "r"(h), "r"(env), "r"(event));
    return 0;
}

static int (*volatile call_nothing)(hotcb *h, hotcb_env *env, const char *event) = nothing;

static void function_call(struct item *item, long times)
{
    int (*call)(hotcb *, hotcb_env *, const char *) = call_nothing;
    for (long i = 0; i < times; i++)
        call(item->h, item->env, BENCH_EVENT);
}

/* handle, self, event and env lie at 1 to 4 of the stack. */
static void make_raw(struct item *item)
{
    lua_State *L = item->L = luaL_newstate();
    if (!L || luaL_loadstring(L, item->script) || lua_pcall(L, 0, 1, 0))
        bench_fail("raw state");
    lua_getfield(L, 1, "handle");
    lua_pushvalue(L, -1);
    lua_setglobal(L, "handle");
    lua_insert(L, 1);
    lua_pushstring(L, BENCH_EVENT);
    lua_createtable(L, 0, 8);
    lua_pushinteger(L, 1);
    lua_setfield(L, 4, "step");
    item->step = 1;
}

__attribute__((noinline)) void bench_raw_call(lua_State *L);
__attribute__((noinline)) void bench_hand_call(lua_State *L, int64_t step);

void bench_raw_call(lua_State *L)
{
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    lua_pushvalue(L, 4);
    if (lua_pcall(L, 3, 0, 0))
        bench_fail(lua_tostring(L, -1));
}

static void raw(struct item *item, long times)
{
    lua_State *L = item->L;
    for (long i = 0; i < times; i++)
        bench_raw_call(L);
}

/* What a host writes that calls Lua itself. */
void bench_hand_call(lua_State *L, int64_t step)
{
    lua_pushinteger(L, step);
    lua_setfield(L, 4, "step");
    lua_getglobal(L, "handle");
    lua_pushvalue(L, 2);
    lua_pushstring(L, BENCH_EVENT);
    lua_pushvalue(L, 4);
    if (lua_pcall(L, 3, 0, 0))
        bench_fail(lua_tostring(L, -1));
}

static void by_hand(struct item *item, long times)
{
    for (long i = 0; i < times; i++)
        bench_hand_call(item->L, item->step++);
}

/* ---- env ---- */

#define SCALARS 100
#define TENSORS 1000

struct keys {
    char scalar[SCALARS][24], tensor[TENSORS][24];
};

static void make_keys(struct item *item)
{
    struct keys *keys = item->own = malloc(sizeof(*keys));
    if (!keys)
        bench_fail("no memory");
    for (int i = 0; i < SCALARS; i++)
        sprintf(keys->scalar[i], "metrics.s%d", i);
    for (int i = 0; i < TENSORS; i++)
        sprintf(keys->tensor[i], "grads.t%d", i);
    bench_run(item);
}

static void set_keys(struct item *item)
{
    static const float data[8];
    static const int64_t shape[2] = {2, 4};
    const struct keys *keys = item->own;
    for (int i = 0; i < SCALARS; i++)
        hotcb_env_num(item->env, keys->scalar[i], (double)i);
    for (int i = 0; i < TENSORS; i++)
        hotcb_env_f32(item->env, keys->tensor[i], data, 2, shape);
}

static void set_and_apply(struct item *item, long times)
{
    for (long i = 0; i < times; i++) {
        set_keys(item);
        hotcb_env_step(item->env, item->step++);
        hotcb_apply(item->h, item->env, BENCH_EVENT);
    }
}

static void set_scalars_and_apply(struct item *item, long times)
{
    const struct keys *keys = item->own;
    for (long i = 0; i < times; i++) {
        for (int k = 0; k < SCALARS; k++)
            hotcb_env_num(item->env, keys->scalar[k], (double)k);
        hotcb_env_step(item->env, item->step++);
        hotcb_apply(item->h, item->env, BENCH_EVENT);
    }
}

static void set_alone(struct item *item, long times)
{
    for (long i = 0; i < times; i++)
        set_keys(item);
}

static void set_step(struct item *item, long times)
{
    for (long i = 0; i < times; i++)
        hotcb_env_step(item->env, item->step++);
}

/* ---- all of them ---- */

#define RUN(what, body, n) \
    {.name = what, .make = bench_run, .run = apply, .script = body, .callbacks = n, \
     .per = (n) > 0 ? (n) : 1}
#define MANY(what, body, n) \
    {.name = what, .make = bench_run, .run = apply, .script = body, .callbacks = n, .per = n, \
     .turn_s = 0.01}
#define RAW(what, body, how) {.name = what, .make = make_raw, .run = how, .script = body}
#define LOOKING(what, body, n) \
    {.name = what, .make = bench_run, .run = apply, .script = body, .callbacks = n, \
     .poll_ms = -1, .turn_s = 0.002}
#define DEFAULTS(what, body, n) \
    {.name = what, .make = bench_run, .run = apply, .script = body, .callbacks = n, \
     .defaults = true, .turn_s = 0.1}
#define KEYS(what, body, n, how) \
    {.name = what, .make = make_keys, .run = how, .script = body, .callbacks = n}

struct item hot_items[] = {
    {.name = "function call", .run = function_call},
    {.name = "idle apply", .make = bench_run, .run = apply_alone},
    {.name = "env_step", .make = bench_run, .run = set_step},
    RUN("idle", NULL, 0),
    {.name = "1000 not due", .make = bench_run, .run = apply, .script = not_due,
     .callbacks = 1000},
    RAW("raw empty", empty, raw),
    RAW("raw every", every, raw),
    RAW("by hand every", every, by_hand),
    RUN("1 empty", empty, 1),
    RUN("1 every", every, 1),
    RUN("1 loop", loop, 1),
    RUN("100 empty", empty, 100),
    RUN("100 every", every, 100),
    MANY("1000 empty", empty, 1000),
    MANY("1000 every", every, 1000),
    LOOKING("looking idle", NULL, 0),
    LOOKING("looking 1 every", every, 1),
    LOOKING("looking 100 every", every, 100),
    DEFAULTS("defaults idle", NULL, 0),
    DEFAULTS("defaults 1 every", every, 1),
    DEFAULTS("defaults 100 every", every, 100),
    DEFAULTS("defaults 100 not due", not_due, 100),
    KEYS("keys set", empty, 0, set_alone),
    KEYS("keys, 0 callbacks", empty, 0, set_and_apply),
    KEYS("keys, 1 empty", empty, 1, set_and_apply),
    KEYS("keys, 1 reads 2", two_keys, 1, set_and_apply),
    KEYS("keys, 100 empty", empty, 100, set_and_apply),
    KEYS("keys, 100 read 2", two_keys, 100, set_and_apply),
    KEYS("scalars, 1 empty", empty, 1, set_scalars_and_apply),
    KEYS("scalars, 1 reads 100", all_keys, 1, set_scalars_and_apply),
    {.name = NULL},
};
