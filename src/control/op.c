/* The form of an op, as people write one on a line; see op.h. Knows nothing of
 * files and of whether an op can be applied. */
#include "control/op.h"

#include "base/json.h"
#include "base/scalar.h"
#include "base/number.h"
#include "base/text.h"
#include "control/shape.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define CMD_BYTES 255

static const char *const op_names[] = {
#define OP_NAME(kind, name) name,
    HCB_OPS(OP_NAME)
#undef OP_NAME
};

static const char *const origin_names[] = {
#define ORIGIN_NAME(origin, name) name,
    HCB_ORIGINS(ORIGIN_NAME)
#undef ORIGIN_NAME
};

static const char *const kind_names[] = {"lua_file", "module"};
static const char *const target_keys[] = {"kind", "path", "symbol"};

/* The keys of a command, and which of them each op takes. */
enum key { OP, ID, TARGET, INIT, PARAMS, LIMITS, ENABLED, TEXT, CMD, TS, KEYS };
static const char *const key_names[KEYS] = {"op",     "id",      "target", "init", "params",
                                            "limits", "enabled", "text",   "cmd",  "ts"};
static const enum key load_keys[] = {OP, ID, TARGET, INIT, PARAMS, LIMITS, ENABLED, TEXT, CMD, TS};
static const enum key set_keys[] = {OP, ID, PARAMS, TEXT, CMD, TS};
static const enum key limits_keys[] = {OP, ID, LIMITS, CMD, TS};
static const enum key other_keys[] = {OP, ID, CMD, TS};

/* How many of op_names a command may ask for: all up to the run's own. */
#define COMMAND_OPS HCB_OP_CONFIG

void hcb_op_init(struct hcb_op *op)
{
    memset(op, 0, sizeof(*op));
    op->kind = HCB_OP_NONE;
    op->enabled = HCB_UNSET;
    op->offset = -1;
}

static void release_target(struct hcb_target *target)
{
    free(target->path);
    free(target->symbol);
    memset(target, 0, sizeof(*target));
}

void hcb_op_release(struct hcb_op *op)
{
    free(op->id);
    free(op->cmd);
    release_target(&op->target);
    hcb_value_release(&op->init);
    hcb_value_release(&op->params);
    hcb_value_release(&op->limits);
    hcb_op_init(op);
}

const char *hcb_op_name(enum hcb_op_kind kind)
{
    return (size_t)kind < COUNT(op_names) ? op_names[kind] : "?";
}

const char *hcb_origin_name(enum hcb_origin origin)
{
    return (size_t)origin < COUNT(origin_names) ? origin_names[origin] : "?";
}

const char *hcb_target_kind_name(enum hcb_target_kind kind)
{
    return (size_t)kind < COUNT(kind_names) ? kind_names[kind] : "?";
}

static int check_kind(const struct hcb_value *v, struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS], hint[HCB_HINT_CHARS];
    if (v->type != HCB_TEXT)
        return hcb_fail(err, HOTCB_EFORMAT, "target.kind: must be 'lua_file' or 'module', not %s",
                        hcb_show(v, shown));
    if (strcmp(v->u.text.s, "python_file") == 0)
        return hcb_fail(err, HOTCB_EREFUSED,
                        "target.kind: python_file cannot be loaded, since callbacks are Lua "
                        "scripts: write it in Lua and load it with kind 'lua_file'");
    if (!hcb_known(v->u.text.s, kind_names, COUNT(kind_names)))
        return hcb_fail(err, HOTCB_EFORMAT, "target.kind: unknown kind '%s'%s",
                        hcb_show_text(v->u.text.s, shown),
                        hcb_hint(v->u.text.s, kind_names, COUNT(kind_names), hint));
    return 0;
}

int hcb_target_check_key(const struct hcb_pair *p, struct hcb_err *err)
{
    const struct hcb_value *v = &p->value;
    char shown[HCB_SHOW_CHARS], hint[HCB_HINT_CHARS];
    if (!hcb_known(p->key, target_keys, COUNT(target_keys)))
        return hcb_fail(err, HOTCB_EFORMAT, "target.%s: unknown key%s",
                        hcb_show_text(p->key, shown),
                        hcb_hint(p->key, target_keys, COUNT(target_keys), hint));
    if (strcmp(p->key, "kind") == 0)
        return check_kind(v, err);
    if (strcmp(p->key, "symbol") == 0 && v->type == HCB_NULL)
        return 0;
    if (v->type != HCB_TEXT)
        return hcb_fail(err, HOTCB_EFORMAT, "target.%s: must be text, not %s", p->key,
                        hcb_show(v, shown));
    if (v->u.text.n == 0)
        return hcb_fail(err, HOTCB_EFORMAT, "target.%s: is empty", p->key);
    return 0;
}

