/* One script: set-up and parameters; calls.c has the calls. Every function whose name
 * begins with l_ runs inside the state, protected, and may raise; the others may not touch
 * Lua but through hcb_script_enter(). */
#include "base/json.h"
#include "base/text.h"
#include "control/shape.h"
#include "script/lua_value.h"
#include "script/params_lua.h"
#include "script/script_impl.h"
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

struct hcb_script *hcb_script_of(lua_State *L)
{
    return hcb_sandbox_owner(L);
}

/* Raises a sentence that begins with the script's name, as load errors do. */
static int raise_about(lua_State *L, struct hcb_script *s, const char *text)
{
    lua_pushfstring(L, "%s: %s", s->chunkname + (*s->chunkname == '@'), text);
    return hcb_sandbox_raise(L, HCB_SYNTAX);
}

void hcb_script_tidy(struct hcb_script *s)
{
    hcb_buf_release(&s->scratch);
    hcb_value_release(&s->scratch_value);
    hcb_buf_release(&s->module.text);
}

/* Its call was broken off, and nothing of the state is left. */
static void dropped(void *script)
{
    struct hcb_script *s = script;
    s->env = NULL;
    hcb_script_tidy(s);
}

int hcb_script_enter(struct hcb_script *s, lua_CFunction fn, void *arg, struct hcb_fault *fault)
{
    int status = hcb_sandbox_run(&s->box, fn, arg, fault);
    if (s->box.dead != HCB_FINE)
        hcb_script_tidy(s);
    return status;
}

/* ---- set-up ---------------------------------------------------------------- */

struct setup {
    struct hcb_script *s;
    const struct hcb_script_source *source;
};

static bool returned_is_symbol(lua_State *L, const char *symbol)
{
    bool is = lua_getfield(L, -1, "name") == LUA_TSTRING &&
              strcmp(lua_tostring(L, -1), symbol) == 0;
    lua_pop(L, 1);
    return is;
}

/* returned -> the callback's table */
static void pick_symbol(lua_State *L, struct hcb_script *s)
{
    if (returned_is_symbol(L, s->symbol))
        return;
    if (lua_getfield(L, -1, s->symbol) == LUA_TTABLE) {
        lua_remove(L, -2);
        return;
    }
    lua_pushfstring(L, "returns no table named '%s' (symbol)", s->symbol);
    raise_about(L, s, lua_tostring(L, -1));
}

static void adopt_table(lua_State *L, struct hcb_script *s)
{
    if (s->symbol)
        pick_symbol(L, s);
    if (lua_getfield(L, -1, "handle") != LUA_TFUNCTION)
        raise_about(L, s, "the table it returns has no function handle(event, env)");
    lua_pop(L, 1);
    s->is_table = true;
    lua_pushstring(L, s->id);
    lua_setfield(L, -2, "id");
    lua_setfield(L, LUA_REGISTRYINDEX, HCB_KEY_SELF);
}

static void adopt_globals(lua_State *L, struct hcb_script *s)
{
    if (s->symbol)
        raise_about(L, s, "returns nothing, so there is no symbol to pick");
    if (lua_getglobal(L, "handle") != LUA_TFUNCTION)
        raise_about(L, s, "is no callback: return a table with a function handle(event, env), "
                          "or define a global function handle(event, env)");
    lua_pop(L, 1);
}

void hcb_lua_load_text(lua_State *L, const char *text, size_t n, const char *chunkname)
{
    struct hcb_fault why;
    if (hcb_source_clean(&text, &n, chunkname, &why) < 0) {
        lua_pushstring(L, why.message);
        hcb_sandbox_raise(L, why.reason);
    }
    int status = luaL_loadbufferx(L, text, n, chunkname, "t");
    if (status == LUA_OK)
        return;
    if (!hcb_fault_has_place(lua_tostring(L, -1))) /* the parser's own stack is too small */
        lua_pushfstring(L, "%s:1: too deeply nested to be compiled (%s)",
                        chunkname + (*chunkname == '@'), lua_tostring(L, -1));
    hcb_sandbox_raise(L, status == LUA_ERRMEM ? HCB_MEMORY : HCB_SYNTAX);
}

