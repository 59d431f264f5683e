/* hotcb.yaml: two texts, parted by 0xff, as a file and the same file later. Each is read
 * and checked; the ops between two good ones have to lead from the first to the second. */
#include "checks.h"

#include "base/json.h"
#include "control/config.h"

#include <string.h>

#define NAME "hotcb.yaml"
#define PARTS_MAX 4
#define JSON_MAX 8192 /* bytes; more of the same shows nothing new */

/* Values that JSON can have come back from it as they were. */
static void check_json(const struct hcb_value *v)
{
    struct hcb_buf json = {0};
    struct hcb_value back = {0};
    hcb_json_value(&json, v);
    if (json.len <= JSON_MAX) {
        hcb_buf_char(&json, '\n');
        fuzz_must_be_json(json.data, json.len, &back);
        MUST(!fuzz_is_finite(v) || hcb_value_equal(v, &back));
    }
    hcb_buf_release(&json);
    hcb_value_release(&back);
}

static void read_tree(const char *text, size_t n)
{
    struct hcb_value v = {0};
    struct hcb_err err = {0};
    int rc = hcb_yaml_parse(text, n, NAME, &v, &err);
    if (rc < 0) {
        fuzz_must_explain(rc, &err);
        MUST(strncmp(err.text, NAME ":", strlen(NAME ":")) == 0);
        MUST(v.type == HCB_NULL && !v.source);
    } else {
        fuzz_must_be_sound(&v, true);
        check_json(&v);
    }
    hcb_value_release(&v);
}

static void check_entry(const struct hcb_pair *p)
{
    struct hcb_target target;
    MUST(p->line > 0 && p->value.type == HCB_MAP);
    MUST(hcb_target_read(&target, hcb_map_get(&p->value, "target"), NULL) == 0);
    struct hcb_op op = {.target = target};
    hcb_op_release(&op);
}

/* false: refused, and said why. */
static bool read_config(const char *text, size_t n, struct hcb_value *out)
{
    struct hcb_err err = {0};
    int rc = hcb_config_parse(text, n, NAME, out, &err);
    if (rc < 0)
        fuzz_must_explain(rc, &err);
    MUST(out->type == HCB_NULL || (rc == 0 && out->type == HCB_MAP));
    for (size_t i = 0; out->type == HCB_MAP && i < out->u.map.n; i++)
        check_entry(&out->u.map.p[i]);
    return rc == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {.at = (const char *)data, .left = size};
    struct hcb_value good = {0}; /* of the last part that was one */
    const char *part;
    size_t n;
    for (int i = 0; i < PARTS_MAX && fuzz_part(&in, &part, &n); i++) {
        struct hcb_value next = {0};
        read_tree(part, n);
        if (!read_config(part, n, &next))
            continue;
        fuzz_check_diff(&next, &next);
        fuzz_check_diff(&good, &next);
        hcb_value_release(&good);
        good = next;
    }
    hcb_value_release(&good);
    return 0;
}
