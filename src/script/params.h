/* Declared parameters: what a script may be told, checked by the host before any
 * of the script's code runs. Knows nothing of Lua (params_lua.h reads the
 * declarations). */
#ifndef HCB_PARAMS_H
#define HCB_PARAMS_H

#include "base/err.h"
#include "base/value.h"

#define HCB_PARAM_TYPES(X)           \
    X(HCB_PARAM_INTEGER, "integer")  \
    X(HCB_PARAM_NUMBER, "number")    \
    X(HCB_PARAM_BOOLEAN, "boolean")  \
    X(HCB_PARAM_STRING, "string")    \
    X(HCB_PARAM_LIST, "list")        \
    X(HCB_PARAM_ANY, "any")

enum hcb_param_type {
#define HCB_PARAM_ENUM(type, name) type,
    HCB_PARAM_TYPES(HCB_PARAM_ENUM)
#undef HCB_PARAM_ENUM
    HCB_PARAM_TYPE_COUNT
};

struct hcb_param {
    char *name;
    enum hcb_param_type type;
    struct hcb_value preset;   /* the default in the script; null if it has none */
    struct hcb_value initial;  /* what null goes back to: a load's init, else preset */
    struct hcb_value value;    /* what holds now */
    struct hcb_value min, max; /* numbers, or null */
    struct hcb_value step;     /* a number, or null: a hint for whoever searches */
    struct hcb_value choices;  /* a list, or null */
    bool log;                  /* a hint: vary it by factors */
    char *unit, *help;         /* or NULL */
};

struct hcb_params {
    struct hcb_param *v;
    size_t n, cap;
};

const char *hcb_param_type_name(enum hcb_param_type type);
void hcb_params_release(struct hcb_params *ps);
struct hcb_param *hcb_params_find(const struct hcb_params *ps, const char *name);

/* Converts one value to the type of p and checks range and choices; null gives
 * the initial value. *out is null before. The sentence names the parameter. */
int hcb_param_convert(const struct hcb_param *p, const struct hcb_value *in,
                      struct hcb_value *out, struct hcb_err *err);

/* The same for a map of values, all or nothing: *out becomes a map of the converted
 * ones. Unknown names are refused with the near match. */
int hcb_params_convert(const struct hcb_params *ps, const struct hcb_value *given,
                       struct hcb_value *out, struct hcb_err *err);

/* Neither infinity nor NaN anywhere in it. */
bool hcb_params_finite(const struct hcb_value *v);

/* The declarations as JSON, as in hotcb.status.json. */
void hcb_params_json(struct hcb_buf *b, const struct hcb_params *ps);

#endif
