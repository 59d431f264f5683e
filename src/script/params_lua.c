/* Reads a script's `params` table into declarations, by way of plain values: each
 * row becomes a map, and is judged as one. */
#include "script/params_lua.h"
#include "base/array.h"
#include "base/number.h"
#include "base/text.h"
#include "control/shape.h"
#include "script/lua_value.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Declarations are kept outside the script's memory and shown in every status. */
#define PARAMS_MAX 256
#define PARAMS_BYTES (128 << 10) /* of all texts in them */
#define PARAMS_NODES 10000       /* of all defaults and choices */

static const char *const fields[] = {"type", "min",  "max",  "step",
                                     "log",  "choices", "unit", "help"};
static const char *const reserved[] = {"handle", "set_params", "on_attach", "close", "save",
                                       "restore", "id", "name", "params", "events", "schedule"};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static int bad(struct hcb_err *err, size_t row, const char *name, const char *what)
{
    return hcb_fail(err, HOTCB_EFORMAT, "params[%zu]%s%s%s: %s", row, name ? " '" : "",
                    name ? name : "", name ? "'" : "", what);
}

/* What the positions of a row are called in its map, where no field can have the name. */
#define NAME "=name"
#define PRESET "=default"

/* The key on the stack under a value, as it is called in the map; NULL for none. */
static const char *row_key(lua_State *L)
{
    if (lua_type(L, -2) == LUA_TSTRING)
        return *lua_tostring(L, -2) == '=' ? "?" : lua_tostring(L, -2);
    if (!lua_isinteger(L, -2))
        return NULL;
    lua_Integer at = lua_tointeger(L, -2);
    return at == 1 ? NAME : at == 2 ? PRESET : NULL;
}

/* Declarations are written inside a larger record, which has to stay readable. */
static bool is_deeper(const struct hcb_value *v, int levels)
{
    bool deeper = (v->type == HCB_LIST || v->type == HCB_MAP) && levels == 0;
    for (size_t i = 0; v->type == HCB_LIST && !deeper && i < v->u.list.n; i++)
        deeper = is_deeper(&v->u.list.v[i], levels - 1);
    for (size_t i = 0; v->type == HCB_MAP && !deeper && i < v->u.map.n; i++)
        deeper = is_deeper(&v->u.map.p[i].value, levels - 1);
    return deeper;
}

/* A row in Lua has both positions and names; a value has either. More fields than
 * there are need not be read: one of them is unknown. */
static int row_to_map(lua_State *L, int row_idx, size_t row, struct hcb_lua_room *room,
                      struct hcb_value *map, struct hcb_err *err)
{
    hcb_value_map(map);
    lua_pushnil(L);
    while (map->u.map.n < COUNT(fields) + 3 && lua_next(L, row_idx)) {
        const char *key = row_key(L);
        if (!key)
            return bad(err, row, NULL, "a row is { name, default, field = value, ... }");
        struct hcb_value *to = hcb_map_append(map, key);
        struct hcb_err why;
        int status = to ? hcb_value_from_lua_within(L, -1, room, to, &why)
                        : hcb_fail_nomem(&why);
        lua_pop(L, 1);
        if (status == 0 && is_deeper(to, HCB_PARAM_DEPTH))
            status = hcb_fail(&why, HOTCB_EFORMAT, "more than %d tables within one another",
                              HCB_PARAM_DEPTH);
        if (status < 0)
            return hcb_fail(err, status, "params[%zu], %.40s: %s", row, key + (*key == '='),
                            why.text);
    }
    return 0;
}

static int check_fields(const struct hcb_value *map, size_t row, const char *name,
                        struct hcb_err *err)
{
    for (size_t i = 0; i < map->u.map.n; i++) {
        const char *key = map->u.map.p[i].key;
        if (*key == '=' || hcb_known(key, fields, COUNT(fields)))
            continue;
        char hint[HCB_NEAR_CHARS];
        return hcb_fail(err, HOTCB_EFORMAT, "params[%zu] '%s': unknown field '%.40s'%s", row,
                        name, key, hcb_near_hint(key, fields, COUNT(fields), hint));
    }
    return 0;
}

