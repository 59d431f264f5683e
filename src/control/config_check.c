/* Is a configuration what it should be? See config.h. Works on values alone, and
 * knows nothing of YAML but that a pair has a line. */
#include "control/config.h"

#include "base/text.h"
#include "control/limits.h"
#include "control/shape.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const top_keys[] = {"version", "callbacks"};
static const char *const entry_keys[] = {"enabled", "target", "init", "params", "limits"};

/* One entry under `callbacks`, as far as messages need it. */
struct entry {
    const char *name; /* of the file */
    const char *id;
};

static int fail_in(const struct entry *e, int line, int code, const char *what,
                   struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS];
    return hcb_fail(err, code, "%s:%d: callbacks.%s%s%s", e->name, line,
                    hcb_show_text(e->id, shown), *what == ':' ? "" : ".", what);
}

/* Passes on what a reader of one part said, with the place in front. */
static int fail_part(const struct entry *e, int line, const struct hcb_err *why,
                     struct hcb_err *err)
{
    if (why->code == HOTCB_ENOMEM)
        return hcb_fail_nomem(err);
    return fail_in(e, line, why->code, why->text, err);
}

/* Messages name the line of the key at fault, not only that of the whole. */
static int check_target(const struct entry *e, const struct hcb_pair *target, struct hcb_err *err)
{
    const struct hcb_value *v = &target->value;
    struct hcb_target unused = {0};
    struct hcb_err why = {0};
    for (size_t i = 0; v->type == HCB_MAP && i < v->u.map.n; i++)
        if (hcb_target_check_key(&v->u.map.p[i], &why) < 0)
            return fail_part(e, v->u.map.p[i].line, &why, err);
    if (hcb_target_read(&unused, v, &why) < 0)
        return fail_part(e, target->line, &why, err);
    free(unused.path);
    free(unused.symbol);
    return 0;
}

static int check_limits(const struct entry *e, const struct hcb_pair *limits, struct hcb_err *err)
{
    const struct hcb_limits defaults = HCB_LIMITS_DEFAULT;
    struct hcb_limits unused = defaults;
    const struct hcb_value *v = &limits->value;
    struct hcb_err why = {0};
    for (size_t i = 0; v->type == HCB_MAP && i < v->u.map.n; i++) {
        struct hcb_value one = {.type = HCB_MAP, .u.map = {.p = &v->u.map.p[i], .n = 1, .cap = 1}};
        if (hcb_limits_read(&unused, &defaults, &one, &why) < 0)
            return fail_part(e, v->u.map.p[i].line, &why, err);
    }
    if (hcb_limits_read(&unused, &defaults, v, &why) < 0)
        return fail_part(e, limits->line, &why, err);
    return 0;
}

static int check_params(const struct entry *e, const struct hcb_pair *params, struct hcb_err *err)
{
    const struct hcb_pair *bad = NULL;
    struct hcb_err why = {0};
    if (hcb_params_check(params->key, &params->value, &bad, &why) < 0)
        return fail_part(e, bad ? bad->line : params->line, &why, err);
    return 0;
}

static int check_key(const struct entry *e, const struct hcb_pair *p, struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS], hint[HCB_HINT_CHARS];
    struct hcb_err why = {0};
    if (strcmp(p->key, "target") == 0)
        return check_target(e, p, err);
    if (strcmp(p->key, "limits") == 0)
        return check_limits(e, p, err);
    if (strcmp(p->key, "init") == 0 || strcmp(p->key, "params") == 0)
        return check_params(e, p, err);
    if (strcmp(p->key, "enabled") != 0)
        hcb_fail(&why, HOTCB_EFORMAT, "%s: unknown key%s", hcb_show_text(p->key, shown),
                 hcb_hint(p->key, entry_keys, COUNT(entry_keys), hint));
    else if (p->value.type != HCB_BOOL)
        hcb_fail(&why, HOTCB_EFORMAT, "enabled: must be true or false, not %s",
                 hcb_show(&p->value, shown));
    return why.code < 0 ? fail_part(e, p->line, &why, err) : 0;
}

