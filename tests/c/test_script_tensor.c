/* Tensors as scripts see them: what the methods give, what they refuse, how long a view
 * holds, and that work on a large one is stopped by the budget. */
#include "script_rig.h"

#include <fenv.h>
#include <math.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* w = {{1, -2, 3}, {4, 5, -6}}, n = {1, nan, inf, -inf, 0, -0.0} as f64, i = int64s,
 * b = bools, u = uint64s, s = a scalar, e = empty, t = w transposed by strides */
static float w[6] = {1, -2, 3, 4, 5, -6};
static double n[6];
static int64_t i64[3] = {INT64_MIN, 7, INT64_MAX};
static uint64_t u64[2] = {3, UINT64_MAX};
static uint8_t flags[4] = {0, 1, 2, 0};
static uint16_t half[3] = {0x3c00, 0xc000, 0x7c00}; /* 1, -2, inf */

static void lend(hotcb_env *env, const char *key, void *data, int code, int bits, int ndim,
                 const int64_t *shape, const int64_t *strides)
{
    hotcb_tensor t = {.data = data, .device_type = 1, .ndim = ndim, .type_code = (uint8_t)code,
                      .type_bits = (uint8_t)bits, .type_lanes = 1, .shape = shape,
                      .strides = strides};
    assert_int_equal(hotcb_env_tensor(env, key, &t), 0);
}

static void lend_all(hotcb_env *env)
{
    const int64_t two_three[] = {2, 3}, three_two[] = {3, 2}, one_three[] = {1, 3};
    const int64_t six[] = {6}, three[] = {3}, two[] = {2}, four[] = {4}, none[] = {3, 0};
    const double values[] = {1, (double)NAN, (double)INFINITY, -(double)INFINITY, 0, -0.0};
    memcpy(n, values, sizeof n);
    hotcb_env_f32(env, "model.w", w, 2, two_three);
    lend(env, "model.t", w, 2, 32, 2, three_two, one_three);
    hotcb_env_f64(env, "grads.n", n, 1, six);
    hotcb_env_num(env, "grads.number", 0.5);
    hotcb_env_f64(env, "grads.a", n, 1, six);
    hotcb_env_f32(env, "grads.gone", NULL, 1, six);
    hotcb_env_f32(env, "s", w + 2, 0, NULL);
    hotcb_env_f32(env, "e", w, 2, none);
    lend(env, "i", i64, 0, 64, 1, three, NULL);
    lend(env, "u", u64, 1, 64, 1, two, NULL);
    lend(env, "b", flags, 6, 8, 1, four, NULL);
    lend(env, "h", half, 2, 16, 1, three, NULL);
}