static bool type_from_name(const char *name, enum hcb_param_type *type)
{
    for (int t = 0; t < HCB_PARAM_TYPE_COUNT; t++)
        if (strcmp(name, hcb_param_type_name((enum hcb_param_type)t)) == 0) {
            *type = (enum hcb_param_type)t;
            return true;
        }
    return false;
}

static bool type_from_preset(const struct hcb_value *preset, enum hcb_param_type *type)
{
    switch (preset->type) {
    case HCB_BOOL: *type = HCB_PARAM_BOOLEAN; return true;
    case HCB_INT: *type = HCB_PARAM_INTEGER; return true;
    case HCB_REAL: *type = HCB_PARAM_NUMBER; return true;
    case HCB_TEXT: *type = HCB_PARAM_STRING; return true;
    case HCB_LIST: *type = HCB_PARAM_LIST; return true;
    case HCB_MAP: *type = preset->u.map.n ? HCB_PARAM_ANY : HCB_PARAM_LIST; return true;
    case HCB_NULL: break;
    }
    return false;
}

static int read_type(const struct hcb_value *map, size_t row, struct hcb_param *p,
                     struct hcb_err *err)
{
    const struct hcb_value *type = hcb_map_get(map, "type");
    if (type) {
        if (type->type == HCB_TEXT && type_from_name(type->u.text.s, &p->type))
            return 0;
        return bad(err, row, p->name,
                   "'type' is one of integer, number, boolean, string, list, any");
    }
    if (type_from_preset(&p->preset, &p->type))
        return 0;
    return bad(err, row, p->name, "has neither a default nor a 'type'");
}

static int read_number(const struct hcb_value *map, size_t row, const char *field,
                       struct hcb_value *out, struct hcb_param *p, struct hcb_err *err)
{
    const struct hcb_value *v = hcb_map_get(map, field);
    if (!v)
        return 0;
    bool number = v->type == HCB_INT || (v->type == HCB_REAL && !hcb_is_nan(v->u.d));
    if (number)
        return hcb_value_copy(out, v) ? 0 : hcb_fail_nomem(err);
    char what[64];
    snprintf(what, sizeof what, "'%s' must be a number", field);
    return bad(err, row, p->name, what);
}

static int read_text(const struct hcb_value *map, size_t row, const char *field, char **out,
                     struct hcb_param *p, struct hcb_err *err)
{
    const struct hcb_value *v = hcb_map_get(map, field);
    if (!v)
        return 0;
    if (v->type != HCB_TEXT) {
        char what[64];
        snprintf(what, sizeof what, "'%s' must be text", field);
        return bad(err, row, p->name, what);
    }
    *out = hcb_strdup(v->u.text.s);
    return *out ? 0 : hcb_fail_nomem(err);
}

static int read_hints(const struct hcb_value *map, size_t row, struct hcb_param *p,
                      struct hcb_err *err)
{
    const struct hcb_value *choices = hcb_map_get(map, "choices");
    const struct hcb_value *log = hcb_map_get(map, "log");
    if (choices && (choices->type != HCB_LIST || choices->u.list.n == 0))
        return bad(err, row, p->name, "'choices' must be a list");
    if (choices && !hcb_value_copy(&p->choices, choices))
        return hcb_fail_nomem(err);
    if (log && log->type != HCB_BOOL)
        return bad(err, row, p->name, "'log' must be true or false");
    p->log = log && log->u.b;
    int status = read_text(map, row, "unit", &p->unit, p, err);
    return status < 0 ? status : read_text(map, row, "help", &p->help, p, err);
}

/* The default is judged like any other value, so that a script whose own default is
 * out of its range is found when it loads. */
static int settle(struct hcb_param *p, size_t row, struct hcb_err *err)
{
    struct hcb_value good = {0};
    struct hcb_err why;
    if (p->preset.type == HCB_NULL)
        return 0;
    if (hcb_param_convert(p, &p->preset, &good, &why) < 0)
        return hcb_fail(err, HOTCB_EFORMAT, "params[%zu]: the default %s", row, why.text);
    hcb_value_release(&p->preset);
    p->preset = good;
    if (!hcb_value_copy(&p->initial, &good) || !hcb_value_copy(&p->value, &good))
        return hcb_fail_nomem(err);
    return 0;
}