static int check_entry(const char *name, const struct hcb_pair *p, struct hcb_err *err)
{
    struct entry e = {.name = name, .id = p->key};
    struct hcb_err why = {0};
    char shown[HCB_SHOW_CHARS];
    if (hcb_id_check(p->key, strlen(p->key), &why) < 0)
        return hcb_fail(err, why.code, "%s:%d: callbacks: %s", name, p->line, why.text);
    if (p->value.type != HCB_MAP) {
        hcb_fail(&why, HOTCB_EFORMAT, ": must be a map with a 'target', not %s",
                 hcb_show(&p->value, shown));
        return fail_part(&e, p->line, &why, err);
    }
    for (size_t i = 0; i < p->value.u.map.n; i++) {
        int rc = check_key(&e, &p->value.u.map.p[i], err);
        if (rc < 0)
            return rc;
    }
    if (!hcb_map_get(&p->value, "target"))
        return fail_in(&e, p->line, HOTCB_EFORMAT,
                       "target: missing, as in target: { kind: lua_file, path: x.lua }", err);
    return 0;
}

static int check_callbacks(const char *name, const struct hcb_pair *p, struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS];
    if (p->value.type == HCB_NULL)
        return 0;
    if (p->value.type != HCB_MAP)
        return hcb_fail(err, HOTCB_EFORMAT, "%s:%d: callbacks: must be a map by id, not %s", name,
                        p->line, hcb_show(&p->value, shown));
    if (p->value.u.map.n > HCB_PARAM_COUNT)
        return hcb_fail(err, HOTCB_EFORMAT, "%s:%d: callbacks: more than %d", name, p->line,
                        HCB_PARAM_COUNT);
    for (size_t i = 0; i < p->value.u.map.n; i++) {
        int rc = check_entry(name, &p->value.u.map.p[i], err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int hcb_config_check(const struct hcb_value *config, const char *name, struct hcb_err *err)
{
    const struct hcb_pair all = {.value = *config};
    return check_callbacks(name, &all, err);
}

static int check_top_key(const char *name, const struct hcb_pair *p, struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS], hint[HCB_HINT_CHARS];
    if (strcmp(p->key, "callbacks") == 0)
        return check_callbacks(name, p, err);
    if (strcmp(p->key, "version") != 0)
        return hcb_fail(err, HOTCB_EFORMAT, "%s:%d: %s: unknown key%s", name, p->line,
                        hcb_show_text(p->key, shown),
                        hcb_hint(p->key, top_keys, COUNT(top_keys), hint));
    if (p->value.type != HCB_INT || p->value.u.i != 1)
        return hcb_fail(err, HOTCB_EFORMAT, "%s:%d: version: must be 1, not %s", name, p->line,
                        hcb_show(&p->value, shown));
    return 0;
}

static int check_top(const char *name, const struct hcb_value *root, struct hcb_err *err)
{
    char shown[HCB_SHOW_CHARS];
    if (root->type != HCB_MAP)
        return hcb_fail(err, HOTCB_EFORMAT,
                        "%s: must be a map with the key 'callbacks', not %s", name,
                        hcb_show(root, shown));
    for (size_t i = 0; i < root->u.map.n; i++) {
        int rc = check_top_key(name, &root->u.map.p[i], err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int hcb_config_parse(const char *text, size_t n, const char *name, struct hcb_value *out,
                     struct hcb_err *err)
{
    struct hcb_value root = {0};
    if (n > HCB_CONFIG_BYTES)
        return hcb_fail(err, HOTCB_EFORMAT, "%s: larger than %d bytes", name, HCB_CONFIG_BYTES);
    int rc = hcb_yaml_parse(text, n, name, &root, err);
    if (rc < 0 || root.type == HCB_NULL) {
        hcb_value_release(&root);
        return rc;
    }
    rc = check_top(name, &root, err);
    if (rc == 0) {
        struct hcb_value *callbacks = hcb_map_get(&root, "callbacks");
        if (callbacks && callbacks->type == HCB_MAP) {
            *out = *callbacks;
            memset(callbacks, 0, sizeof(*callbacks));
        } else {
            hcb_value_map(out);
        }
    }
    hcb_value_release(&root);
    return rc;
}