static void run_chunk(lua_State *L, const struct setup *set)
{
    struct hcb_script *s = set->s;
    hcb_lua_load_text(L, set->source->text, set->source->n, s->chunkname);
    lua_call(L, 0, 1); // returned
    if (lua_istable(L, -1))
        adopt_table(L, s);
    else if (lua_isnil(L, -1))
        adopt_globals(L, s);
    else
        raise_about(L, s, "must return a table, or nothing and define global functions");
}

#define FIELD_BYTES 200 /* shown in every status */
#define EVENTS_BYTES (16 << 10)
#define EVENTS_MAX 256

static void read_text(lua_State *L, struct hcb_script *s, const char *field, char **out)
{
    int type = lua_getfield(L, -1, field);
    if (type != LUA_TNIL && (type != LUA_TSTRING || lua_rawlen(L, -1) > FIELD_BYTES))
        raise_about(L, s, lua_pushfstring(L, "'%s' must be text of at most %d bytes", field,
                                          FIELD_BYTES));
    const char *given = type == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    hcb_sandbox_hold(L);
    *out = hcb_strdup(given);
    hcb_sandbox_release(L);
    if (given && !*out)
        hcb_sandbox_raise(L, HCB_MEMORY);
    lua_pop(L, 1);
}

static bool are_names(const struct hcb_value *v)
{
    if (v->type != HCB_LIST || v->u.list.n > EVENTS_MAX)
        return false;
    for (size_t i = 0; i < v->u.list.n; i++)
        if (v->u.list.v[i].type != HCB_TEXT)
            return false;
    return true;
}

static void read_events(lua_State *L, struct hcb_script *s)
{
    struct hcb_err err;
    struct hcb_lua_room room = {EVENTS_MAX, EVENTS_BYTES};
    if (lua_getfield(L, -1, "events") != LUA_TNIL) {
        hcb_value_make_room(L);
        hcb_sandbox_hold(L);
        int status = hcb_value_from_lua_within(L, -1, &room, &s->events, &err);
        hcb_sandbox_release(L);
        if (status < 0 || !are_names(&s->events))
            raise_about(L, s, "'events' must be a list of event names");
    }
    lua_pop(L, 1);
}

static void read_schedule(lua_State *L, struct hcb_script *s)
{
    read_text(L, s, "schedule", &s->schedule);
    for (size_t i = 0; s->schedule && i < s->params.n; i++)
        if (strcmp(s->params.v[i].name, s->schedule) == 0)
            s->schedule_param = (int)i;
    if (!s->schedule)
        return;
    if (s->schedule_param < 0 || s->params.v[s->schedule_param].type != HCB_PARAM_INTEGER)
        raise_about(L, s, lua_pushfstring(L, "schedule = \"%s\" must name a declared integer "
                                             "parameter", s->schedule));
}

static void read_params(lua_State *L, struct hcb_script *s)
{
    struct hcb_err err;
    int type = lua_getfield(L, -1, "params");
    if (type != LUA_TNIL && type != LUA_TTABLE)
        raise_about(L, s, "'params' must be a table of rows { name, default, ... }");
    s->declares = type == LUA_TTABLE;
    hcb_value_make_room(L);
    hcb_sandbox_hold(L);
    int status = s->declares ? hcb_params_from_lua(L, -1, &s->params, &err) : 0;
    hcb_sandbox_release(L);
    if (status < 0)
        raise_about(L, s, err.text);
    lua_pop(L, 1);
}

static void read_declarations(lua_State *L, struct hcb_script *s)
{
    lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_SELF); // self
    read_text(L, s, "name", &s->name);
    read_params(L, s);
    read_schedule(L, s);
    read_events(L, s);
    lua_pop(L, 1);
}