/* All keys that are there are good: are the needed ones there? */
static int check_complete(const struct hcb_value *v, struct hcb_err *err)
{
    if (!hcb_map_get(v, "kind"))
        return hcb_fail(err, HOTCB_EFORMAT,
                        "target: needs a \"kind\", which is 'lua_file' or 'module'");
    if (!hcb_map_get(v, "path"))
        return hcb_fail(err, HOTCB_EFORMAT,
                        "target: needs a \"path\": of the Lua file, or the module's name");
    return 0;
}

int hcb_target_read(struct hcb_target *target, const struct hcb_value *v, struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS];
    int rc = 0;
    memset(target, 0, sizeof(*target));
    if (v->type != HCB_MAP)
        return hcb_fail(err, HOTCB_EFORMAT, "target: must hold \"kind\" and \"path\", not be %s",
                        hcb_show(v, shown));
    for (size_t i = 0; i < v->u.map.n && rc == 0; i++)
        rc = hcb_target_check_key(&v->u.map.p[i], err);
    if (rc == 0)
        rc = check_complete(v, err);
    if (rc < 0)
        return rc;
    const char *symbol = hcb_map_text(v, "symbol", NULL);
    bool module = strcmp(hcb_map_text(v, "kind", ""), kind_names[HCB_TARGET_MODULE]) == 0;
    target->kind = module ? HCB_TARGET_MODULE : HCB_TARGET_FILE;
    target->path = hcb_strdup(hcb_map_text(v, "path", ""));
    target->symbol = hcb_strdup(symbol);
    if (target->path && (target->symbol || !symbol))
        return 0;
    release_target(target);
    return hcb_fail_nomem(err);
}

/* ---- a command ---- */

/* What a command has under the keys that there are; NULL: nothing. */
struct parts {
    struct hcb_value *v[KEYS];
};

static void find_parts(const struct hcb_value *root, struct parts *parts)
{
    memset(parts, 0, sizeof(*parts));
    for (size_t i = 0; i < root->u.map.n; i++) {
        struct hcb_pair *pair = &root->u.map.p[i];
        for (int key = 0; key < KEYS; key++)
            if (*pair->key == *key_names[key] && strcmp(pair->key, key_names[key]) == 0)
                parts->v[key] = &pair->value;
    }
}

/* What stands under a key, as messages for people who wrote JSON call it. */
static const char *json_name(const struct hcb_value *v, char out[HCB_SHOW_CHARS])
{
    return v->type == HCB_MAP ? "an object" : hcb_show(v, out);
}

static enum hcb_op_kind kind_of(const struct hcb_value *op)
{
    const char *name = op && op->type == HCB_TEXT ? op->u.text.s : "";
    for (int i = 0; i < COMMAND_OPS; i++)
        if (*name == *op_names[i] && strcmp(name, op_names[i]) == 0)
            return (enum hcb_op_kind)i;
    return HCB_OP_NONE;
}

/* Moves a text out of the command. */
static char *take_text_of(struct hcb_value *v)
{
    char *text = v->u.text.s;
    v->u.text.s = NULL;
    hcb_value_release(v);
    return text;
}

/* Takes what a ledger line says of the command, as far as it can be read, whatever became
 * of it. */
static void take_head(const struct parts *parts, struct hcb_op *op)
{
    struct hcb_value *id = parts->v[ID], *cmd = parts->v[CMD];
    if (id && id->type == HCB_TEXT && hcb_id_check(id->u.text.s, id->u.text.n, NULL) == 0)
        op->id = take_text_of(id);
    if (cmd && cmd->type == HCB_TEXT && cmd->u.text.n <= CMD_BYTES)
        op->cmd = take_text_of(cmd);
}

static int check_op(const struct hcb_value *v, struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS], hint[HCB_NEAR_CHARS];
    const char *list = "the ops are load, enable, disable, set_params, set_limits, unload, reload";
    if (!v)
        return hcb_fail(err, HOTCB_EFORMAT, "\"op\" is missing: %s", list);
    if (v->type != HCB_TEXT)
        return hcb_fail(err, HOTCB_EFORMAT, "\"op\" must be text, not %s: %s",
                        json_name(v, shown), list);
    if (kind_of(v) != HCB_OP_NONE)
        return 0;
    return hcb_fail(err, HOTCB_EFORMAT, "unknown op '%s'%s: %s",
                    hcb_show_text(v->u.text.s, shown),
                    hcb_near_hint(v->u.text.s, op_names, COMMAND_OPS, hint), list);
}

