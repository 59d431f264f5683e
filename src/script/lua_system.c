/* hotcb.system: what the process takes of the machine, as a table. What is not known is
 * left out of it. */
#include "base/platform.h"
#include "script/script_impl.h"
#include "system/system.h"

static void set_integer(lua_State *L, const char *name, int64_t n)
{
    if (n < 0)
        return;
    lua_pushinteger(L, (lua_Integer)n);
    lua_setfield(L, -2, name);
}

static void set_number(lua_State *L, const char *name, double d)
{
    if (d < 0)
        return;
    lua_pushnumber(L, (lua_Number)d);
    lua_setfield(L, -2, name);
}

static void set_text(lua_State *L, const char *name, const char *text)
{
    if (!*text)
        return;
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
}

/* -> table */
static void push_system(lua_State *L)
{
    struct hcb_system s;
    hcb_sandbox_hold(L);
    int was = hcb_platform_hold_cancel(); /* it reads files */
    hcb_system_read("", &s);
    hcb_platform_release_cancel(was);
    hcb_sandbox_release(L);
    lua_createtable(L, 0, 10);
    set_number(L, "cpu_seconds", s.cpu_seconds);
    set_number(L, "cpus", s.cpus);
    set_text(L, "cpus_source", s.cpus_source);
    set_integer(L, "rss", s.rss);
    set_integer(L, "rss_peak", s.rss_peak);
    set_integer(L, "ram_total", s.ram_total);
    set_integer(L, "ram_used", s.ram_used);
    set_text(L, "ram_source", s.ram_source);
}

/* -> table */
static void push_gpu(lua_State *L, const struct hcb_gpu *gpu)
{
    lua_createtable(L, 0, 6);
    set_text(L, "name", gpu->name);
    set_number(L, "utilisation", gpu->utilisation);
    set_integer(L, "memory_used", gpu->memory_used);
    set_integer(L, "memory_total", gpu->memory_total);
    set_integer(L, "process_memory", gpu->process_memory);
    set_number(L, "temperature", gpu->temperature);
}

/* Into the table on top: a list of them, or why there is none. The first who asks has NVML
 * loaded, after its call: that may take longer than a script may. */
static void set_gpus(lua_State *L)
{
    struct hcb_gpu gpus[HCB_GPUS];
    const char *why;
    hcb_sandbox_hold(L);
    if (!hcb_system_knows_gpus())
        hcb_effects_add(hcb_script_of(L)->effects, HCB_EFFECT_GPUS, "", 0);
    int was = hcb_platform_hold_cancel();
    int n = hcb_system_gpus(gpus, &why);
    hcb_platform_release_cancel(was);
    hcb_sandbox_release(L);
    if (n == 0) {
        set_text(L, "gpu_problem", why);
        return;
    }
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        push_gpu(L, &gpus[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "gpus");
}

/* hotcb.system([gpus]) */
int hcb_lua_system(lua_State *L)
{
    bool with_gpus = lua_toboolean(L, 1);
    push_system(L);
    if (with_gpus)
        set_gpus(L);
    return 1;
}