static int l_setup(lua_State *L)
{
    struct setup *set = lua_touserdata(L, 1);
    hcb_lua_open_env(L);
    hcb_lua_open_host(L);
    hcb_lua_open_require(L);
    run_chunk(L, set);
    if (set->s->is_table)
        read_declarations(L, set->s);
    return 0;
}

/* ---- parameters ------------------------------------------------------------ */

/* Writes the values to self, then calls set_params(changed) where there is one. */
static int l_apply_params(lua_State *L)
{
    const struct hcb_value *changed = lua_touserdata(L, 1);
    struct hcb_script *s = hcb_script_of(L);
    int args = 1;
    hcb_lua_forget_env(L, s);
    if (s->is_table) {
        lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_SELF); // self
        for (size_t i = 0; s->declares && i < changed->u.map.n; i++) {
            hcb_value_to_lua(L, &changed->u.map.p[i].value);
            lua_setfield(L, -2, changed->u.map.p[i].key);
        }
        if (lua_getfield(L, -1, "set_params") != LUA_TFUNCTION)
            return 0;
        lua_insert(L, -2); // set_params self
        args = 2;
    } else if (lua_getglobal(L, "set_params") != LUA_TFUNCTION) {
        return 0;
    }
    hcb_value_to_lua(L, changed);
    lua_call(L, args, 0);
    return 0;
}

static int l_takes_params(lua_State *L)
{
    bool *takes = lua_touserdata(L, 1);
    struct hcb_script *s = hcb_script_of(L);
    if (s->is_table) {
        lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_SELF);
        lua_getfield(L, -1, "set_params");
    } else {
        lua_getglobal(L, "set_params");
    }
    *takes = lua_isfunction(L, -1);
    return 0;
}

static bool keep_value(struct hcb_param *p, const struct hcb_value *from)
{
    struct hcb_value copy = {0};
    if (!hcb_value_copy(&copy, from))
        return false;
    hcb_value_release(&p->value);
    p->value = copy;
    return true;
}

static void swap_values(struct hcb_value *a, struct hcb_value *b)
{
    struct hcb_value swap = *a;
    *a = *b;
    *b = swap;
}

/* Makes the converted values of `map` those that hold; needs no memory. The map is
 * left with those of before. */
static void take_values(struct hcb_script *s, struct hcb_value *map)
{
    for (size_t i = 0; i < map->u.map.n; i++)
        swap_values(&hcb_params_find(&s->params, map->u.map.p[i].key)->value,
                    &map->u.map.p[i].value);
}

static int init_declared(struct hcb_script *s, const struct hcb_value *init, struct hcb_err *err)
{
    struct hcb_value good = {0};
    int status = hcb_params_convert(&s->params, init, &good, err);
    for (size_t i = 0; status == 0 && i < good.u.map.n; i++) {
        struct hcb_param *p = hcb_params_find(&s->params, good.u.map.p[i].key);
        hcb_value_release(&p->initial);
        if (!hcb_value_copy(&p->initial, &good.u.map.p[i].value) || !keep_value(p, &p->initial))
            status = hcb_fail_nomem(err);
    }
    hcb_value_release(&good);
    return status;
}

static void leave_out(struct hcb_script *s, const char *name)
{
    hcb_buf_printf(&s->dropped, "%s%s", s->dropped.len ? ", " : "", name);
}

/* On a reload: what was given before, as far as it still fits. */
static int keep_fitting(struct hcb_script *s, const struct hcb_value *given, bool initial,
                        struct hcb_err *err)
{
    for (size_t i = 0; i < given->u.map.n; i++) {
        const struct hcb_pair *pair = &given->u.map.p[i];
        struct hcb_param *p = hcb_params_find(&s->params, pair->key);
        struct hcb_value good = {0};
        int status = p ? hcb_param_convert(p, &pair->value, &good, NULL) : HOTCB_EREFUSED;
        if (status == HOTCB_ENOMEM)
            return hcb_fail_nomem(err);
        if (status < 0) {
            leave_out(s, pair->key);
            continue;
        }
        bool kept = keep_value(p, &good);
        if (initial) {
            hcb_value_release(&p->initial);
            p->initial = good;
        } else {
            hcb_value_release(&good);
        }
        if (!kept)
            return hcb_fail_nomem(err);
    }
    return 0;
}

