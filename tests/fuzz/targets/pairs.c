/* `key=value`: the text of a command line, as a value, as the command that carries it, as
 * a parameter, and printed again. The input is one word, "lr=1e-4"; without a '=' it is
 * the value alone. */
#include "fuzz.h"

#include "base/json.h"
#include "base/number.h"
#include "base/scalar.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/params.h"
#include "control/config.h"
#include "script/params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CALLBACK_HEAD "{\"op\":\"set_params\",\"id\":\"x\""

static void check_number(const char *s, size_t n)
{
    double d;
    if (!hcb_parse_real(s, n, &d))
        return;
    char *end, text[HCB_REAL_CHARS];
    double usual = strtod(s, &end), back;
    MUST(end == s + n && (usual == d) && signbit(usual) == signbit(d));
    int len = hcb_format_real(text, d);
    MUST(len > 0 && len < HCB_REAL_CHARS && len == (int)strlen(text));
    MUST(isinf(d) || (hcb_parse_real(text, (size_t)len, &back) && back == d));
}

/* A plain word means the same in a file and on the command line. */
static void check_yaml(const char *s, size_t n, const struct hcb_value *v)
{
    struct hcb_value yaml = {0};
    bool plain = n > 0 && hcb_yaml_parse(s, n, "x", &yaml, NULL) == 0 && yaml.source &&
                 strcmp(yaml.source, s) == 0;
    if (plain && v->source)
        MUST(yaml.type == v->type && (hcb_value_equal(&yaml, v) || !fuzz_is_finite(v)));
    hcb_value_release(&yaml);
}

/* A parameter that is text is what was typed, to the byte. */
static void check_spelling(const char *s, const struct hcb_value *v)
{
    struct hcb_param text = {.name = "x", .type = HCB_PARAM_STRING};
    struct hcb_value out = {0};
    if (v->type == HCB_NULL) /* it asks for the initial value */
        return;
    if (hcb_param_convert(&text, v, &out, NULL) == 0)
        MUST(strcmp(out.u.text.s, s) == 0);
    else
        MUST(v->type == HCB_LIST || v->type == HCB_MAP);
    hcb_value_release(&out);
}

/* What is shown of a value, typed again, is that value; text may look like another. */
static void check_shown(const struct hcb_value *v)
{
    struct hcb_buf shown = {0};
    struct hcb_value back = {0};
    cli_value_text(&shown, v);
    fuzz_must_be_line(hcb_buf_text(&shown), shown.len);
    if (v->type != HCB_TEXT && fuzz_is_finite(v)) {
        MUST(hcb_scalar_from_arg(hcb_buf_text(&shown), &back, NULL) == 0);
        MUST(hcb_value_equal(v, &back) || strchr(hcb_buf_text(&shown), '\\'));
    }
    hcb_buf_release(&shown);
    hcb_value_release(&back);
}

/* The command that the tool sends carries the value, and how it was spelt. */
static void check_command(const char *typed, const struct hcb_value *params)
{
    struct hcb_buf json = {0};
    struct hcb_op op;
    struct hcb_err err = {0};
    hcb_buf_str(&json, CALLBACK_HEAD);
    cli_pairs_write(&json, "params", params);
    cli_pairs_write_text(&json, params);
    hcb_json_close(&json, '}');
    int rc = hcb_op_parse(json.data, json.len, &op, &err);
    if (rc < 0) { /* a list that is too deep for a parameter, or has too many values */
        fuzz_must_explain(rc, &err);
        const struct hcb_value *v = &params->u.map.p[0].value;
        MUST(v->type == HCB_LIST || v->type == HCB_MAP);
    } else {
        MUST(hcb_value_equal(&op.params, params));
        check_spelling(typed, &op.params.u.map.p[0].value);
    }
    hcb_op_release(&op);
    hcb_buf_release(&json);
}

static void read_words(struct cli *cli, const char *word, struct hcb_value *params)
{
    struct cli_words words = {.v = &word, .n = 1};
    int code = cli_pairs_read(cli, &words, 0, params);
    MUST(code == CLI_OK || code == CLI_REFUSED || code == CLI_USAGE);
    if (code != CLI_OK)
        return;
    const struct hcb_pair *pair = &params->u.map.p[0];
    MUST(params->u.map.n == 1 && pair->key && *pair->key);
    const char *value = word + strlen(pair->key) + 1;
    fuzz_must_be_sound(params, true);
    check_yaml(value, strlen(value), &pair->value);
    check_spelling(value, &pair->value);
    check_shown(&pair->value);
    check_command(value, params);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    if (!nowhere)
        MUST((nowhere = fopen("/dev/null", "w")));
    struct cli cli = {0};
    struct hcb_buf word = {0};
    struct hcb_value params = {0};
    cli_screen_init(&cli.out, nowhere, CLI_COLOR_NEVER);
    cli_screen_init(&cli.err, nowhere, CLI_COLOR_NEVER);
    size = strnlen((const char *)data, size); /* a word of a command line */
    if (!memchr(data, '=', size))
        hcb_buf_str(&word, "x=");
    hcb_buf_add(&word, data, size);
    const char *value = strchr(word.data, '=') + 1;
    check_number(value, strlen(value));
    read_words(&cli, word.data, &params);
    hcb_value_release(&params);
    hcb_buf_release(&word);
    return 0;
}