/* Code with the views as locals, and what it says. */
static const struct row {
    const char *code, *want;
} rows[] = {
    {"print(w, t, s, e, i, u, b, h)",
     "f32[2,3] f32[3,2] f32[] f32[3,0] i64[3] u64[2] bool[4] f16[3]"},
    {"print(type(w), getmetatable(w), w.data, w[1])", "userdata false nil nil"},
    {"print(w:dtype(), w:numel(), #w, #t, #s, #e, e:numel(), s:numel())", "f32 6 2 3 1 3 0 1"},
    {"print(table.concat(w:shape(), 'x'), #s:shape(), table.concat(e:shape(), 'x'))", "2x3 0 3x0"},
    {"print(w:get(1, 2), w:get(2, -1), t:get(2, 1), t:get(-1, 2), s:get())", "-2.0 -6.0 -2.0 -6.0 3.0"},
    {"print(i:get(1), i:get(3), math.type(i:get(2)))",
     "-9223372036854775808 9223372036854775807 integer"},
    {"print(u:get(1), math.type(u:get(2)), u:get(2) == 2.0^64)", "3 float true"},
    {"print(b:get(1), b:get(2), b:get(3))", "false true true"},
    {"print(h:get(1), h:get(2), h:get(3))", "1.0 -2.0 inf"},
    {"local x = w:stats() print(x.n, x.min, x.max, x.nan, x.inf, x.zeros)", "6 -6.0 5.0 0 0 0"},
    {"local x = w:stats() print(('%.6f %.6f %.6f'):format(x.mean, x.std, x.l2))",
     "0.833333 3.804237 9.539392"},
    {"local x = n:stats() print(x.n, x.mean, x.min, x.max, x.nan, x.inf, x.zeros, x.l2)",
     "6 0.33333333333333 0.0 1.0 1 2 2 1.0"},
    {"local x = e:stats() print(x.n, x.mean, x.std, x.min, x.max, x.l2)",
     "0 nan nan nan nan 0.0"},
    {"local x = i:stats() print(x.min, x.max, math.type(x.min))",
     "-9223372036854775808 9223372036854775807 integer"},
    {"local x = u:stats() print(x.min, math.type(x.max), x.max == 2.0^64)", "3 float true"},
    {"local x = b:stats() print(x.min, x.max, x.mean, x.zeros)", "0 1 0.5 2"},
    {"local x = h:stats() print(x.n, x.inf, x.mean, x.min, x.max)", "3 1 -0.5 -2.0 1.0"},
    {"local x = t:slice(2, 2, 2):stats() print(x.n, x.min, x.max)", "3 -6.0 5.0"},
    {"print(w:norm(1), w:norm(math.huge), t:norm(1))", "21.0 6.0 21.0"},
    {"print(('%.6f %.6f'):format(w:norm(), w:norm(2)))", "9.539392 9.539392"},
    {"print(n:norm(), h:norm(1), h:norm(), h:norm(math.huge), e:norm(), e:norm(1), e:norm(math.huge))",
     "nan inf inf inf 0.0 0.0 0.0"},
    {"local c, at = w:histogram(3, -6, 6) print(table.concat(c, ' '), table.concat(at, ' '))",
     "1 2 3 -6.0 -2.0 2.0 6.0"},
    {"local c, at = w:histogram(2) print(table.concat(c, ' '), table.concat(at, ' '))",
     "2 4 -6.0 -0.5 5.0"},
    {"local c, at = w:histogram() print(#c, #at, at[1], at[31])", "30 31 -6.0 5.0"},
    {"local c, at = n:histogram(2) print(table.concat(c, ' '), at[1], at[3])", "2 1 0.0 1.0"},
    {"local c, at = s:histogram(1) print(c[1], at[1], at[2])", "1 2.5 3.5"},
    {"local c, at = e:histogram(2) print(c[1], c[2], at[1], at[3])", "0 0 0.0 1.0"},
    {"local c = h:histogram(2, -2, 1) print(c[1], c[2])", "1 1"},
    {"print(w:slice(1, 2), w:slice(2, 2, 3), w:slice(2, -1), w:slice(1, 3), w:slice(2, 0, 99))",
     "f32[1,3] f32[2,2] f32[2,1] f32[0,3] f32[2,3]"},
    {"print(w:slice(1, 2):get(1, 1), w:slice(2, 2, 3):slice(1, 2, 2):get(1, -1))", "4.0 -6.0"},
    {"print(w:slice(2, math.mininteger, math.maxinteger), w:slice(2, 3, 2), w:slice(2, -2, -2))",
     "f32[2,3] f32[2,0] f32[2,1]"},
    {"print(w:pixels(-6, 5):byte(1, -1))", "162 93 209 232 255 0"},
    {"print(t:pixels(0, 4):byte(1, -1))", "64 255 0 255 191 0"},
    {"print(n:pixels(0, 1):byte(1, -1))", "255 0 255 0 0 0"},
    {"print(#e:pixels(0, 1))", "0"},
    {"local all = {} for k, v in pairs(env.grads) do all[#all + 1] = k .. '=' .. tostring(v) end "
     "print(table.concat(all, ' '))", "n=f64[6] number=0.5 a=f64[6]"},
    {"env.grads.mine = 1 env.grads.a = 'x' env.grads[5] = 2 local all = {} "
     "for k, v in pairs(env.grads) do all[#all + 1] = k .. '=' .. tostring(v) end "
     "print(all[1], all[2], all[3], #all)", "n=f64[6] number=0.5 a=x 5"},
    {"local step, group, key = pairs(env.model) print(step(group, key))", "w f32[2,3]"},
    {"local seen = 0 for k, v in pairs(env) do if type(v) == 'userdata' then seen = seen + 1 end "
     "end print(seen)", "6"},
};