static int set_strict(struct hcb_script *s, const struct hcb_value *set, struct hcb_err *err)
{
    struct hcb_value good = {0};
    int status = hcb_params_convert(&s->params, set, &good, err);
    if (status == 0)
        take_values(s, &good);
    hcb_value_release(&good);
    return status;
}

bool hcb_script_takes(const struct hcb_script *s, const char *name, const struct hcb_value *v)
{
    struct hcb_param *p = s->declares ? hcb_params_find(&s->params, name) : NULL;
    struct hcb_value good = {0};
    if (!p || v->type == HCB_NULL)
        return p || !s->declares;
    int status = hcb_param_convert(p, v, &good, NULL);
    hcb_value_release(&good);
    return status != HOTCB_EREFUSED;
}

static bool is_map(const struct hcb_value *v)
{
    return v && v->type == HCB_MAP;
}

/* Values for a script that declares nothing: as they are, null being none. */
static int merge(struct hcb_value *into, const struct hcb_value *from, struct hcb_err *err)
{
    for (size_t i = 0; is_map(from) && i < from->u.map.n; i++) {
        const struct hcb_pair *pair = &from->u.map.p[i];
        if (pair->value.type == HCB_NULL)
            continue;
        if (!hcb_params_finite(&pair->value)) /* no range is declared that would admit it */
            return hcb_fail(err, HOTCB_EREFUSED, "%s=%s: only a declared range can admit that",
                            pair->key, pair->value.source ? pair->value.source : "inf");
        if (!hcb_map_set(into, pair->key, &pair->value))
            return hcb_fail_nomem(err);
        if (into->u.map.n > HCB_PARAM_COUNT)
            return hcb_fail(err, HOTCB_EREFUSED, "more than %d values in all", HCB_PARAM_COUNT);
    }
    return 0;
}

static int init_loose(struct hcb_script *s, const struct hcb_script_source *source,
                      struct hcb_err *err)
{
    hcb_value_map(&s->loose_init);
    hcb_value_map(&s->loose);
    int status = merge(&s->loose_init, source->init, err);
    if (status == 0)
        status = merge(&s->loose, source->init, err);
    if (status == 0)
        status = merge(&s->loose, source->set, err);
    return status;
}

static int init_params(struct hcb_script *s, const struct hcb_script_source *source,
                       struct hcb_err *err)
{
    int status = 0;
    if (!s->declares)
        return init_loose(s, source, err);
    if (is_map(source->init))
        status = source->lenient ? keep_fitting(s, source->init, true, err)
                                 : init_declared(s, source->init, err);
    if (status == 0 && is_map(source->set))
        status = source->lenient ? keep_fitting(s, source->set, false, err)
                                 : set_strict(s, source->set, err);
    return status;
}

void hcb_script_values_json(struct hcb_buf *b, const struct hcb_script *s)
{
    if (!s->declares) {
        hcb_json_value(b, &s->loose);
        return;
    }
    hcb_json_open(b, '{');
    for (size_t i = 0; i < s->params.n; i++) {
        hcb_json_key(b, s->params.v[i].name);
        hcb_json_value(b, &s->params.v[i].value);
    }
    hcb_json_close(b, '}');
}

static const struct hcb_value *all_values(struct hcb_script *s, struct hcb_value *scratch)
{
    if (!s->declares)
        return &s->loose;
    hcb_value_release(scratch);
    hcb_value_map(scratch);
    for (size_t i = 0; i < s->params.n; i++)
        if (!hcb_map_set(scratch, s->params.v[i].name, &s->params.v[i].value))
            break;
    return scratch;
}

