/* Tensors that a host lends: what is taken, what is refused and in which words, and that
 * lending again allocates nothing. */
#include "env/env.h"
#include "scratch.h"

#include <float.h>
#include <stddef.h>

/* DLPack's own DLTensor, from its version 0.2 on: 48 bytes on 64-bit machines. */
_Static_assert(sizeof(void *) != 8 || sizeof(hotcb_tensor) == 48, "as large as a DLTensor");
_Static_assert(offsetof(hotcb_tensor, device_type) == sizeof(void *), "data device");
_Static_assert(offsetof(hotcb_tensor, ndim) == sizeof(void *) + 8, "device ndim");
_Static_assert(offsetof(hotcb_tensor, type_code) == sizeof(void *) + 12, "ndim dtype");
_Static_assert(offsetof(hotcb_tensor, shape) == sizeof(void *) + 16, "dtype shape");
_Static_assert(offsetof(hotcb_tensor, byte_offset) == 3 * sizeof(void *) + 16, "strides offset");

#define BIG (INT64_C(1) << 40)

static float data[24];

static const struct hcb_slot *read_slot(hotcb_env *env, const char *group, const char *key)
{
    int g = *group ? hcb_env_find_group(env, group, strlen(group)) : 0;
    return g < 0 ? NULL : hcb_env_read(env, g, key, strlen(key));
}

struct row {
    int device, ndim, code, bits, lanes;
    int64_t shape[9], strides[9];
    bool no_data, has_strides, no_shape;
    const char *refused; /* a part of the sentence; NULL: taken */
    int64_t numel;       /* of one that is taken; -1: scripts see nil */
};

static const struct row rows[] = {
    {1, 2, 2, 32, 1, {2, 3}, .numel = 6},
    {1, 0, 2, 32, 1, .numel = 1, .no_shape = true},
    {1, 8, 2, 32, 1, {1, 1, 1, 2, 1, 1, 3, 1}, .numel = 6},
    {1, 3, 2, 32, 1, {2, 0, 3}, .numel = 0},
    {1, 3, 2, 32, 1, {BIG, BIG, 0}, .numel = 0},
    {1, 3, 2, 32, 1, {0, BIG, BIG}, .numel = 0, .no_data = true},
    {1, 1, 2, 32, 1, {5}, .no_data = true, .numel = -1},
    {1, 0, 2, 32, 1, .no_data = true, .numel = -1},
    {1, 2, 2, 32, 1, {2, 3}, {1, 2}, .has_strides = true, .numel = 6},
    {1, 2, 2, 32, 1, {2, 3}, {-3, 0}, .has_strides = true, .numel = 6},
    {1, 2, 2, 32, 1, {1, 3}, {INT64_MAX, 1}, .has_strides = true, .numel = 3},
    {1, 2, 2, 32, 1, {0, 3}, {INT64_MIN, 1}, .has_strides = true, .numel = 0},
    {3, 1, 2, 32, 1, {4}, .numel = 4},
    {11, 1, 2, 32, 1, {4}, .numel = 4},
    {13, 1, 2, 32, 1, {4}, .numel = 4},
    {1, 1, 2, 64, 1, {4}, .numel = 4}, {1, 1, 2, 16, 1, {4}, .numel = 4},
    {1, 1, 4, 16, 1, {4}, .numel = 4}, {1, 1, 0, 8, 1, {4}, .numel = 4},
    {1, 1, 0, 16, 1, {4}, .numel = 4}, {1, 1, 0, 32, 1, {4}, .numel = 4},
    {1, 1, 0, 64, 1, {4}, .numel = 4}, {1, 1, 1, 8, 1, {4}, .numel = 4},
    {1, 1, 1, 16, 1, {4}, .numel = 4}, {1, 1, 1, 32, 1, {4}, .numel = 4},
    {1, 1, 1, 64, 1, {4}, .numel = 4}, {1, 1, 6, 8, 1, {4}, .numel = 4},
    {1, 9, 2, 32, 1, {1, 1, 1, 1, 1, 1, 1, 1, 1}, .refused = "9 dimensions"},
    {1, -1, 2, 32, 1, .refused = "-1 dimensions"},
    {1, 2, 2, 32, 1, {2, -3}, .refused = "a dimension is negative"},
    {1, 2, 2, 32, 1, {0, -3}, .refused = "a dimension is negative"},
    {1, 2, 2, 32, 1, {BIG, BIG}, .refused = "more elements than there can be"},
    {1, 1, 2, 32, 1, {INT64_MAX}, .refused = "more elements than there can be"},
    {1, 1, 2, 32, 1, .no_shape = true, .refused = "no shape"},
    {1, 2, 2, 32, 1, {2, 2}, {INT64_MAX, 1}, .has_strides = true, .refused = "reach farther"},
    {1, 2, 2, 32, 1, {2, 2}, {INT64_MIN, 1}, .has_strides = true, .refused = "reach farther"},
    {1, 2, 2, 32, 1, {BIG, 2}, {BIG, 1}, .has_strides = true, .refused = "reach farther"},
    {1, 1, 5, 64, 1, {4}, .refused = "complex numbers with 64 bits and 1 lanes"},
    {1, 1, 3, 64, 1, {4}, .refused = "opaque handles"},
    {1, 1, 10, 8, 1, {4}, .refused = "a type of its own with 8 bits and 1 lanes (code 10"},
    {1, 1, 2, 8, 1, {4}, .refused = "floating point with 8 bits"},
    {1, 1, 2, 32, 4, {4}, .refused = "4 lanes"},
    {1, 1, 6, 1, 1, {4}, .refused = "bool with 1 bits"},
    {2, 1, 2, 32, 1, {4}, .refused = "a device of type 2 of DLPack"},
    {0, 1, 2, 32, 1, {4}, .refused = "a device of type 0"},
};

