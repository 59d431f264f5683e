/* The confinement of one Lua state: memory, budget, allowed globals. */
#include "script/sandbox.h"
#include "base/clock.h"
#include "base/platform.h"
#include "script/lua_library.h"
#include <errno.h>
#include <lauxlib.h>
#include <locale.h>
#include <lualib.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define HOOK_INSTRUCTIONS 1000
#define TICK_UNITS 20000
#define SMALL_BYTES (64 << 10)
#define DEEP_BYTES (32 << 10)

/* How a run was left by a jump. */
#define JUMP_LATE 1 /* by the guard */
#define JUMP_MEMORY 2

static struct hcb_sandbox *sandbox_of(lua_State *L)
{
    return *(struct hcb_sandbox **)lua_getextraspace(L);
}

void *hcb_sandbox_owner(lua_State *L)
{
    return sandbox_of(L)->owner;
}

/* ---- stopping --------------------------------------------------------------- */

#define PLACE_LEVELS 8
#define PLACE_CHARS (LUA_IDSIZE + 16)

/* "file:line: " of the innermost function in Lua; "" where there is none. The function
 * that raises an error is often one of C's, as error is. Takes no memory of Lua's. */
static const char *place_in(lua_State *L, char out[PLACE_CHARS])
{
    lua_Debug ar = {.currentline = -1};
    for (int level = 0; level <= PLACE_LEVELS && ar.currentline <= 0; level++)
        if (!lua_getstack(L, level, &ar) || !lua_getinfo(L, "Sl", &ar))
            break;
    out[0] = '\0';
    if (ar.currentline > 0)
        snprintf(out, PLACE_CHARS, "%s:%d: ", ar.short_src, ar.currentline);
    return out;
}

static void note_budget(struct hcb_sandbox *sb, const char *place)
{
    hcb_fault_set(sb->fault, HCB_BUDGET, "%sused up its CPU time of %lld ms a call "
                  "(limits.time_ms)", place, (long long)sb->limits.time_ms);
}

/* What happened is noted here and now, for the error may be caught on its way. */
static int stop_now(lua_State *L, struct hcb_sandbox *sb)
{
    char place[PLACE_CHARS];
    if (sb->dead == HCB_FINE) {
        note_budget(sb, place_in(L, place));
        sb->dead = HCB_BUDGET;
    }
    lua_pushnil(L);
    return lua_error(L);
}

/* The clock is first read when the hook first fires, so that a handler of a few
 * hundred instructions costs no system call. */
static void check_clock(struct hcb_sandbox *sb)
{
    int64_t now = hcb_clock_cpu_ns();
    if (sb->deadline_ns == 0)
        sb->deadline_ns = now + sb->budget_ns;
    if (now >= sb->deadline_ns)
        sb->run->late++;
}

static bool must_stop(const struct hcb_sandbox *sb)
{
    return sb->dead != HCB_FINE || sb->run->late;
}

/* As long as a state is small, its garbage is collected often, so that it stays small: most
 * are, and there may be many. A larger one is left to Lua's own measure, until a quarter
 * of what is free is taken: the rest is for one operation in C, which cannot be
 * interrupted to collect. */
static void set_pressure(lua_State *L, struct hcb_sandbox *sb)
{
    size_t cap = hcb_arena_cap(sb->arena), used = hcb_arena_used(sb->arena);
    if (used < SMALL_BYTES) {
        lua_gc(L, LUA_GCINC, 125, 400, 11); /* in steps of 2 KiB that do much; see lua_gc */
        sb->pressure = SMALL_BYTES;
        return;
    }
    lua_gc(L, LUA_GCINC, 200, 100, 13);
    sb->pressure = used + (cap - used) / 4;
    if (sb->pressure < cap / 4)
        sb->pressure = cap / 4;
}

static void set_hook(lua_State *L, struct hcb_sandbox *sb, bool now);