/* A script without set_params that was given values nobody can take must say so. */
static int tell_initial(struct hcb_script *s, struct hcb_fault *fault)
{
    struct hcb_value all = {0};
    const struct hcb_value *values = all_values(s, &all);
    bool takes = true;
    int status = 0;
    if (s->declares && values->u.map.n < s->params.n)
        status = hcb_fault_set(fault, HCB_MEMORY, "out of memory");
    else if (!s->declares && values->u.map.n > 0)
        status = hcb_script_enter(s, l_takes_params, &takes, fault);
    if (status == 0 && !takes)
        status = hcb_fault_set(fault, HCB_RUNTIME, "%s: takes no parameters: it declares none and "
                               "has no set_params", s->chunkname + (*s->chunkname == '@'));
    if (status == 0 && values->u.map.n > 0)
        status = hcb_script_enter(s, l_apply_params, (void *)(uintptr_t)values, fault);
    hcb_value_release(&all);
    return status;
}

/* ---- open ------------------------------------------------------------------ */

static bool copy_names(struct hcb_script *s, const struct hcb_script_source *source)
{
    s->id = hcb_strdup(source->id);
    s->chunkname = hcb_strdup(source->chunkname);
    s->symbol = hcb_strdup(source->symbol);
    s->framework = hcb_strdup(source->framework ? source->framework : "c");
    return s->id && s->chunkname && s->framework && (s->symbol || !source->symbol);
}

static int set_up(struct hcb_script *s, const struct hcb_script_source *source,
                  struct hcb_fault *fault)
{
    struct setup set = {s, source};
    struct hcb_err err;
    s->box.dropped = dropped;
    if (hcb_script_enter(s, l_setup, &set, fault) < 0)
        return -1;
    if (init_params(s, source, &err) < 0)
        return hcb_fault_set(fault, HCB_RUNTIME, "%s", err.text);
    if (tell_initial(s, fault) < 0)
        return -1;
    hcb_sandbox_settle(&s->box);
    return 0;
}

int hcb_script_open(struct hcb_script **out, const struct hcb_script_source *source,
                    struct hcb_fault *fault)
{
    struct hcb_script *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s || !copy_names(s, source)) {
        hcb_script_free(s);
        return hcb_fault_set(fault, HCB_MEMORY, "out of memory");
    }
    s->effects = source->effects;
    hcb_script_finder(s, source->find, source->find_user);
    s->schedule_param = -1;
    if (hcb_sandbox_open(&s->box, &source->limits, s->chunkname + (*s->chunkname == '@'), s,
                         source->pool, fault) < 0 || set_up(s, source, fault) < 0) {
        hcb_script_free(s);
        return -1;
    }
    *out = s;
    return 0;
}

void hcb_script_finder(struct hcb_script *s, hcb_find_module_fn *find, void *user)
{
    s->find = find;
    s->find_user = user;
}

void hcb_script_free(struct hcb_script *s)
{
    if (!s)
        return;
    hcb_sandbox_close(&s->box);
    hcb_params_release(&s->params);
    hcb_value_release(&s->loose_init);
    hcb_value_release(&s->loose);
    hcb_value_release(&s->events);
    hcb_value_release(&s->scratch_value);
    hcb_buf_release(&s->scratch);
    free(s->stage);
    hcb_buf_release(&s->dropped);
    hcb_buf_release(&s->module.text);
    free(s->module.chunkname);
    free(s->id);
    free(s->framework);
    free(s->symbol);
    free(s->chunkname);
    free(s->name);
    free(s->schedule);
    free(s);
}

/* ---- set ------------------------------------------------------------------- */

/* What null means to a script that declares nothing: what its load said. */
static int resolve_loose(struct hcb_script *s, const struct hcb_value *params,
                         struct hcb_value *out, struct hcb_err *err)
{
    hcb_value_map(out);
    for (size_t i = 0; i < params->u.map.n; i++) {
        const struct hcb_pair *pair = &params->u.map.p[i];
        const struct hcb_value *v = &pair->value;
        if (v->type == HCB_NULL)
            v = hcb_map_get(&s->loose_init, pair->key);
        if (!v)
            return hcb_fail(err, HOTCB_EREFUSED, "%s=null: it has no initial value to go back to",
                            pair->key);
        if (!hcb_map_set(out, pair->key, v))
            return hcb_fail_nomem(err);
    }
    return 0;
}