static void open_with(struct rig *r, const char *code)
{
    char text[1000];
    rig_init(r);
    snprintf(text, sizeof text, "function handle(event, env) local w, t, n = env.model.w, "
             "env.model.t, env.grads.n local s, e, i, u, b, h = env.s, env.e, env.i, env.u, env.b, "
             "env.h %s end", code);
    rig_must_open(r, text);
    lend_all(r->env);
}

static void test_methods(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rig r;
        open_with(&r, rows[i].code);
        if (rig_handle(&r, "train_step_end") < 0)
            fail_msg("%s: %s", rows[i].code, r.fault.message);
        const char *said = rig_asked(&r);
        if (strcmp(said, rows[i].want) != 0)
            fail_msg("%s: \"%s\", not \"%s\"", rows[i].code, said, rows[i].want);
        rig_release(&r);
    }
}

static const struct row wrong[] = {
    {"w:get(1)", "get: 2 indices expected, one for each dimension"},
    {"w:get(1, 4)", "bad argument #2 to 'get' (dimension 2 has indices from 1 to 3)"},
    {"w:get(0, 1)", "bad argument #1 to 'get' (dimension 1 has indices from 1 to 2)"},
    {"w:get(-3, 1)", "dimension 1 has indices from 1 to 2"},
    {"e:get(1, 1)", "dimension 2 has indices from 1 to 0"},
    {"w:get(1, 'x')", "number expected"},
    {"w:get(1, math.maxinteger)", "dimension 2 has indices"},
    {"s:get(1)", "get: 0 indices expected"},
    {"w:norm(3)", "1, 2 or math.huge expected"},
    {"w:norm(0/0)", "1, 2 or math.huge expected"},
    {"w:histogram(0)", "1 to 4096 bins expected"},
    {"w:histogram(4097)", "1 to 4096 bins expected"},
    {"w:histogram(2, 1)", "number expected, got no value"},
    {"w:histogram(2, 1, 1)", "two finite numbers expected, the smaller first"},
    {"w:histogram(2, -math.huge, 1)", "two finite numbers expected"},
    {"w:histogram(2, 0/0, 1)", "two finite numbers expected"},
    {"w:slice(3, 1)", "a dimension from 1 to 2 expected"},
    {"w:slice(0, 1)", "a dimension from 1 to 2 expected"},
    {"s:slice(1, 1)", "a dimension from 1 to 0 expected"},
    {"w:slice(1)", "number expected"},
    {"w:pixels(1, 0)", "two finite numbers expected"},
    {"w.stats({})", "tensor expected, got table"},
    {"w.stats()", "tensor expected, got no value"},
    {"w.x = 5", "attempt to index a tensor value"},
    {"w.stats('x')", "tensor expected, got string"},
    {"print(w + 1)", "attempt to perform arithmetic on a tensor value"},
    {"setmetatable(w, {})", "table expected"},
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct rig r;
        open_with(&r, wrong[i].code);
        if (rig_handle(&r, "train_step_end") == 0)
            fail_msg("%s: was taken", wrong[i].code);
        rig_expect_fault(&r, HCB_RUNTIME, wrong[i].want);
        rig_release(&r);
    }
}

/* Each is tried on a view that an earlier call has kept. */
static const char *const uses[] = {
    "kept:stats()", "kept:norm()", "kept:histogram()", "kept:get(1, 1)", "kept:slice(1, 1)",
    "kept:shape()", "kept:dtype()", "kept:numel()", "return #kept", "kept:pixels(0, 1)",
    "part:stats()", "local w = env.model.w; kept:stats()",
};

static void test_a_view_dies_with_its_call(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(uses); i++) {
        char text[500];
        struct rig r;
        rig_init(&r);
        snprintf(text, sizeof text, "local kept, part function handle(event, env) if not kept then "
                 "kept = env.model.w part = kept:slice(1, 1) else %s end end", uses[i]);
        rig_must_open(&r, text);
        lend_all(r.env);
        assert_int_equal(rig_handle(&r, "train_step_end"), 0);
        lend_all(r.env);
        if (rig_handle(&r, "train_step_end") == 0)
            fail_msg("%s: was taken", uses[i]);
        rig_expect_fault(&r, HCB_RUNTIME, "a tensor holds only during the call that it was read in");
        rig_release(&r);
    }
}

