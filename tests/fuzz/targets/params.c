/* Declared parameters: the rows of a script's `params`, its initial values, then values
 * to set, each part of the input after a 0xff: Lua, then JSON (or YAML) maps. What is
 * accepted satisfies the declaration, what is refused changes nothing. A parameter called
 * "boom" makes the script's own set_params refuse. */
#include "checks.h"

#include "base/json.h"
#include "control/config.h"
#include "control/shape.h"
#include "script/script.h"

#include <stdlib.h>
#include <string.h>

#define HEAD "local T = { params = { "
#define TAIL "\n} }\nfunction T:set_params(p) if p.boom ~= nil then error('no') end end\n" \
             "function T:handle() end\nreturn T"
#define SETS_MAX 8

static void check_params(const struct hcb_params *ps)
{
    for (size_t i = 0; i < ps->n; i++) {
        const struct hcb_param *p = &ps->v[i];
        struct hcb_value again = {0};
        MUST(*p->name && hcb_params_find(ps, p->name) == p);
        fuzz_check_param(p, &p->preset);
        fuzz_check_param(p, &p->initial);
        fuzz_check_param(p, &p->value);
        if (p->value.type == HCB_NULL)
            continue;
        MUST(hcb_param_convert(p, &p->value, &again, NULL) == 0); /* to itself */
        MUST(hcb_value_equal(&again, &p->value));
        hcb_value_release(&again);
    }
}

/* The declarations stand in the status file, which everybody has to be able to read. */
static void check_declared(const struct hcb_params *ps)
{
    struct hcb_buf json = {0};
    struct hcb_value v = {0};
    hcb_buf_str(&json, "{\"callbacks\":[{\"declared\":");
    hcb_params_json(&json, ps);
    hcb_buf_str(&json, "}]}");
    fuzz_must_be_json(json.data, json.len, &v);
    hcb_value_release(&v);
    hcb_buf_release(&json);
}

static char *values_of(const struct hcb_script *s)
{
    struct hcb_buf json = {0};
    struct hcb_value v = {0};
    hcb_script_values_json(&json, s);
    fuzz_must_be_json(json.data, json.len, &v);
    hcb_value_release(&v);
    return hcb_buf_take(&json);
}

/* As a command or a file brings them: a map that may hold parameters at all. */
static bool read_map(const char *text, size_t n, struct hcb_value *out)
{
    int rc = hcb_json_parse(text, n, out, NULL);
    if (rc < 0)
        rc = hcb_yaml_parse(text, n, "x", out, NULL);
    if (rc == 0 && out->type == HCB_MAP && hcb_params_check("params", out, NULL, NULL) == 0)
        return true;
    hcb_value_release(out);
    return false;
}

static void check_set(struct hcb_script *s, const struct hcb_value *map)
{
    const struct hcb_params *ps = hcb_script_params(s);
    struct hcb_err err = {0};
    struct hcb_value out = {0};
    char *before = values_of(s);
    bool fits = hcb_params_convert(ps, map, &out, NULL) == 0;
    int rc = hcb_script_set(s, map, &err);
    char *after = values_of(s);
    if (rc < 0)
        fuzz_must_explain(rc, &err);
    MUST(rc == 0 || hcb_script_dead(s) || strcmp(before, after) == 0);
    MUST(fits || rc < 0);
    for (size_t i = 0; fits && i < out.u.map.n; i++)
        fuzz_check_param(hcb_params_find(ps, out.u.map.p[i].key), &out.u.map.p[i].value);
    for (size_t i = 0; rc == 0 && i < ps->n; i++) {
        const struct hcb_value *v = hcb_map_get(&out, ps->v[i].name);
        MUST(!v || hcb_value_equal(v, &ps->v[i].value));
    }
    check_params(ps);
    hcb_value_release(&out);
    free(before);
    free(after);
}

static void open_script(struct hcb_script **s, const struct hcb_buf *text,
                        const struct hcb_value *init, struct hcb_effects *effects)
{
    struct hcb_fault fault = {0};
    struct hcb_script_source source = {
        .id = "it", .chunkname = "@it.lua", .text = text->data, .n = text->len,
        .limits = {20, 4, 1, false}, .init = init, .framework = "c", .effects = effects,
    };
    if (hcb_script_open(s, &source, &fault) == 0)
        return;
    MUST(!*s && fault.reason != HCB_FINE && *fault.message);
    fuzz_must_be_line(fault.message, strlen(fault.message));
}

static void run(struct hcb_script *s, struct fuzz_input *in)
{
    const char *part;
    size_t n;
    if (!hcb_script_params(s))
        return;
    check_params(hcb_script_params(s));
    check_declared(hcb_script_params(s));
    for (int i = 0; i < SETS_MAX && fuzz_part(in, &part, &n) && !hcb_script_dead(s); i++) {
        struct hcb_value map = {0};
        if (read_map(part, n, &map))
            check_set(s, &map);
        hcb_value_release(&map);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {.at = (const char *)data, .left = size};
    struct hcb_effects effects = {0};
    struct hcb_buf text = {0};
    struct hcb_value init = {0};
    struct hcb_script *s = NULL;
    const char *part;
    size_t n;
    fuzz_part(&in, &part, &n);
    hcb_buf_str(&text, HEAD);
    hcb_buf_add(&text, part, n);
    hcb_buf_str(&text, TAIL);
    fuzz_part(&in, &part, &n);
    read_map(part, n, &init);
    open_script(&s, &text, &init, &effects);
    if (s)
        run(s, &in);
    hcb_script_free(s);
    hcb_effects_release(&effects);
    hcb_value_release(&init);
    hcb_buf_release(&text);
    return 0;
}