static int check_id(const struct hcb_value *v, struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS];
    if (!v)
        return hcb_fail(err, HOTCB_EFORMAT, "\"id\" is missing: which callback is meant?");
    if (v->type != HCB_TEXT)
        return hcb_fail(err, HOTCB_EFORMAT, "\"id\" must be text, not %s", json_name(v, shown));
    return hcb_id_check(v->u.text.s, v->u.text.n, err);
}

static int check_cmd(const struct hcb_value *v, struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS];
    if (!v)
        return 0;
    if (v->type != HCB_TEXT)
        return hcb_fail(err, HOTCB_EFORMAT, "\"cmd\" must be text, not %s", json_name(v, shown));
    if (v->u.text.n > CMD_BYTES)
        return hcb_fail(err, HOTCB_EFORMAT, "\"cmd\" is longer than %d bytes", CMD_BYTES);
    return 0;
}

static const enum key *keys_of(enum hcb_op_kind kind, size_t *n)
{
    switch (kind) {
    case HCB_OP_LOAD:
        *n = COUNT(load_keys);
        return load_keys;
    case HCB_OP_SET:
        *n = COUNT(set_keys);
        return set_keys;
    case HCB_OP_LIMITS:
        *n = COUNT(limits_keys);
        return limits_keys;
    default:
        *n = COUNT(other_keys);
        return other_keys;
    }
}

/* Of a command that has a key which this op does not take. */
static int refuse_keys(const struct hcb_value *root, enum hcb_op_kind kind, struct hcb_err *err)
{
    size_t n, i = 0;
    const enum key *keys = keys_of(kind, &n);
    const char *known[KEYS];
    char shown[HCB_SHOW_CHARS], hint[HCB_HINT_CHARS];
    for (size_t k = 0; k < n; k++)
        known[k] = key_names[keys[k]];
    while (hcb_known(root->u.map.p[i].key, known, n))
        i++;
    const char *key = root->u.map.p[i].key;
    if (hcb_known(key, key_names, KEYS))
        return hcb_fail(err, HOTCB_EFORMAT, "\"%s\" does not go with the op '%s'", key,
                        hcb_op_name(kind));
    return hcb_fail(err, HOTCB_EFORMAT, "unknown key '%s'%s", hcb_show_text(key, shown),
                    hcb_hint(key, known, n, hint));
}

static int check_keys(const struct hcb_value *root, const struct parts *parts,
                      enum hcb_op_kind kind, struct hcb_err *err)
{
    size_t n, found = 0;
    const enum key *keys = keys_of(kind, &n);
    for (size_t k = 0; k < n; k++)
        found += parts->v[keys[k]] != NULL;
    return found == root->u.map.n ? 0 : refuse_keys(root, kind, err);
}

/* Moves the map under `key` out of the command; null stands for none. */
static int take_map(const struct parts *parts, enum key key, struct hcb_value *to,
                    struct hcb_err *err)
{
    struct hcb_value *v = parts->v[key];
    char shown[HCB_SHOW_CHARS];
    if (!v || v->type == HCB_NULL)
        return 0;
    if (v->type != HCB_MAP)
        return hcb_fail(err, HOTCB_EFORMAT, "\"%s\" must be an object, not %s",
                        key_names[key], json_name(v, shown));
    *to = *v;
    memset(v, 0, sizeof(*v));
    return 0;
}

static int take_enabled(const struct hcb_value *v, struct hcb_op *op, struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS];
    if (!v)
        return 0;
    if (v->type != HCB_BOOL)
        return hcb_fail(err, HOTCB_EFORMAT, "\"enabled\" must be true or false, not %s",
                        json_name(v, shown));
    op->enabled = v->u.b ? HCB_YES : HCB_NO;
    return 0;
}

static int take_target(const struct hcb_value *v, struct hcb_op *op, struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS];
    if (!v)
        return hcb_fail(err, HOTCB_EFORMAT,
                        "\"target\" is missing, as in {\"kind\":\"lua_file\",\"path\":\"x.lua\"}");
    if (v->type != HCB_MAP)
        return hcb_fail(err, HOTCB_EFORMAT, "\"target\" must be an object, not %s",
                        json_name(v, shown));
    return hcb_target_read(&op->target, v, err);
}