static void test_a_kept_view_can_still_be_named(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_must_open(&r, "function handle(event, env) print(kept) kept = env.model.w end "
                      "function set_params() print(kept) end");
    lend_all(r.env);
    rig_expect(&r, "nil");
    rig_expect(&r, "f32[2,3]");
    rig_release(&r);
}

/* A row that is there many times takes far longer than the budget. The host's way of rounding
 * is left as it was, wherever the stop came. */
static void test_work_on_a_large_one_is_stopped(void **state)
{
    static const char *const jobs[] = {
        "big:stats()", "big:norm(1)", "big:histogram(100)", "pcall(big.stats, big)",
        "for i = 1, 1e9 do big:slice(2, 1, 1):stats() end",
        "for i = 1, 1e9 do big:slice(1, 1, 1000):pixels(0, 1) end",
    };
    (void)state;
    const int64_t shape[] = {INT64_C(1) << 40, 1024}, strides[] = {0, 1};
    for (size_t i = 0; i < COUNT(jobs); i++) {
        char text[300];
        static float row[1024];
        struct rig r;
        rig_init(&r);
        r.source.limits.time_ms = 30 * rig_slack();
        snprintf(text, sizeof text, "function handle(event, env) local big = env.big %s end",
                 jobs[i]);
        rig_must_open(&r, text);
        lend(r.env, "big", row, 2, 32, 2, shape, strides);
        fesetround(FE_UPWARD);
        if (rig_handle(&r, "train_step_end") == 0)
            fail_msg("%s: came to an end", jobs[i]);
        rig_expect_fault(&r, HCB_BUDGET, "it.lua:1: used up its CPU time");
        assert_int_equal(fegetround(), FE_UPWARD);
        fesetround(FE_TONEAREST);
        rig_release(&r);
    }
}

static int failing_at;

static int copy(void *user, void *to, const void *from, size_t bytes)
{
    (void)user;
    assert_true(bytes > 0 && bytes <= 65536);
    memcpy(to, from, bytes);
    return --failing_at == 0 ? -1 : 0;
}

static void test_a_device(void **state)
{
    (void)state;
    const int64_t shape[] = {2, 3}, down[] = {-3, 1};
    hotcb_tensor t = {.data = w + 3, .device_type = 2, .ndim = 2, .type_code = 2, .type_bits = 32,
                      .type_lanes = 1, .shape = shape, .strides = down};
    for (int fails = 0; fails <= 1; fails++) {
        struct rig r;
        failing_at = fails;
        rig_init(&r);
        rig_must_open(&r, "function handle(event, env) local t = env.t print(t:get(2, 1), "
                          "t:stats().min, t:slice(2, 2):norm(1), t:pixels(0, 1):byte(1, -1)) end");
        hotcb_env_device(r.env, 2, copy, NULL);
        assert_int_equal(hotcb_env_tensor(r.env, "t", &t), 0);
        if (!fails) {
            rig_expect(&r, "1.0 -6.0 16.0 255 255 0 255 0 255");
        } else {
            assert_int_equal(rig_handle(&r, "train_step_end"), -1);
            rig_expect_fault(&r, HCB_RUNTIME, "the host could not read the device");
        }
        rig_release(&r);
    }
}

static int lazy_tensor(void *user, hotcb_env *env, const char *key)
{
    const int64_t shape[] = {2, 3};
    (void)user;
    return hotcb_env_f32(env, key, w, 2, shape);
}

static void test_a_lazy_one(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_must_open(&r, "function handle(event, env) print(env.grads.lazy:norm(1)) end");
    hotcb_env_lazy(r.env, "grads.lazy", lazy_tensor, NULL);
    rig_expect(&r, "21.0");
    rig_expect(&r, "21.0");
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_a_view_dies_with_its_call),
        cmocka_unit_test(test_a_kept_view_can_still_be_named),
        cmocka_unit_test(test_work_on_a_large_one_is_stopped),
        cmocka_unit_test(test_a_device),
        cmocka_unit_test(test_a_lazy_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
