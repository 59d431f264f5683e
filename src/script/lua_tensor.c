/* What scripts see of a tensor: a read-only view that holds during one call. How it is
 * worked on is the business of src/stats; here are arguments, results, and the budget. */
#include "base/number.h"
#include "script/script_impl.h"
#include "stats/stats.h"
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define STEP 65536        /* elements between two ticks */
#define BINS 30
#define BINS_MOST 4096
#define PIXELS_MOST (1 << 20)

struct view {
    struct hcb_tensor t;
    uint64_t call; /* that it belongs to */
};

static struct hcb_tensor *check_view(lua_State *L)
{
    struct view *v = luaL_checkudata(L, 1, HCB_KEY_TENSOR);
    const struct hcb_script *s = hcb_script_of(L);
    if (!s->env || v->call != s->call)
        luaL_error(L, "a tensor holds only during the call that it was read in: copy what you need "
                      "of it");
    return &v->t;
}

/* ---- work in pieces --------------------------------------------------------- */

/* A device is read by code of the host's, in the host's locale. */
static int copy_outside(void *user, void *to, const void *from, size_t n)
{
    const struct hcb_device *device = user;
    struct hcb_sandbox_outside out;
    if (!device->copy)
        return -1;
    hcb_sandbox_step_out(&out);
    int rc = device->copy(device->user, to, from, n);
    hcb_sandbox_step_in(&out);
    return rc;
}

/* A tensor as it is worked on, with what that needs. */
struct job {
    lua_State *L;
    struct hcb_tensor t;
    struct hcb_device device;
    unsigned char *stage;
};

static unsigned char *stage_of(struct hcb_script *s)
{
    if (!s->stage)
        s->stage = malloc(HCB_STAGE_BYTES);
    return s->stage;
}

static void begin(lua_State *L, struct job *j)
{
    *j = (struct job){.L = L, .t = *check_view(L)};
    if (!j->t.device)
        return;
    j->device = (struct hcb_device){j->t.device->type, j->t.device->id, copy_outside,
                                    (void *)(uintptr_t)j->t.device};
    j->t.device = &j->device;
    hcb_sandbox_hold(L);
    j->stage = stage_of(hcb_script_of(L));
    hcb_sandbox_release(L);
    if (!j->stage)
        luaL_error(L, "no memory to read a device with");
}

static int device_failed(lua_State *L)
{
    return luaL_error(L, "the host could not read the device that this tensor is on");
}

/* Does all of the work; its steps are those of stats.h. They have a floating point environment
 * of their own, and may be in the host's code, so a stop waits for their end. */
static void work(struct job *j, int (*step)(void *state, int64_t most), void *state)
{
    unsigned units = j->t.numel < STEP ? (unsigned)j->t.numel / 8 + 1 : STEP / 8;
    for (int more = 1; more > 0; hcb_sandbox_tick(j->L, units)) {
        hcb_sandbox_hold(j->L);
        more = step(state, STEP);
        hcb_sandbox_release(j->L);
        if (more < 0)
            device_failed(j->L);
    }
}

static int stats_step(void *state, int64_t most)
{
    return hcb_stats_step(state, most);
}

static int norm1_step(void *state, int64_t most)
{
    return hcb_norm1_step(state, most);
}

static int histogram_step(void *state, int64_t most)
{
    return hcb_histogram_step(state, most);
}

static void get_stats(struct job *j, struct hcb_stats *out)
{
    struct hcb_stats_work state;
    hcb_stats_begin(&state, &j->t, j->stage);
    work(j, stats_step, &state);
    hcb_sandbox_hold(j->L);
    hcb_stats_end(&state, out);
    hcb_sandbox_release(j->L);
}

/* ---- statistics ------------------------------------------------------------- */

static void push_element(lua_State *L, const struct hcb_element *e)
{
    if (e->is_int)
        lua_pushinteger(L, e->i);
    else
        lua_pushnumber(L, e->d);
}

static int l_stats(lua_State *L)
{
    struct job j;
    struct hcb_stats s;
    begin(L, &j);
    get_stats(&j, &s);
    const struct { const char *name; int64_t count; } counts[] = {
        {"n", s.n}, {"nan", s.nan}, {"inf", s.inf}, {"zeros", s.zeros},
    };
    const struct { const char *name; double value; } values[] = {
        {"mean", s.mean}, {"std", s.std}, {"l2", s.l2},
    };
    lua_createtable(L, 0, 9);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        lua_pushinteger(L, counts[i].count);
        lua_setfield(L, -2, counts[i].name);
    }
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        lua_pushnumber(L, values[i].value);
        lua_setfield(L, -2, values[i].name);
    }
    push_element(L, &s.min_element);
    lua_setfield(L, -2, "min");
    push_element(L, &s.max_element);
    lua_setfield(L, -2, "max");
    return 1;
}