/* Fires on the next instruction for a stop and for garbage, else to look at the clock. */
static void on_hook(lua_State *L, lua_Debug *ar)
{
    struct hcb_sandbox *sb = sandbox_of(L);
    (void)ar;
    if (sb->counting)
        check_clock(sb);
    if (must_stop(sb))
        stop_now(L, sb);
    set_hook(L, sb, false);
    if (sb->pressure == SIZE_MAX) {
        lua_gc(L, LUA_GCCOLLECT, 0);
        set_pressure(L, sb);
    }
}

static void set_hook(lua_State *L, struct hcb_sandbox *sb, bool now)
{
    if (now || sb->counting)
        lua_sethook(L, on_hook, LUA_MASKCOUNT, now ? 1 : HOOK_INSTRUCTIONS);
    else
        lua_sethook(L, NULL, 0, 0);
}

/* From the guard's signal handler: lua_sethook is made for that. */
static void on_late(void *sandbox)
{
    struct hcb_sandbox *sb = sandbox;
    lua_sethook(sb->running, on_hook, LUA_MASKCOUNT, 1);
}

bool hcb_sandbox_overdue(lua_State *L, unsigned units)
{
    struct hcb_sandbox *sb = sandbox_of(L);
    sb->work += units;
    if (sb->counting && sb->work >= TICK_UNITS) {
        sb->work = 0;
        check_clock(sb);
    }
    return must_stop(sb);
}

void hcb_sandbox_tick(lua_State *L, unsigned units)
{
    if (hcb_sandbox_overdue(L, units))
        stop_now(L, sandbox_of(L));
}

void hcb_sandbox_hold(lua_State *L)
{
    sandbox_of(L)->run->held++;
}

/* The host's code may have forked, or blocked the signal: then the run goes on counted. */
void hcb_sandbox_release(lua_State *L)
{
    struct hcb_sandbox *sb = sandbox_of(L);
    if (--sb->run->held > 0)
        return;
    if (must_stop(sb))
        stop_now(L, sb);
    if (!sb->counting && !hcb_guard_watches(sb->run)) {
        sb->counting = true;
        set_hook(L, sb, false);
    }
}

int hcb_sandbox_raise(lua_State *L, enum hcb_reason reason)
{
    struct hcb_sandbox *sb = sandbox_of(L);
    sb->reason = reason;
    if (reason == HCB_MEMORY)
        sb->dead = HCB_MEMORY;
    return lua_error(L);
}

/* ---- memory ----------------------------------------------------------------- */

/* Also where memory runs out: Lua is at a defined place there. */
static int note_memory(struct hcb_sandbox *sb)
{
    char place[PLACE_CHARS];
    bool known = *place_in(sb->running, place);
    sb->dead = HCB_MEMORY;
    return hcb_fault_set(sb->fault, HCB_MEMORY, "%s%swanted more than its %lld MiB of memory "
                         "(limits.memory_mb)", known ? place : sb->name, known ? "" : ": ",
                         (long long)sb->limits.memory_mb);
}

/* Lua takes it that shrinking never fails, so only growth is refused. A script whose
 * garbage fills the arena is given a collection before it is given up. */
static void *allocate(void *user, void *p, size_t old, size_t size)
{
    struct hcb_sandbox *sb = user;
    void *q = hcb_arena_alloc(sb->arena, p, old, size);
    if (!sb->run)
        return q;
    if (HCB_GUARDED && !q && size > 0) {
        note_memory(sb);
        siglongjmp(sb->run->out, JUMP_MEMORY);
    }
    if (hcb_arena_used(sb->arena) > sb->pressure) {
        sb->pressure = SIZE_MAX;
        set_hook(sb->running, sb, true);
    }
    return q;
}

/* ---- protected calls -------------------------------------------------------- */

void hcb_sandbox_switch(lua_State *L, lua_State *co)
{
    struct hcb_sandbox *sb = sandbox_of(L);
    set_hook(co, sb, must_stop(sb) || sb->pressure == SIZE_MAX);
    sb->running = co;
}

void hcb_sandbox_back(lua_State *L)
{
    struct hcb_sandbox *sb = sandbox_of(L);
    sb->running = L;
    if (must_stop(sb)) {
        set_hook(L, sb, true);
        stop_now(L, sb);
    }
    if (sb->pressure == SIZE_MAX) /* the coroutine may have come to no instruction any more */
        set_hook(L, sb, true);
}

