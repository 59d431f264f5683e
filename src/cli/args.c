/* What `lr=1e-4` on the command line becomes in a command. Knows no parameter and no
 * limit by name: the run judges what a value is good for. */
#include "cli/args.h"

#include "base/json.h"
#include "base/number.h"
#include "base/scalar.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

static int read_pair(struct cli *cli, const char *word, const char *key, struct hcb_value *map)
{
    struct hcb_err err = {0};
    const char *value = strchr(word, '=') + 1;
    if (!*key)
        return cli_usage(cli, "'%s' has no key before the '='; write key=value, without spaces",
                         word);
    if (hcb_map_get(map, key))
        return cli_usage(cli, "%s is given twice", key);
    if (!hcb_utf8_valid(word, strlen(word)))
        return cli_fail(cli, CLI_REFUSED, "%s: the value is not UTF-8 text, which a command "
                        "cannot carry", key);
    struct hcb_value *to = hcb_map_put(map, key);
    if (!to)
        return cli_fail(cli, CLI_REFUSED, "out of memory");
    int rc = hcb_scalar_from_arg(value, to, &err);
    if (rc == HOTCB_EFORMAT) /* its own sentence is written for YAML, which has quotes */
        return cli_fail(cli, CLI_REFUSED, "%s: refused: %s is a number beyond 64 bits, which no "
                        "parameter can be", word, value);
    if (rc < 0)
        return cli_fail(cli, CLI_REFUSED, "%s: %s", key, err.text);
    if (to->type == HCB_REAL && hcb_is_nan(to->u.d))
        return cli_fail(cli, CLI_REFUSED, "%s: refused: NaN is never the value of a parameter",
                        word);
    return CLI_OK;
}

int cli_pairs_read(struct cli *cli, const struct cli_words *words, size_t from,
                   struct hcb_value *map)
{
    hcb_value_map(map);
    for (size_t i = from; i < words->n; i++) {
        const char *equals = strchr(words->v[i], '=');
        struct hcb_buf key = {0};
        if (!equals)
            return cli_usage(cli, "'%s' is not of the form key=value", words->v[i]);
        hcb_buf_add(&key, words->v[i], (size_t)(equals - words->v[i]));
        int code = key.oom ? cli_fail(cli, CLI_REFUSED, "out of memory")
                           : read_pair(cli, words->v[i], hcb_buf_text(&key), map);
        hcb_buf_release(&key);
        if (code != CLI_OK)
            return code;
    }
    return CLI_OK;
}

/* A number that JSON can have: "1e999" is within its grammar and is none. */
static bool is_finite_number(const struct hcb_value *v)
{
    return v->type == HCB_INT || (v->type == HCB_REAL && hcb_is_finite(v->u.d));
}

static bool spelt_as_json(const struct hcb_value *v)
{
    if (!v->source)
        return true;
    switch (v->type) {
    case HCB_NULL:
        return strcmp(v->source, "null") == 0;
    case HCB_BOOL:
        return strcmp(v->source, v->u.b ? "true" : "false") == 0;
    case HCB_INT:
    case HCB_REAL:
        return is_finite_number(v) && hcb_json_is_number(v->source, strlen(v->source));
    default:
        return true;
    }
}

static void write_value(struct hcb_buf *b, const struct hcb_value *v)
{
    if (is_finite_number(v) && v->source && hcb_json_is_number(v->source, strlen(v->source)))
        hcb_buf_str(b, v->source);
    else
        hcb_json_value(b, v);
}

void cli_pairs_write(struct hcb_buf *b, const char *key, const struct hcb_value *map)
{
    hcb_json_key(b, key);
    hcb_json_open(b, '{');
    for (size_t i = 0; i < map->u.map.n; i++) {
        hcb_json_key(b, map->u.map.p[i].key);
        write_value(b, &map->u.map.p[i].value);
    }
    hcb_json_close(b, '}');
}

void cli_pairs_write_text(struct hcb_buf *b, const struct hcb_value *map)
{
    bool any = false;
    for (size_t i = 0; i < map->u.map.n; i++) {
        const struct hcb_pair *pair = &map->u.map.p[i];
        if (spelt_as_json(&pair->value))
            continue;
        if (!any) {
            hcb_json_key(b, "text");
            hcb_json_open(b, '{');
        }
        any = true;
        hcb_json_key(b, pair->key);
        hcb_json_str(b, pair->value.source);
    }
    if (any)
        hcb_json_close(b, '}');
}