static hotcb_tensor tensor_of(const struct row *row)
{
    return (hotcb_tensor){
        .data = row->no_data ? NULL : data, .device_type = row->device, .ndim = row->ndim,
        .type_code = (uint8_t)row->code, .type_bits = (uint8_t)row->bits,
        .type_lanes = (uint16_t)row->lanes, .shape = row->no_shape ? NULL : row->shape,
        .strides = row->has_strides ? row->strides : NULL,
    };
}

static void test_taken_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hotcb_env *env = hotcb_env_new();
        hotcb_tensor t = tensor_of(&rows[i]);
        int want = rows[i].refused ? HOTCB_EREFUSED : 0;
        if (hotcb_env_tensor(env, "grads.w", &t) != want)
            fail_msg("row %zu: %s", i, hotcb_env_errmsg(env));
        const struct hcb_slot *slot = read_slot(env, "grads", "w");
        if (rows[i].refused) {
            if (!strstr(hotcb_env_errmsg(env), rows[i].refused) ||
                strncmp(hotcb_env_errmsg(env), "grads.w: ", 9) != 0)
                fail_msg("row %zu: %s", i, hotcb_env_errmsg(env));
            assert_null(slot);
        } else if (rows[i].numel < 0) {
            assert_null(slot);
        } else {
            assert_int_equal(slot->type, HCB_SLOT_TENSOR);
            assert_int_equal(slot->tensor->numel, rows[i].numel);
        }
        hotcb_env_free(env);
    }
}

static void test_how_long_it_holds(void **state)
{
    (void)state;
    const int64_t shape[] = {2, 3};
    hotcb_env *env = hotcb_env_new();
    assert_int_equal(hotcb_env_f32(env, "batch.x", data, 2, shape), 0);
    assert_int_equal(read_slot(env, "batch", "x")->tensor->stride[0], 3);
    hcb_env_end(env);
    assert_null(read_slot(env, "batch", "x"));
    assert_int_equal(hotcb_env_f32(env, "batch.x", data, 1, shape), 0);
    assert_int_equal(hotcb_env_keep(env, "batch.x"), 0);
    hcb_env_end(env);
    assert_int_equal(read_slot(env, "batch", "x")->tensor->ndim, 1);
    assert_int_equal(hotcb_env_num(env, "batch.x", 5), 0);
    assert_int_equal(read_slot(env, "batch", "x")->type, HCB_SLOT_NUM);
    assert_int_equal(hotcb_env_f64(env, "batch.x", NULL, 2, shape), 0);
    assert_null(read_slot(env, "batch", "x"));
    hotcb_env_free(env);
}

/* What was refused takes away what was there before: nothing stale is shown. */
static void test_a_refusal_is_said_once_a_key(void **state)
{
    (void)state;
    const int64_t shape[] = {4}, wrong[] = {-1};
    hotcb_env *env = hotcb_env_new();
    hotcb_env_f32(env, "x", data, 1, shape);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hotcb_env_f32(env, "x", data, 1, wrong), HOTCB_EREFUSED);
        assert_int_equal(hotcb_env_f32(env, "y", data, 1, wrong), HOTCB_EREFUSED);
        assert_null(read_slot(env, "", "x"));
        hcb_env_end(env);
    }
    assert_string_equal(hcb_buf_text(&env->refusals),
                        "x: a dimension is negative\ny: a dimension is negative\n");
    hotcb_env_free(env);
}

static void test_keys_and_nulls(void **state)
{
    (void)state;
    const int64_t shape[] = {4};
    hotcb_env *env = hotcb_env_new();
    assert_int_equal(hotcb_env_f32(NULL, "x", data, 1, shape), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_f32(env, NULL, data, 1, shape), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_f32(env, "", data, 1, shape), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_f32(env, "step", data, 1, shape), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_f32(env, "grads", data, 1, shape), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_tensor(env, "x", NULL), HOTCB_EINVAL);
    assert_string_equal(hotcb_env_errmsg(NULL), "there is no env");
    hotcb_env_free(env);
}

static int copy_nothing(void *user, void *to, const void *from, size_t n)
{
    (void)user, (void)to, (void)from, (void)n;
    return -1;
}

static void test_devices(void **state)
{
    (void)state;
    const int64_t shape[] = {4};
    hotcb_tensor t = {.data = data, .device_type = 2, .ndim = 1, .type_code = 2, .type_bits = 32,
                      .type_lanes = 1, .shape = shape};
    hotcb_env *env = hotcb_env_new();
    assert_int_equal(hotcb_env_device(env, 2, copy_nothing, data), 0);
    assert_int_equal(hotcb_env_tensor(env, "x", &t), 0);
    assert_ptr_equal(read_slot(env, "", "x")->tensor->device->user, data);
    assert_int_equal(hotcb_env_device(env, 2, NULL, NULL), 0);
    assert_int_equal(hotcb_env_tensor(env, "x", &t), HOTCB_EREFUSED);
    assert_int_equal(hotcb_env_device(env, 1, copy_nothing, NULL), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_device(env, 0, copy_nothing, NULL), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_device(NULL, 2, copy_nothing, NULL), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_device(env, 77, NULL, NULL), 0);
    for (int type = 20; type < 20 + HCB_DEVICES - 1; type++)
        assert_int_equal(hotcb_env_device(env, type, copy_nothing, NULL), 0);
    assert_int_equal(hotcb_env_device(env, 99, copy_nothing, NULL), HOTCB_EREFUSED);
    hotcb_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken_or_refused),
        cmocka_unit_test(test_how_long_it_holds),
        cmocka_unit_test(test_a_refusal_is_said_once_a_key),
        cmocka_unit_test(test_keys_and_nulls),
        cmocka_unit_test(test_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