static double norm_1(struct job *j)
{
    struct hcb_norm1_work state;
    hcb_norm1_begin(&state, &j->t, j->stage);
    work(j, norm1_step, &state);
    return state.sum;
}

/* Of all elements, so what is not finite has its way. */
static double norm_by_stats(struct job *j, bool largest)
{
    struct hcb_stats s;
    get_stats(j, &s);
    if (s.nan > 0)
        return (double)NAN;
    if (s.inf > 0)
        return HUGE_VAL;
    if (!largest)
        return s.l2;
    return s.n == 0 ? 0 : fmax(fabs(s.min), fabs(s.max));
}

static int l_norm(lua_State *L)
{
    struct job j;
    double p = luaL_optnumber(L, 2, 2);
    luaL_argcheck(L, p == 1 || p == 2 || p == HUGE_VAL, 2, "1, 2 or math.huge expected");
    begin(L, &j);
    lua_pushnumber(L, p == 1 ? norm_1(&j) : norm_by_stats(&j, p != 2));
    return 1;
}

/* ---- histogram -------------------------------------------------------------- */

/* From the smallest to the largest; something around it where they are the same. */
static void find_range(struct job *j, double *lo, double *hi)
{
    struct hcb_stats s;
    get_stats(j, &s);
    bool any = s.n > s.nan + s.inf;
    *lo = any ? s.min : 0;
    *hi = any ? s.max : 1;
    if (*lo < *hi)
        return;
    double around = fmax(0.5, fabs(*lo) * 1e-9);
    *lo = fmax(*lo - around, -1.7976931348623157e308);
    *hi = fmin(*hi + around, 1.7976931348623157e308);
}

static int64_t *new_counts(lua_State *L, int bins)
{
    return lua_newuserdatauv(L, (size_t)bins * sizeof(int64_t), 0);
}

