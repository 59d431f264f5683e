/* An op: one change that somebody asked for. Everything that changes state is
 * one, whether it came as a command line, from hotcb.yaml, from an edited file,
 * or from the controller itself; so there is one way to change it and one ledger.
 *
 * Knows the form of an op, not whether it can be applied. */
#ifndef HCB_OP_H
#define HCB_OP_H

#include "base/err.h"
#include "base/value.h"

/* The name is what stands under "op" in a command and in the ledger. The last
 * three are the run's own: a command may not ask for them. */
#define HCB_OPS(X)                   \
    X(HCB_OP_LOAD, "load")           \
    X(HCB_OP_ENABLE, "enable")       \
    X(HCB_OP_DISABLE, "disable")     \
    X(HCB_OP_SET, "set_params")      \
    X(HCB_OP_LIMITS, "set_limits")   \
    X(HCB_OP_UNLOAD, "unload")       \
    X(HCB_OP_RELOAD, "reload")       \
    X(HCB_OP_CONFIG, "config")       \
    X(HCB_OP_FAIL, "fail")           \
    X(HCB_OP_STOP, "stop")

enum hcb_op_kind {
#define HCB_OP_ENUM(kind, name) kind,
    HCB_OPS(HCB_OP_ENUM)
#undef HCB_OP_ENUM
    HCB_OP_NONE /* of a line that could not be read */
};

#define HCB_ORIGINS(X)                                                          \
    X(HCB_FROM_COMMAND, "command") /* a line of the command file */             \
    X(HCB_FROM_YAML, "yaml")       /* a changed key of hotcb.yaml */            \
    X(HCB_FROM_FILE, "file")       /* a changed script */                       \
    X(HCB_FROM_HOST, "host")       /* hotcb_command() */                        \
    X(HCB_FROM_RESUME, "resume")   /* what an earlier process had */            \
    X(HCB_FROM_SCRIPT, "script")   /* what a script asked for */                \
    X(HCB_FROM_RUN, "run")         /* the controller: a failure, a rebuild */

enum hcb_origin {
#define HCB_ORIGIN_ENUM(origin, name) origin,
    HCB_ORIGINS(HCB_ORIGIN_ENUM)
#undef HCB_ORIGIN_ENUM
    HCB_ORIGIN_COUNT
};

enum hcb_target_kind { HCB_TARGET_FILE, HCB_TARGET_MODULE }; /* lua_file, module */

struct hcb_target {
    enum hcb_target_kind kind;
    char *path;   /* of the file, as given; or the module's name */
    char *symbol; /* or NULL */
};

enum hcb_tristate { HCB_UNSET = -1, HCB_NO = 0, HCB_YES = 1 };

struct hcb_op {
    enum hcb_op_kind kind;
    enum hcb_origin origin;
    char *id;
    struct hcb_target target;       /* of a load */
    struct hcb_value init;          /* of a load: initial values, a map or null */
    struct hcb_value params;        /* of a load or set_params: a map or null */
    struct hcb_value limits;        /* of a load or set_limits: a map or null */
    enum hcb_tristate enabled;      /* of a load; unset: as it was, else on */
    bool desired;                   /* of a load from YAML: listed as failed if it fails */
    char *cmd;                      /* the command's own id, or NULL */
    int64_t offset;                 /* of its line in the command file, or -1 */
    int64_t line;                   /* its number in the command file or YAML, or 0 */
};

void hcb_op_init(struct hcb_op *op);
void hcb_op_release(struct hcb_op *op);

const char *hcb_op_name(enum hcb_op_kind kind); /* "load"; "?" for HCB_OP_NONE */
const char *hcb_origin_name(enum hcb_origin origin);
const char *hcb_target_kind_name(enum hcb_target_kind kind);

/* A command as people write it, one JSON object in the forms of hotcb 0.1.0:
 *   {"op":"load","id":"x","target":{"kind":"lua_file"|"module","path":"...",
 *    "symbol":"..."},"init":{...},"params":{...},"limits":{...},"enabled":true}
 *   {"op":"set_params","id":"x","params":{"every":5},"text":{"every":"5"}}
 *   {"op":"enable"|"disable"|"unload"|"reload","id":"x"}
 * with "cmd" (text) and "ts" (anything) allowed everywhere. "text", of a load or
 * set_params, says how values of init and params were spelt where JSON cannot:
 * it becomes their `source`.
 * *op is initialised here; origin, offset and line are the caller's, to be set
 * after. What could be read of a refused line (op, id, cmd) is left in *op, for
 * the ledger. Unknown keys, and keys of other ops, are refused.
 * Errors: EFORMAT, EREFUSED (python_file), ENOMEM. */
int hcb_op_parse(const char *json, size_t n, struct hcb_op *op, struct hcb_err *err);

/* Reads {"kind","path","symbol"}: for a command and for YAML. */
int hcb_target_read(struct hcb_target *target, const struct hcb_value *v, struct hcb_err *err);

/* Is this one key of a target, and its value, good? For who can say its line. */
int hcb_target_check_key(const struct hcb_pair *p, struct hcb_err *err);

#endif
