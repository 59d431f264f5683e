/* The tensors that a host lends; the public side is in hotcb.h. What they are is judged
 * here, once, so that whoever reads one need not doubt its description. */
#include "env/env.h"

#include <stdlib.h>
#include <string.h>

/* Bytes from the first to the last element: far more than any machine has, and small
 * enough that no address overflows on the way. */
#define SPAN_MAX (INT64_C(1) << 56)

/* ---- types and devices ------------------------------------------------------ */

/* DLPack's: https://dmlc.github.io/dlpack/latest/c_api.html */
enum { CODE_INT, CODE_UINT, CODE_FLOAT, CODE_BFLOAT = 4, CODE_COMPLEX, CODE_BOOL };
enum { DEVICE_CPU = 1, DEVICE_CUDA_HOST = 3, DEVICE_ROCM_HOST = 11, DEVICE_CUDA_MANAGED = 13 };

static const struct {
    int code, bits;
    enum hcb_dtype dtype;
} types[] = {
    {CODE_FLOAT, 64, HCB_F64}, {CODE_FLOAT, 32, HCB_F32}, {CODE_FLOAT, 16, HCB_F16},
    {CODE_BFLOAT, 16, HCB_BF16}, {CODE_INT, 8, HCB_I8}, {CODE_INT, 16, HCB_I16},
    {CODE_INT, 32, HCB_I32}, {CODE_INT, 64, HCB_I64}, {CODE_UINT, 8, HCB_U8},
    {CODE_UINT, 16, HCB_U16}, {CODE_UINT, 32, HCB_U32}, {CODE_UINT, 64, HCB_U64},
    {CODE_BOOL, 8, HCB_BOOL8},
};

static const char *code_name(int code)
{
    static const char *const names[] = {
        "integers", "unsigned integers", "floating point", "opaque handles", "bfloat",
        "complex numbers", "bool",
    };
    return code < (int)(sizeof names / sizeof *names) ? names[code] : "a type of its own";
}

static int find_type(struct hotcb_env *env, const char *key, const hotcb_tensor *from,
                     enum hcb_dtype *to)
{
    for (size_t i = 0; i < sizeof types / sizeof *types && from->type_lanes == 1; i++) {
        if (types[i].code == from->type_code && types[i].bits == from->type_bits) {
            *to = types[i].dtype;
            return 0;
        }
    }
    return hcb_fail(&env->err, HOTCB_EREFUSED, "%s: elements of %s with %d bits and %d lanes (code "
                    "%d of DLPack) are none that callbacks can read", key,
                    code_name(from->type_code), from->type_bits, from->type_lanes,
                    from->type_code);
}

static struct hcb_device *find_device(struct hotcb_env *env, int type)
{
    for (size_t i = 0; i < HCB_DEVICES; i++)
        if (env->devices[i].type == type)
            return &env->devices[i];
    return NULL;
}

static bool is_plain(int device_type)
{
    return device_type == DEVICE_CPU || device_type == DEVICE_CUDA_HOST ||
           device_type == DEVICE_ROCM_HOST || device_type == DEVICE_CUDA_MANAGED;
}

static int set_device(struct hotcb_env *env, const char *key, const hotcb_tensor *from,
                      struct hcb_tensor *to)
{
    to->device = NULL;
    if (is_plain(from->device_type))
        return 0;
    const struct hcb_device *device = find_device(env, from->device_type);
    if (from->device_type == 0 || !device || !device->copy)
        return hcb_fail(&env->err, HOTCB_EREFUSED, "%s: its memory is on a device of type %d of "
                        "DLPack, which the processor cannot read, and there is no copy function "
                        "for it (hotcb_env_device)", key, from->device_type);
    to->device = device;
    return 0;
}

int hotcb_env_device(hotcb_env *env, int32_t device_type, hotcb_copy_fn *copy, void *user)
{
    if (!env || device_type == 0 || is_plain(device_type))
        return HOTCB_EINVAL;
    struct hcb_device *device = find_device(env, device_type);
    if (!device && !copy)
        return 0;
    if (!device)
        device = find_device(env, 0);
    if (!device)
        return hcb_fail(&env->err, HOTCB_EREFUSED, "more than %d types of device", HCB_DEVICES);
    *device = (struct hcb_device){.type = device_type, .copy = copy, .user = user};
    return 0;
}

/* ---- shape and strides ------------------------------------------------------- */

static int refuse_shape(struct hotcb_env *env, const char *key, const char *why)
{
    return hcb_fail(&env->err, HOTCB_EREFUSED, "%s: %s", key, why);
}