bool hcb_sandbox_deep(lua_State *L)
{
    char here;
    ptrdiff_t used = (const char *)sandbox_of(L)->run - &here; /* where the round was begun */
    return used > DEEP_BYTES || used < -DEEP_BYTES;
}

/* pcall and xpcall that let a stop through; wanting too much memory is one. */
static int finish_pcall(lua_State *L, int status, lua_KContext extra)
{
    struct hcb_sandbox *sb = sandbox_of(L);
    if (status == LUA_ERRMEM && sb->dead == HCB_FINE)
        sb->dead = HCB_MEMORY;
    hcb_sandbox_back(L);
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
    if (must_stop(sandbox_of(L)))
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

/* ---- libraries -------------------------------------------------------------- */

/* Finalizers would run when no hook stops them. */
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

static void open_libraries(lua_State *L)
{
    static const luaL_Reg libraries[] = {
        {LUA_GNAME, luaopen_base},       {LUA_STRLIBNAME, luaopen_string},
        {LUA_TABLIBNAME, luaopen_table}, {LUA_MATHLIBNAME, luaopen_math},
        {LUA_UTF8LIBNAME, luaopen_utf8},
    };
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        luaL_requiref(L, libraries[i].name, libraries[i].func, 1);
        lua_pop(L, 1);
    }
    hcb_lua_open_string(L);
    hcb_lua_open_table(L);
    hcb_lua_open_utf8(L);
}

