/* hotcb.scalar, hotcb.histogram and hotcb.image: what scripts give to be plotted. Nothing is
 * done here but to judge it and to queue it (effects.h), in the form that the file will have:
 * so the time that this takes is the script's own. */
#include "base/json.h"
#include "base/number.h"
#include "script/script_impl.h"
#include "sink/media.h"
#include "sink/picture.h"
#include <lauxlib.h>
#include <math.h>

#define KEY_BYTES 250
#define BLOCK 128       /* numbers that are written at one go, */
#define NUMBER_UNITS 300 /* and what one of them is of work */
#define JUDGE_UNITS 5

static const char *check_key(lua_State *L, size_t most, size_t *n)
{
    luaL_checktype(L, 1, LUA_TSTRING);
    const char *key = lua_tolstring(L, 1, n);
    if (*n == 0 || *n > most)
        luaL_argerror(L, 1, lua_pushfstring(L, "a key of 1 to %d bytes expected", (int)most));
    return key;
}

/* Text that reads as a number is none here. */
static lua_Integer check_integer(lua_State *L, int idx)
{
    luaL_checktype(L, idx, LUA_TNUMBER);
    return luaL_checkinteger(L, idx);
}

static void check_step(lua_State *L, int idx)
{
    if (!lua_isnoneornil(L, idx))
        check_integer(L, idx);
}

/* The step that was given (3.0 serves as 3), or else that of the call. */
static void fill_step(lua_State *L, int idx, bool *has_step, int64_t *step)
{
    const struct hotcb_env *env = hcb_script_of(L)->env;
    bool given = !lua_isnoneornil(L, idx);
    *has_step = given || (env && env->has_step);
    *step = given ? lua_tointeger(L, idx) : env ? env->step : 0;
}

/* hotcb.scalar(key, value [, step]) */
int hcb_lua_scalar(lua_State *L)
{
    size_t n;
    struct hcb_effects *effects = hcb_script_of(L)->effects;
    const char *key = check_key(L, KEY_BYTES, &n);
    luaL_checktype(L, 2, LUA_TNUMBER);
    check_step(L, 3);
    hcb_sandbox_hold(L);
    struct hcb_effect *e = hcb_effects_add(effects, HCB_EFFECT_SCALAR, key, n);
    if (e) {
        fill_step(L, 3, &e->has_step, &e->step);
        e->is_int = lua_isinteger(L, 2);
        e->i = e->is_int ? lua_tointeger(L, 2) : 0;
        e->d = lua_tonumber(L, 2);
    }
    lua_pushboolean(L, e && hcb_spool_is_open(effects->metrics));
    hcb_sandbox_release(L);
    return 1;
}

/* ---- histograms ------------------------------------------------------------ */

static void refuse_number(lua_State *L, int idx, const char *what, lua_Integer i,
                          const char *expected)
{
    luaL_argerror(L, idx, lua_pushfstring(L, "%s[%I]: %s expected", what, i, expected));
}

/* Calls no metamethod; the tables cannot change before they are written. */
static void check_counts(lua_State *L, int idx, lua_Integer n)
{
    for (lua_Integer i = 1; i <= n; i++) {
        bool number = lua_rawgeti(L, idx, i) == LUA_TNUMBER;
        if (!number || !hcb_is_finite(lua_tonumber(L, -1)) || lua_tonumber(L, -1) < 0)
            refuse_number(L, idx, "counts", i, "a finite number, 0 or more");
        lua_pop(L, 1);
        hcb_sandbox_tick(L, JUDGE_UNITS);
    }
}

static void check_edges(lua_State *L, int idx, lua_Integer n)
{
    lua_pushnumber(L, -HUGE_VAL); // last
    for (lua_Integer i = 1; i <= n; i++) {
        bool number = lua_rawgeti(L, idx, i) == LUA_TNUMBER; // last, edge
        if (!number || !hcb_is_finite(lua_tonumber(L, -1)))
            refuse_number(L, idx, "edges", i, "a finite number");
        if (lua_compare(L, -1, -2, LUA_OPLT))
            refuse_number(L, idx, "edges", i, "no less than the edge before it");
        lua_remove(L, -2);
        hcb_sandbox_tick(L, JUDGE_UNITS);
    }
    lua_pop(L, 1);
}

static lua_Integer check_tables(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TTABLE);
    luaL_checktype(L, 3, LUA_TTABLE);
    lua_Integer n = (lua_Integer)lua_rawlen(L, 2), edges = (lua_Integer)lua_rawlen(L, 3);
    if (n < 1 || n > HCB_HISTOGRAM_BINS)
        luaL_argerror(L, 2, lua_pushfstring(L, "1 to %d counts expected, got %I",
                                            HCB_HISTOGRAM_BINS, n));
    if (edges != n + 1)
        luaL_argerror(L, 3, lua_pushfstring(L, "%I edges expected, one more than counts, got %I",
                                            n + 1, edges));
    check_counts(L, 2, n);
    check_edges(L, 3, edges);
    return n;
}

static void put_number(lua_State *L, struct hcb_buf *b)
{
    if (lua_isinteger(L, -1))
        hcb_json_int(b, lua_tointeger(L, -1));
    else
        hcb_json_real(b, lua_tonumber(L, -1));
}