static void push_histogram(lua_State *L, const struct hcb_histogram_work *h)
{
    lua_createtable(L, h->bins, 0);
    for (int i = 0; i < h->bins; i++) {
        lua_pushinteger(L, h->counts[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_createtable(L, h->bins + 1, 0);
    for (int i = 0; i <= h->bins; i++) {
        hcb_sandbox_hold(L);
        double edge = hcb_histogram_edge(h->lo, h->hi, h->bins, i);
        hcb_sandbox_release(L);
        lua_pushnumber(L, edge);
        lua_rawseti(L, -2, i + 1);
    }
}

static int l_histogram(lua_State *L)
{
    struct job j;
    struct hcb_histogram_work h;
    lua_Integer bins = luaL_optinteger(L, 2, BINS);
    bool given = !lua_isnoneornil(L, 3) || !lua_isnoneornil(L, 4);
    luaL_argcheck(L, bins >= 1 && bins <= BINS_MOST, 2, "1 to 4096 bins expected");
    double lo = given ? luaL_checknumber(L, 3) : 0, hi = given ? luaL_checknumber(L, 4) : 1;
    luaL_argcheck(L, hcb_is_finite(lo) && hcb_is_finite(hi) && lo < hi, 3,
                  "two finite numbers expected, the smaller first");
    begin(L, &j);
    if (!given)
        find_range(&j, &lo, &hi);
    hcb_histogram_begin(&h, &j.t, j.stage, lo, hi, (int)bins, new_counts(L, (int)bins));
    work(&j, histogram_step, &h);
    push_histogram(L, &h);
    return 2;
}

/* ---- elements and parts ------------------------------------------------------- */

/* The index in argument `arg` of a dimension with n elements, from 0. */
static int64_t check_index(lua_State *L, int arg, int dim, int64_t n)
{
    lua_Integer i = luaL_checkinteger(L, arg);
    int64_t at = i < 0 ? n + i : i - 1;
    if (i == 0 || at < 0 || at >= n)
        luaL_argerror(L, arg, lua_pushfstring(L, "dimension %d has indices from 1 to %I", dim + 1,
                                              (LUAI_UACINT)n));
    return at;
}

static int l_get(lua_State *L)
{
    struct job j;
    struct hcb_element e;
    int64_t index[HCB_DIMS];
    begin(L, &j);
    if (lua_gettop(L) != j.t.ndim + 1)
        return luaL_error(L, "get: %d indices expected, one for each dimension", j.t.ndim);
    for (int i = 0; i < j.t.ndim; i++)
        index[i] = check_index(L, i + 2, i, j.t.shape[i]);
    hcb_sandbox_hold(L);
    bool got = hcb_tensor_get(&j.t, index, &e);
    hcb_sandbox_release(L);
    if (!got)
        return device_failed(L);
    if (j.t.dtype == HCB_BOOL8)
        lua_pushboolean(L, e.i != 0);
    else
        push_element(L, &e);
    return 1;
}

/* An index as string.sub has it: negative from the end. */
static int64_t relative(lua_Integer i, int64_t n)
{
    if (i >= 0)
        return i;
    return i < -n ? 0 : n + i + 1;
}

static int l_slice(lua_State *L)
{
    struct hcb_tensor t = *check_view(L);
    lua_Integer dim = luaL_checkinteger(L, 2);
    if (dim < 1 || dim > t.ndim)
        return luaL_argerror(L, 2, lua_pushfstring(L, "a dimension from 1 to %d expected", t.ndim));
    int64_t n = t.shape[dim - 1];
    int64_t from = relative(luaL_checkinteger(L, 3), n);
    int64_t to = relative(luaL_optinteger(L, 4, -1), n);
    from = from < 1 ? 1 : from;
    to = to > n ? n : to;
    hcb_tensor_slice(&t, (int)dim - 1, from - 1, from <= to ? to - from + 1 : 0);
    hcb_lua_push_tensor(L, &t);
    return 1;
}

static int l_shape(lua_State *L)
{
    const struct hcb_tensor *t = check_view(L);
    lua_createtable(L, t->ndim, 0);
    for (int i = 0; i < t->ndim; i++) {
        lua_pushinteger(L, t->shape[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int l_dtype(lua_State *L)
{
    lua_pushstring(L, hcb_dtype_name(check_view(L)->dtype));
    return 1;
}

static int l_numel(lua_State *L)
{
    lua_pushinteger(L, check_view(L)->numel);
    return 1;
}

static int l_len(lua_State *L)
{
    const struct hcb_tensor *t = check_view(L);
    lua_pushinteger(L, t->ndim > 0 ? t->shape[0] : 1);
    return 1;
}

/* "f32[784,128]". It may be in a message about a view that is gone, so it never raises. */
static int l_tostring(lua_State *L)
{
    const struct view *v = luaL_checkudata(L, 1, HCB_KEY_TENSOR);
    const struct hcb_tensor *t = &v->t;
    char text[32 + HCB_DIMS * 21];
    int at = snprintf(text, sizeof text, "%s[", hcb_dtype_name(t->dtype));
    for (int i = 0; i < t->ndim; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, i > 0 ? ",%lld" : "%lld",
                       (long long)t->shape[i]);
    lua_pushfstring(L, "%s]", text);
    return 1;
}

/* ---- pictures ----------------------------------------------------------------- */

static char pixel(double x, double lo, double scale)
{
    double level = (x - lo) * scale;
    if (!(level > 0)) /* NaN too */
        return 0;
    return (char)(unsigned char)(level >= 255 ? 255 : level + 0.5);
}

static int l_pixels(lua_State *L)
{
    struct job j;
    struct hcb_walk walk;
    luaL_Buffer b;
    double values[256], lo = luaL_checknumber(L, 2), hi = luaL_checknumber(L, 3);
    int64_t got;
    luaL_argcheck(L, hcb_is_finite(lo) && hcb_is_finite(hi) && lo < hi, 2,
                  "two finite numbers expected, the smaller first");
    begin(L, &j);
    luaL_argcheck(L, j.t.numel <= PIXELS_MOST, 1, "more than 1 MiB of pixels");
    char *to = luaL_buffinitsize(L, &b, (size_t)j.t.numel);
    hcb_walk_begin(&walk, &j.t, true, j.stage);
    do {
        hcb_sandbox_hold(L);
        got = hcb_read(&walk, values, 256);
        hcb_sandbox_release(L);
        for (int64_t i = 0; i < got; i++)
            *to++ = pixel(values[i], lo, 255 / (hi - lo));
        hcb_sandbox_tick(L, 64);
    } while (got > 0);
    if (got < 0)
        return device_failed(L);
    luaL_pushresultsize(&b, (size_t)j.t.numel);
    return 1;
}

static const luaL_Reg methods[] = {
    {"stats", l_stats}, {"norm", l_norm},   {"histogram", l_histogram}, {"get", l_get},
    {"slice", l_slice}, {"shape", l_shape}, {"dtype", l_dtype},         {"numel", l_numel},
    {"pixels", l_pixels}, {NULL, NULL}
};

/* -> metatable of views, made when the first is: most callbacks have none */
static void push_metatable(lua_State *L)
{
    if (!luaL_newmetatable(L, HCB_KEY_TENSOR))
        return;
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, l_len);
    lua_setfield(L, -2, "__len");
    lua_pushcfunction(L, l_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_pushliteral(L, "tensor");
    lua_setfield(L, -2, "__name");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
}

void hcb_lua_push_tensor(lua_State *L, const struct hcb_tensor *t)
{
    struct view *v = lua_newuserdatauv(L, sizeof *v, 0);
    v->t = *t;
    v->call = hcb_script_of(L)->call;
    push_metatable(L);
    lua_setmetatable(L, -2);
}