static int l_open(lua_State *L)
{
    struct hcb_sandbox *sb = lua_touserdata(L, 1);
    open_libraries(L);
    if (sb->limits.coroutines)
        hcb_lua_open_coroutine(L);
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

/* ---- errors ----------------------------------------------------------------- */

/* Calls no metamethod: an error value is a text, or its type is named. What was raised
 * without a place (by a function of C's that was called from C) is given one. */
static void note_error(lua_State *L, struct hcb_fault *fault)
{
    char place[PLACE_CHARS];
    size_t n;
    if (lua_type(L, 1) != LUA_TSTRING) {
        lua_pushstring(L, place_in(L, place));
        lua_pushfstring(L, "(the error value is %s%s)", lua_isnil(L, 1) ? "" : "a ",
                        luaL_typename(L, 1));
    } else if (hcb_fault_has_place(lua_tolstring(L, 1, &n))) {
        lua_pushliteral(L, "");
        lua_pushvalue(L, 1);
    } else {
        lua_pushstring(L, place_in(L, place));
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
    lua_settop(L, 1); /* the error itself goes on, for who would look at it */
    return 1;
}

/* ---- a call ----------------------------------------------------------------- */

static void note_late(struct hcb_sandbox *sb)
{
    if (!sb->run->late || sb->dead != HCB_FINE)
        return;
    sb->dead = HCB_BUDGET;
    note_budget(sb, "");
}

int hcb_round_fail(struct hcb_sandbox *sb, int status)
{
    struct hcb_fault *fault = sb->fault;
    size_t n;
    note_late(sb);
    if (status == LUA_ERRMEM || sb->dead == HCB_MEMORY)
        return note_memory(sb);
    fault->reason = sb->dead == HCB_FINE ? sb->reason : sb->dead;
    if (!*fault->message && status == LUA_ERRERR && lua_type(sb->L, -1) == LUA_TSTRING) {
        const char *text = lua_tolstring(sb->L, -1, &n); /* on_error could not run */
        hcb_fault_message(fault, text, n);
    }
    lua_settop(sb->L, sb->base);
    return -1;
}

void hcb_sandbox_keep(struct hcb_sandbox *sb, int n)
{
    sb->base = n;
}

/* The stack is at its base before each call, and after it. */
int hcb_round_run(struct hcb_sandbox *sb, lua_CFunction fn, void *arg)
{
    lua_settop(sb->L, sb->base); // on_error ...
    lua_pushcfunction(sb->L, fn);
    lua_pushlightuserdata(sb->L, arg); // on_error ... fn arg
    return lua_pcall(sb->L, 1, 0, 1);
}

static int refuse_stack(struct hcb_fault *fault)
{
    return hcb_fault_set(fault, HCB_RUNTIME, "not called: this thread has %zu KiB of stack left, "
                         "and a callback is given %d; run hotcb on a thread with a larger stack",
                         hcb_guard_stack_left() >> 10, HCB_GUARD_STACK >> 10);
}

int hcb_round_refuse(const struct hcb_sandbox *sb, struct hcb_fault *fault)
{
    hcb_fault_clear(fault);
    if (sb->dead != HCB_FINE)
        return hcb_fault_set(fault, sb->dead, "the script was stopped before");
    return refuse_stack(fault);
}

void hcb_round_count(struct hcb_sandbox *sb, bool counting)
{
    sb->counting = counting;
    set_hook(sb->L, sb, false);
}

/* The state is in an unknown condition: nothing of it is touched again. */
static void drop(struct hcb_sandbox *sb, int how)
{
    hcb_arena_close(sb->arena);
    sb->arena = NULL;
    sb->L = NULL;
    if (how == JUMP_MEMORY)
        return; /* noted where it happened */
    sb->fault->traceback[0] = '\0'; /* it may have been cut short */
    sb->fault->reason = HCB_BUDGET;
    if (sb->dead == HCB_FINE) /* else it is noted already, with its place */
        hcb_fault_set(sb->fault, HCB_BUDGET, "%s: used up its CPU time of %lld ms a call "
                      "(limits.time_ms) inside one long operation, which was broken off",
                      sb->name, (long long)sb->limits.time_ms);
    sb->dead = HCB_BUDGET;
}

/* ---- a round ---------------------------------------------------------------- */

static _Atomic(locale_t) c_locale;

/* Whoever comes second drops his. */
static locale_t make_locale(void)
{
    locale_t none = (locale_t)0, made = newlocale(LC_ALL_MASK, "C", none);
    if (!made || atomic_compare_exchange_strong(&c_locale, &none, made))
        return made;
    freelocale(made);
    return none;
}

/* How many rounds this thread is in, and the locale it goes back to. */
static _Thread_local unsigned rounds;
static _Thread_local locale_t locale_before;

/* Numbers keep their point whatever locale the host is in, and texts are compared by
 * their bytes. */
static void begin_locale(void)
{
    if (rounds++ > 0 || !HCB_GUARDED)
        return;
    locale_t c = atomic_load_explicit(&c_locale, memory_order_acquire);
    if (!c)
        c = make_locale();
    locale_before = c ? uselocale(c) : (locale_t)0;
}

static void end_locale(void)
{
    if (--rounds == 0 && locale_before)
        uselocale(locale_before);
}

void hcb_sandbox_step_out(struct hcb_sandbox_outside *out)
{
    out->rounds = rounds;
    out->locale = locale_before;
    hcb_fp_step_out(&out->fp);
    out->cancel = hcb_platform_hold_cancel();
    if (rounds > 0 && locale_before)
        uselocale(locale_before);
    rounds = 0;
}

/* It may have taken another locale meanwhile, and freed the one of before; or blocked the
 * guard's signal, of which nothing else would tell before the script's next tick. */
void hcb_sandbox_step_in(const struct hcb_sandbox_outside *out)
{
    rounds = out->rounds;
    locale_before = out->locale;
    hcb_fp_step_in(&out->fp);
    hcb_platform_release_cancel(out->cancel);
    if (rounds > 0 && locale_before)
        locale_before = uselocale(atomic_load_explicit(&c_locale, memory_order_acquire));
    if (rounds > 0)
        hcb_guard_refresh();
}

static void landed(struct hcb_round *round, int how)
{
    struct hcb_sandbox *sb = round->run.user;
    if (how == JUMP_LATE)
        hcb_guard_landed(&round->run);
    else
        hcb_guard_leave(&round->run);
    drop(sb, how);
    sb->run = NULL;
    if (sb->dropped)
        sb->dropped(sb->owner);
}

/* Not inlined: what a jump must not find changed is not in this frame. */
static __attribute__((noinline)) void go(struct hcb_round *round, hcb_round_fn *body, void *user)
{
    int how = HCB_GUARDED ? sigsetjmp(round->run.out, 0) : 0;
    if (how != 0)
        landed(round, how);
    body(round, user);
}

void hcb_sandbox_round(hcb_round_fn *body, void *user)
{
    struct hcb_round round;
    round.run.stop = on_late;
    round.guard = hcb_guard_open(&round.run);
    begin_locale();
    go(&round, body, user);
    end_locale();
}

struct single {
    struct hcb_sandbox *sb;
    lua_CFunction fn;
    void *arg;
    struct hcb_fault *fault;
    bool begun;
    int status;
};

static void run_single(struct hcb_round *round, void *user)
{
    struct single *one = user;
    if (one->begun) /* it was broken off */
        return;
    one->begun = true;
    if (hcb_round_enter(round, one->sb, one->fault) == 0)
        one->status = hcb_round_leave(round, one->sb, hcb_round_run(one->sb, one->fn, one->arg));
}

int hcb_sandbox_run(struct hcb_sandbox *sb, lua_CFunction fn, void *arg, struct hcb_fault *fault)
{
    struct single one = {sb, fn, arg, fault, false, -1};
    hcb_guard_refresh(); /* long may have gone by since the last call of an event */
    hcb_sandbox_round(run_single, &one);
    return one.status;
}

/* ---- open and close ---------------------------------------------------------- */

static int open_state(struct hcb_sandbox *sb, struct hcb_pool *pool, struct hcb_fault *fault)
{
    sb->arena = hcb_arena_open((size_t)sb->limits.memory_mb << 20, pool);
    if (!sb->arena)
        return hcb_fault_set(fault, HCB_MEMORY, "no %lld MiB of address space for a Lua state "
                             "(limits.memory_mb): %s", (long long)sb->limits.memory_mb,
                             strerror(errno));
    sb->pressure = SIZE_MAX;
    sb->L = lua_newstate(allocate, sb);
    if (!sb->L)
        return hcb_fault_set(fault, HCB_MEMORY, "no memory for a Lua state");
    *(struct hcb_sandbox **)lua_getextraspace(sb->L) = sb;
    set_pressure(sb->L, sb);
    sb->running = sb->L;
    lua_pushcfunction(sb->L, on_error); // stays at index 1
    sb->base = 1;
    return hcb_sandbox_run(sb, l_open, sb, fault);
}

int hcb_sandbox_open(struct hcb_sandbox *sb, const struct hcb_limits *limits, const char *name,
                     void *owner, struct hcb_pool *pool, struct hcb_fault *fault)
{
    memset(sb, 0, sizeof *sb);
    hcb_sandbox_limits(sb, limits);
    sb->name = name;
    sb->owner = owner;
    int status = open_state(sb, pool, fault);
    if (status < 0)
        hcb_sandbox_close(sb);
    return status;
}

void hcb_sandbox_close(struct hcb_sandbox *sb)
{
    hcb_arena_close(sb->arena);
    sb->arena = NULL;
    sb->L = NULL;
}

static int l_collect(lua_State *L)
{
    lua_gc(L, LUA_GCCOLLECT, 0);
    return 0;
}

void hcb_sandbox_settle(struct hcb_sandbox *sb)
{
    struct hcb_fault fault;
    if (hcb_sandbox_run(sb, l_collect, NULL, &fault) == 0)
        hcb_arena_trim(sb->arena);
}

size_t hcb_sandbox_used(const struct hcb_sandbox *sb)
{
    return sb->arena ? hcb_arena_used(sb->arena) : 0;
}

void hcb_sandbox_limits(struct hcb_sandbox *sb, const struct hcb_limits *limits)
{
    sb->limits = *limits;
    sb->budget_ns = limits->time_ms * 1000000;
    sb->tick_ns = hcb_guard_tick(sb->budget_ns);
}