/* Some at a time: a script that has run out of time is stopped between them. */
static void put_numbers(lua_State *L, const char *name, int idx, lua_Integer n)
{
    struct hcb_buf *b = &hcb_script_of(L)->scratch;
    for (lua_Integer i = 1; i <= n;) {
        hcb_sandbox_hold(L);
        if (i == 1) {
            hcb_json_key(b, name);
            hcb_json_open(b, '[');
        }
        for (lua_Integer end = i + BLOCK; i <= n && i < end; i++) {
            lua_rawgeti(L, idx, i);
            put_number(L, b);
            lua_pop(L, 1);
        }
        if (i > n)
            hcb_json_close(b, ']');
        hcb_sandbox_release(L);
        hcb_sandbox_tick(L, BLOCK * NUMBER_UNITS);
    }
}

/* hotcb.histogram(key, counts, edges [, step]) */
int hcb_lua_histogram(lua_State *L)
{
    size_t key_len;
    struct hcb_script *s = hcb_script_of(L);
    const char *key = check_key(L, KEY_BYTES, &key_len);
    lua_Integer n = check_tables(L);
    check_step(L, 4);
    hcb_buf_reset(&s->scratch);
    put_numbers(L, "counts", 2, n);
    put_numbers(L, "edges", 3, n + 1);
    hcb_sandbox_hold(L);
    struct hcb_effect *e = NULL;
    if (s->scratch.oom)
        s->effects->dropped++;
    else
        e = hcb_effects_add_bytes(s->effects, HCB_EFFECT_HISTOGRAM, key, key_len,
                                  s->scratch.data, s->scratch.len);
    if (e)
        fill_step(L, 4, &e->has_step, &e->step);
    hcb_script_spare_scratch(s);
    lua_pushboolean(L, e && hcb_spool_is_open(s->effects->media));
    hcb_sandbox_release(L);
    return 1;
}

/* ---- pictures -------------------------------------------------------------- */

static unsigned check_side(lua_State *L, int idx)
{
    lua_Integer side = check_integer(L, idx);
    if (side < 1 || side > HCB_PICTURE_SIDE)
        luaL_argerror(L, idx, lua_pushfstring(L, "1 to %d expected", HCB_PICTURE_SIDE));
    return (unsigned)side;
}

static void check_picture(lua_State *L, struct hcb_picture *p)
{
    size_t n;
    luaL_checktype(L, 2, LUA_TSTRING);
    p->pixels = lua_tolstring(L, 2, &n);
    p->width = check_side(L, 3);
    p->height = check_side(L, 4);
    size_t area = (size_t)p->width * p->height;
    if (n > HCB_PICTURE_BYTES)
        luaL_argerror(L, 2, lua_pushfstring(L, "at most %d bytes of pixels expected, got %I",
                                            HCB_PICTURE_BYTES, (lua_Integer)n));
    if (n != area && n != 3 * area)
        luaL_argerror(L, 2, lua_pushfstring(L, "%I bytes of pixels (grey) or %I (rgb) expected for "
                                            "%d by %d, got %I", (lua_Integer)area,
                                            (lua_Integer)(3 * area), (int)p->width,
                                            (int)p->height, (lua_Integer)n));
    p->channels = n == area ? 1 : 3;
}

/* The key is judged here, where who gave it hears of it. */
static void check_name(lua_State *L, const struct hcb_line_head *head)
{
    char name[HCB_PICTURE_NAME];
    struct hcb_err err;
    hcb_sandbox_hold(L);
    int status = hcb_picture_name(head, 1, name, &err);
    hcb_sandbox_release(L);
    if (status < 0)
        luaL_argerror(L, 1, err.text);
}

static bool no_time(void *L)
{
    return hcb_sandbox_overdue(L, 0);
}

/* NULL where there is no room. One that would be dropped is not encoded first. */
static struct hcb_effect *queue_picture(lua_State *L, const struct hcb_line_head *head,
                                        const struct hcb_picture *p)
{
    struct hcb_script *s = hcb_script_of(L);
    struct hcb_err err;
    struct hcb_effect *e = NULL;
    hcb_buf_reset(&s->scratch);
    if (s->effects->files == HCB_EFFECTS_FILES ||
        hcb_picture_encode(p, no_time, L, &s->scratch, &err) < 0)
        s->effects->dropped++;
    else
        e = hcb_effects_add_bytes(s->effects, HCB_EFFECT_PICTURE, head->key, head->key_len,
                                  s->scratch.data, s->scratch.len);
    if (e) {
        e->has_step = head->has_step;
        e->step = head->step;
        e->width = p->width;
        e->height = p->height;
        e->channels = p->channels;
    }
    hcb_script_spare_scratch(s);
    return e;
}

/* hotcb.image(key, pixels, width, height [, step]) */
int hcb_lua_image(lua_State *L)
{
    struct hcb_line_head head = {0};
    struct hcb_picture p;
    head.key = check_key(L, HCB_PICTURE_KEY_BYTES, &head.key_len);
    check_picture(L, &p);
    check_step(L, 5);
    fill_step(L, 5, &head.has_step, &head.step);
    check_name(L, &head);
    hcb_sandbox_hold(L);
    struct hcb_effect *e = queue_picture(L, &head, &p);
    lua_pushboolean(L, e && hcb_spool_is_open(hcb_script_of(L)->effects->media));
    hcb_sandbox_release(L);
    return 1;
}