static int set_shape(struct hotcb_env *env, const char *key, int ndim, const int64_t *shape,
                     struct hcb_tensor *to)
{
    bool empty = false, huge = false;
    if (ndim < 0 || ndim > HCB_DIMS)
        return hcb_fail(&env->err, HOTCB_EREFUSED, "%s: %d dimensions, and callbacks can read 0 "
                        "to %d", key, ndim, HCB_DIMS);
    if (ndim > 0 && !shape)
        return refuse_shape(env, key, "it has dimensions, and no shape");
    to->ndim = ndim;
    to->numel = 1;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0)
            return refuse_shape(env, key, "a dimension is negative");
        to->shape[i] = shape[i];
        empty |= shape[i] == 0;
        huge |= shape[i] > 0 && to->numel > SPAN_MAX / shape[i];
        to->numel *= huge || shape[i] == 0 ? 1 : shape[i];
    }
    if (empty)
        to->numel = 0;
    return huge && !empty ? refuse_shape(env, key, "it has more elements than there can be") : 0;
}

static void set_compact(struct hcb_tensor *to)
{
    int64_t step = 1;
    for (int i = to->ndim - 1; i >= 0; i--) {
        to->stride[i] = step;
        step *= to->shape[i] > 0 && to->numel > 0 ? to->shape[i] : 1;
    }
}

static int set_strides(struct hotcb_env *env, const char *key, const int64_t *strides,
                       struct hcb_tensor *to)
{
    int64_t span = 0;
    if (!strides || to->numel == 0) {
        set_compact(to);
        return 0;
    }
    for (int i = 0; i < to->ndim; i++) {
        int64_t s = strides[i], steps = to->shape[i] - 1;
        to->stride[i] = s;
        if (steps == 0)
            continue;
        if (s < -SPAN_MAX || s > SPAN_MAX || (s < 0 ? -s : s) > (SPAN_MAX - span) / steps)
            return refuse_shape(env, key, "its strides reach farther than memory does");
        span += (s < 0 ? -s : s) * steps;
    }
    return 0;
}

/* ---- lending ------------------------------------------------------------------ */

static int describe(struct hotcb_env *env, const char *key, const hotcb_tensor *from,
                    struct hcb_tensor *to)
{
    int rc = find_type(env, key, from, &to->dtype);
    if (rc == 0)
        rc = set_device(env, key, from, to);
    if (rc == 0)
        rc = set_shape(env, key, from->ndim, from->shape, to);
    if (rc == 0)
        rc = set_strides(env, key, from->strides, to);
    to->data = from->data;
    if (from->data)
        to->data += from->byte_offset;
    return rc;
}

/* A run says each key's first refusal; the host may not look at what is returned. */
static void note_refusal(struct hotcb_env *env, struct hcb_slot *slot)
{
    if (slot->refused)
        return;
    hcb_buf_printf(&env->refusals, "%s\n", env->err.text);
    slot->refused = !env->refusals.oom; /* else the next time */
    env->uncommon |= env->refusals.len > 0;
    env->refusals.oom = false;
}

static int lend(struct hotcb_env *env, struct hcb_slot *slot, const char *key,
                const hotcb_tensor *from)
{
    slot->type = HCB_SLOT_EMPTY; /* rather nothing than what was there before */
    if (!slot->tensor)
        slot->tensor = malloc(sizeof *slot->tensor);
    if (!slot->tensor)
        return hcb_fail_nomem(&env->err);
    int rc = describe(env, key, from, slot->tensor);
    if (rc < 0)
        note_refusal(env, slot);
    else if (from->data || slot->tensor->numel == 0)
        slot->type = HCB_SLOT_TENSOR;
    return rc;
}

int hotcb_env_tensor(hotcb_env *env, const char *key, const hotcb_tensor *tensor)
{
    int rc;
    if (!env || !tensor)
        return HOTCB_EINVAL;
    struct hcb_slot *slot = hcb_env_slot_to_set(env, key, HCB_SLOT_EMPTY, &rc);
    if (!slot)
        return hcb_fail(&env->err, rc, "%.260s: not a key that a tensor can have",
                        key ? key : "NULL");
    return lend(env, slot, key, tensor);
}

static int lend_compact(hotcb_env *env, const char *key, const void *data, uint8_t bits, int ndim,
                        const int64_t *shape)
{
    hotcb_tensor tensor = {
        .data = (void *)(uintptr_t)data, .device_type = DEVICE_CPU, .ndim = ndim,
        .type_code = CODE_FLOAT, .type_bits = bits, .type_lanes = 1, .shape = shape,
    };
    return hotcb_env_tensor(env, key, &tensor);
}

int hotcb_env_f32(hotcb_env *env, const char *key, const float *data, int ndim,
                  const int64_t *shape)
{
    return lend_compact(env, key, data, 32, ndim, shape);
}

int hotcb_env_f64(hotcb_env *env, const char *key, const double *data, int ndim,
                  const int64_t *shape)
{
    return lend_compact(env, key, data, 64, ndim, shape);
}

const char *hotcb_env_errmsg(const hotcb_env *env)
{
    return env ? env->err.text : "there is no env";
}