static int refuse_by_fault(struct hcb_err *err, const struct hcb_fault *fault)
{
    return hcb_fail(err, HOTCB_EREFUSED, "%s", fault->message);
}

static int set_loose(struct hcb_script *s, const struct hcb_value *params, struct hcb_err *err)
{
    struct hcb_value changed = {0}, all = {0};
    struct hcb_fault fault;
    bool takes = true;
    int status = resolve_loose(s, params, &changed, err);
    if (status == 0 && !hcb_value_copy(&all, &s->loose))
        status = hcb_fail_nomem(err);
    if (status == 0)
        status = merge(&all, &changed, err);
    if (status == 0 && hcb_script_enter(s, l_takes_params, &takes, &fault) < 0)
        status = refuse_by_fault(err, &fault);
    if (status == 0 && !takes)
        status = hcb_fail(err, HOTCB_EREFUSED,
                          "it takes no parameters: it declares none and has no set_params");
    if (status == 0 && hcb_script_enter(s, l_apply_params, &changed, &fault) < 0)
        status = refuse_by_fault(err, &fault);
    if (status == 0)
        swap_values(&s->loose, &all);
    hcb_value_release(&changed);
    hcb_value_release(&all);
    return status;
}

/* Gives self the values that hold, of those that `changed` is about. */
static int l_write_back(lua_State *L)
{
    const struct hcb_value *changed = lua_touserdata(L, 1);
    struct hcb_script *s = hcb_script_of(L);
    lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_SELF);
    for (size_t i = 0; i < changed->u.map.n; i++) {
        const char *name = changed->u.map.p[i].key;
        hcb_value_to_lua(L, &hcb_params_find(&s->params, name)->value);
        lua_setfield(L, -2, name);
    }
    return 0;
}

static int set_declared(struct hcb_script *s, const struct hcb_value *params, struct hcb_err *err)
{
    struct hcb_value changed = {0};
    struct hcb_fault fault, second;
    int status = hcb_params_convert(&s->params, params, &changed, err);
    if (status == 0 && hcb_script_enter(s, l_apply_params, &changed, &fault) < 0) {
        hcb_script_enter(s, l_write_back, &changed, &second);
        status = refuse_by_fault(err, &fault);
    }
    if (status == 0)
        take_values(s, &changed);
    hcb_value_release(&changed);
    return status;
}

int hcb_script_set(struct hcb_script *s, const struct hcb_value *params, struct hcb_err *err)
{
    return s->declares ? set_declared(s, params, err) : set_loose(s, params, err);
}

/* ---- what it says of itself ------------------------------------------------ */

const char *hcb_script_name(const struct hcb_script *s) { return s->name; }
const char *hcb_script_schedule(const struct hcb_script *s) { return s->schedule; }
size_t hcb_script_memory(const struct hcb_script *s) { return hcb_sandbox_used(&s->box); }
bool hcb_script_dead(const struct hcb_script *s) { return s->box.dead != HCB_FINE; }

const struct hcb_params *hcb_script_params(const struct hcb_script *s)
{
    return s->declares ? &s->params : NULL;
}

const struct hcb_value *hcb_script_events(const struct hcb_script *s)
{
    return s->events.type == HCB_LIST ? &s->events : NULL;
}

int64_t hcb_script_every(const struct hcb_script *s)
{
    return s->params.v[s->schedule_param].value.u.i;
}

bool hcb_script_has_initial(const struct hcb_script *s, const char *param)
{
    return s->declares ? hcb_params_find(&s->params, param) != NULL
                       : hcb_map_get(&s->loose_init, param) != NULL;
}

const char *hcb_script_dropped(const struct hcb_script *s)
{
    return s->dropped.len ? s->dropped.data : NULL;
}

void hcb_script_limits(struct hcb_script *s, const struct hcb_limits *limits)
{
    hcb_sandbox_limits(&s->box, limits);
}