#define NAME_BYTES 64

static bool is_word(const char *name)
{
    for (const unsigned char *s = (const unsigned char *)name; *s; s++)
        if (*s <= ' ' || *s == 0x7f || *s == ',' || *s == '=')
            return false;
    return hcb_utf8_valid(name, strlen(name));
}

static int read_name(const struct hcb_params *ps, const struct hcb_value *map, size_t row,
                     struct hcb_param *p, struct hcb_err *err)
{
    const struct hcb_value *given = hcb_map_get(map, NAME);
    const char *name = hcb_map_text(map, NAME, NULL);
    if (!name || !*name)
        return bad(err, row, NULL, "a row begins with the parameter's name");
    if (strlen(name) != given->u.text.n || given->u.text.n > NAME_BYTES || !is_word(name))
        return bad(err, row, NULL, "a name is one printable word of at most 64 bytes, without "
                                   "commas or '='");
    if (hcb_known(name, reserved, COUNT(reserved)))
        return bad(err, row, name, "is a reserved name");
    if (hcb_params_find(ps, name))
        return bad(err, row, name, "is declared twice");
    p->name = hcb_strdup(name);
    return p->name ? 0 : hcb_fail_nomem(err);
}

static struct hcb_param *add(struct hcb_params *ps)
{
    struct hcb_param *v = hcb_grow(ps->v, ps->n, &ps->cap, sizeof *v);
    if (!v)
        return NULL;
    ps->v = v;
    memset(&ps->v[ps->n], 0, sizeof *ps->v);
    return &ps->v[ps->n];
}

static int read_row(struct hcb_params *ps, const struct hcb_value *map, size_t row,
                    struct hcb_err *err)
{
    struct hcb_param *p = add(ps);
    if (!p)
        return hcb_fail_nomem(err);
    int status = read_name(ps, map, row, p, err);
    if (status < 0)
        return status;
    ps->n++; /* from here on released with the others */
    const struct hcb_value *preset = hcb_map_get(map, PRESET);
    if (preset && !hcb_value_copy(&p->preset, preset))
        return hcb_fail_nomem(err);
    if ((status = check_fields(map, row, p->name, err)) < 0 ||
        (status = read_type(map, row, p, err)) < 0 ||
        (status = read_number(map, row, "min", &p->min, p, err)) < 0 ||
        (status = read_number(map, row, "max", &p->max, p, err)) < 0 ||
        (status = read_number(map, row, "step", &p->step, p, err)) < 0 ||
        (status = read_hints(map, row, p, err)) < 0)
        return status;
    return settle(p, row, err);
}

/* The rows are all there is, and not too many. */
static int check_table(lua_State *L, int table, struct hcb_err *err)
{
    size_t n = (size_t)lua_rawlen(L, table), count = 0;
    if (n > PARAMS_MAX)
        return hcb_fail(err, HOTCB_EFORMAT, "params has more than %d rows", PARAMS_MAX);
    lua_pushnil(L);
    while (count <= n && lua_next(L, table)) {
        count++;
        lua_pop(L, 1);
    }
    if (count == n)
        return 0;
    return hcb_fail(err, HOTCB_EFORMAT, "params is a list of rows: { { \"every\", 50 }, ... }");
}

int hcb_params_from_lua(lua_State *L, int idx, struct hcb_params *ps, struct hcb_err *err)
{
    int table = lua_absindex(L, idx), top = lua_gettop(L), status = check_table(L, table, err);
    struct hcb_lua_room room = {PARAMS_NODES, PARAMS_BYTES};
    size_t n = (size_t)lua_rawlen(L, table);
    lua_settop(L, top);
    for (size_t row = 1; row <= n && status == 0; row++) {
        struct hcb_value map = {0};
        if (lua_rawgeti(L, table, (lua_Integer)row) != LUA_TTABLE)
            status = bad(err, row, NULL, "a row is a table { name, default, ... }");
        else
            status = row_to_map(L, lua_gettop(L), row, &room, &map, err);
        if (status == 0)
            status = read_row(ps, &map, row, err);
        hcb_value_release(&map);
        lua_settop(L, top);
    }
    return status;
}
