/* hotcb.yaml -> ops; the only door to libyaml.
 *
 * A file is validated whole before any of it is used. Then each key is compared
 * with its value at the last successful read, and what changed becomes an op. */
#ifndef HCB_CONFIG_H
#define HCB_CONFIG_H

#include "base/err.h"
#include "base/value.h"
#include "control/op.h"

#define HCB_CONFIG_BYTES (4 << 20)    /* a larger file is refused */
#define HCB_YAML_TEXT_BYTES (8 << 20) /* of all keys and values, aliases expanded */
#define HCB_YAML_ANCHORS 256

/* YAML text -> value, plain scalars by scalar.h with their `source` kept, pair
 * lines set. One document; aliases are expanded within HCB_VALUE_NODES nodes
 * and HCB_YAML_TEXT_BYTES of text; keys must be scalars, each once. Empty text (or
 * only comments) gives null. Text in quotes has no `source`.
 * `name` is the file, for messages: "name:LINE: ...". Errors: EFORMAT, ENOMEM. */
int hcb_yaml_parse(const char *text, size_t n, const char *name, struct hcb_value *out,
                   struct hcb_err *err);

/* Text -> validated configuration: a map id -> {"enabled" (bool), "target" {kind,
 * path, symbol}, "init", "params", "limits"}, each entry with only the keys the
 * file has. An empty file gives null (and success): the caller keeps what it
 * had. Messages name file, line and key, with the near match of a misspelt one. */
int hcb_config_parse(const char *text, size_t n, const char *name, struct hcb_value *out,
                     struct hcb_err *err);

/* Whether a value from elsewhere is such a map, or null. Errors: EFORMAT. */
int hcb_config_check(const struct hcb_value *config, const char *name, struct hcb_err *err);

struct hcb_ops {
    struct hcb_op *v;
    size_t n, cap;
};
void hcb_ops_release(struct hcb_ops *ops);

/* What leads from `before` (null at a first read) to `after`, in file order,
 * removals first. Paths of targets are made absolute by `dir`. Per entry:
 *   new, or target or init changed -> load (params and limits with it; enabled
 *     as the file says, or unset where that key did not change)
 *   limits.NAME changed or removed -> set_limits (null for removed), one op
 *   params.NAME changed or removed -> set_params (the same), one op
 *   enabled changed (absent is true) -> enable or disable
 *   entry removed -> disable (without a line)
 * A number that is spelt otherwise (1.10, 1.1) has changed too: so keep the text of
 * the file, not its values as JSON, where `before` has to outlive the process.
 * Each op has origin yaml, the line of its key, and for a load `desired`. */
int hcb_config_diff(const struct hcb_value *before, const struct hcb_value *after,
                    const char *dir, struct hcb_ops *ops, struct hcb_err *err);

#endif