/* JSON has no infinity: it travels as text, and its spelling says what it is. */
static void restore_infinity(struct hcb_value *v, const char *spelling)
{
    double d;
    size_t n = strlen(spelling);
    if (v->type != HCB_TEXT || strcmp(v->u.text.s + (*v->u.text.s == '-'), "Infinity") != 0)
        return;
    struct hcb_value meant = {0};
    if (hcb_scalar_resolve(spelling, n, &meant, NULL) < 0)
        return;
    d = meant.type == HCB_REAL ? meant.u.d : 0;
    hcb_value_release(&meant);
    if (hcb_is_finite(d))
        return;
    hcb_value_release(v);
    hcb_value_real(v, d);
}

/* Makes `spelling` the source of the value under `key`. 1: there, 0: not there. */
static int set_source(struct hcb_value *map, const char *key, const char *spelling)
{
    struct hcb_value *v = hcb_map_get(map, key);
    if (!v)
        return 0;
    restore_infinity(v, spelling);
    char *source = hcb_strdup(spelling);
    if (!source)
        return -1;
    free(v->source);
    v->source = source;
    return 1;
}

static int take_text(const struct hcb_value *text, struct hcb_op *op, struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS];
    if (!text)
        return 0;
    if (text->type != HCB_MAP)
        return hcb_fail(err, HOTCB_EFORMAT, "\"text\" must be an object, not %s",
                        json_name(text, shown));
    if (text->u.map.n > HCB_PARAM_COUNT)
        return hcb_fail(err, HOTCB_EFORMAT, "\"text\" holds more than %d names", HCB_PARAM_COUNT);
    for (size_t i = 0; i < text->u.map.n; i++) {
        const struct hcb_pair *p = &text->u.map.p[i];
        if (p->value.type != HCB_TEXT)
            return hcb_fail(err, HOTCB_EFORMAT, "\"text\" must hold text only, not %s",
                            json_name(&p->value, shown));
        int in_init = set_source(&op->init, p->key, p->value.u.text.s);
        int in_params = set_source(&op->params, p->key, p->value.u.text.s);
        if (in_init < 0 || in_params < 0)
            return hcb_fail_nomem(err);
        if (!in_init && !in_params)
            return hcb_fail(err, HOTCB_EFORMAT, "\"text\" names '%s', which has no value here",
                            hcb_show_text(p->key, shown));
    }
    return 0;
}

/* The parts of the op, each only where the op takes it (check_keys saw to that). */
static int take_body(const struct parts *parts, struct hcb_op *op, struct hcb_err *err)
{
    int rc = take_map(parts, PARAMS, &op->params, err);
    if (rc == 0)
        rc = take_map(parts, INIT, &op->init, err);
    if (rc == 0)
        rc = take_map(parts, LIMITS, &op->limits, err);
    if (rc == 0)
        rc = take_enabled(parts->v[ENABLED], op, err);
    if (rc == 0 && op->kind == HCB_OP_LOAD)
        rc = take_target(parts->v[TARGET], op, err);
    if (rc == 0)
        rc = hcb_params_check("init", &op->init, NULL, err);
    if (rc == 0)
        rc = hcb_params_check("params", &op->params, NULL, err);
    if (rc == 0)
        rc = take_text(parts->v[TEXT], op, err);
    if (rc < 0)
        return rc;
    if (op->kind == HCB_OP_SET && op->params.type != HCB_MAP)
        return hcb_fail(err, HOTCB_EFORMAT, "\"params\" is missing, as in {\"every\":5}");
    if (op->kind == HCB_OP_LIMITS && op->limits.type != HCB_MAP)
        return hcb_fail(err, HOTCB_EFORMAT, "\"limits\" is missing, as in {\"time_ms\":50}");
    return 0;
}

static int read_command(struct hcb_value *root, struct hcb_op *op, struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS];
    struct parts parts;
    if (root->type != HCB_MAP)
        return hcb_fail(err, HOTCB_EFORMAT,
                        "a command must be an object, as in {\"op\":\"enable\",\"id\":\"x\"}, "
                        "not %s",
                        json_name(root, shown));
    find_parts(root, &parts);
    op->kind = kind_of(parts.v[OP]);
    int rc = check_op(parts.v[OP], err);
    if (rc == 0)
        rc = check_keys(root, &parts, op->kind, err);
    if (rc == 0)
        rc = check_id(parts.v[ID], err);
    if (rc == 0)
        rc = check_cmd(parts.v[CMD], err);
    if (rc == 0)
        rc = take_body(&parts, op, err);
    take_head(&parts, op);
    return rc;
}

int hcb_op_parse(const char *json, size_t n, struct hcb_op *op, struct hcb_err *err)
{
    struct hcb_value root = {0};
    hcb_op_init(op);
    int rc = hcb_json_parse(json, n, &root, err);
    if (rc == 0)
        rc = read_command(&root, op, err);
    hcb_value_release(&root);
    return rc;
}
