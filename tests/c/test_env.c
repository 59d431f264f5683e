/* What a host says of a step, and how long it holds; event names. */
#include "env/env.h"
#include "env/event.h"
#include "scratch.h"

#include <math.h>

static const struct hcb_slot *read_key(hotcb_env *env, const char *group, const char *key)
{
    int g = *group ? hcb_env_find_group(env, group, strlen(group)) : 0;
    return g < 0 ? NULL : hcb_env_read(env, g, key, strlen(key));
}

struct key_row {
    const char *key;         /* as the host says it */
    const char *group, *name; /* where a script finds it; NULL: refused */
};

static const struct key_row key_rows[] = {
    {"loss", "", "loss"},
    {"metrics.lr", "metrics", "lr"},
    {"grads.layers.0.weight", "grads", "layers.0.weight"},
    {"loss.ce", "", "loss.ce"},
    {"metricsx.lr", "", "metricsx.lr"},
    {".lr", "", ".lr"},
    {"lr.", "", "lr."},
    {"outputs..x", "outputs", ".x"},
    {"own.x", "own", "x"},
    {"\xff", "", "\xff"},
    {"", NULL, NULL},
    {NULL, NULL, NULL},
    {"metrics", NULL, NULL},
    {"metrics.", NULL, NULL},
    {"log", NULL, NULL},
    {"metrics.log", "metrics", "log"},
    {"log.x", "", "log.x"},
    {"framework", "", "framework"},
};

static void test_keys(void **state)
{
    (void)state;
    hotcb_env *env = hotcb_env_new();
    assert_int_equal(hotcb_env_group(env, "own"), 0);
    for (size_t i = 0; i < sizeof(key_rows) / sizeof(key_rows[0]); i++) {
        const struct key_row *row = &key_rows[i];
        assert_int_equal(hotcb_env_int(env, row->key, (int)i), row->name ? 0 : HOTCB_EINVAL);
        if (!row->name)
            continue;
        const struct hcb_slot *slot = read_key(env, row->group, row->name);
        assert_non_null(slot);
        assert_int_equal(slot->u.i, i);
    }
    char large[300];
    memset(large, 'k', sizeof(large));
    large[255] = '\0';
    assert_int_equal(hotcb_env_int(env, large, 1), 0);
    large[255] = 'k';
    large[256] = '\0';
    assert_int_equal(hotcb_env_int(env, large, 1), HOTCB_EINVAL);
    hotcb_env_free(env);
}

static void test_types(void **state)
{
    (void)state;
    hotcb_env *env = hotcb_env_new();
    assert_int_equal(hotcb_env_int(env, "k", INT64_MIN), 0);
    assert_int_equal(read_key(env, "", "k")->type, HCB_SLOT_INT);
    assert_true(read_key(env, "", "k")->u.i == INT64_MIN);
    assert_int_equal(hotcb_env_num(env, "k", NAN), 0);
    assert_int_equal(read_key(env, "", "k")->type, HCB_SLOT_NUM);
    assert_int_equal(hotcb_env_bool(env, "k", 256), 0);
    assert_true(read_key(env, "", "k")->u.b);
    assert_int_equal(hotcb_env_str(env, "k", "text"), 0);
    assert_string_equal(read_key(env, "", "k")->text, "text");
    assert_int_equal(hotcb_env_str(env, "k", ""), 0);
    assert_int_equal(read_key(env, "", "k")->text_len, 0);
    assert_int_equal(hotcb_env_str(env, "k", NULL), HOTCB_EINVAL);
    hotcb_env_free(env);
}

static void test_how_long_a_value_holds(void **state)
{
    (void)state;
    hotcb_env *env = hotcb_env_new();
    hotcb_env_num(env, "loss", 1);
    hotcb_env_str(env, "phase", "train");
    assert_int_equal(hotcb_env_keep(env, "phase"), 0);
    assert_int_equal(hotcb_env_keep(env, "nothing"), HOTCB_ENOENT);
    hcb_env_end(env);
    assert_null(read_key(env, "", "loss"));
    assert_string_equal(read_key(env, "", "phase")->text, "train");
    assert_int_equal(hotcb_env_keep(env, "loss"), HOTCB_ENOENT);
    hcb_env_end(env);
    hotcb_env_str(env, "phase", "val"); /* set again, it stays again */
    hcb_env_end(env);
    hcb_env_end(env);
    assert_string_equal(read_key(env, "", "phase")->text, "val");
    assert_int_equal(hotcb_env_unset(env, "phase"), 0);
    assert_null(read_key(env, "", "phase"));
    hotcb_env_str(env, "phase", "test"); /* taken away, it is no constant any more */
    hcb_env_end(env);
    assert_null(read_key(env, "", "phase"));
    assert_int_equal(hotcb_env_unset(env, "never used"), 0);
    hotcb_env_free(env);
}

static void test_step(void **state)
{
    (void)state;
    hotcb_env *env = hotcb_env_new();
    assert_false(env->has_step);
    assert_null(read_key(env, "", "step"));
    hotcb_env_step(env, INT64_MAX);
    assert_true(env->has_step && env->step == INT64_MAX);
    assert_true(read_key(env, "", "step")->u.i == INT64_MAX);
    hcb_env_end(env);
    assert_false(env->has_step);
    assert_null(read_key(env, "", "step"));
    hotcb_env_int(env, "step", -3);
    assert_true(env->has_step && env->step == -3);
    assert_int_equal(hotcb_env_num(env, "step", 12), 0);
    assert_true(env->step == 12 && read_key(env, "", "step")->type == HCB_SLOT_INT);
    assert_int_equal(hotcb_env_num(env, "step", 12.5), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_num(env, "step", NAN), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_num(env, "step", 1e300), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_str(env, "step", "12"), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_bool(env, "step", 1), HOTCB_EINVAL);
    assert_true(env->step == 12);
    hotcb_env_keep(env, "step");
    hcb_env_end(env);
    assert_true(env->has_step && env->step == 12);
    hotcb_env_unset(env, "step");
    assert_false(env->has_step);
    assert_int_equal(hotcb_env_num(env, "metrics.step", 0.5), 0);
    assert_false(env->has_step);
    hotcb_env_free(env);
}

static void test_groups(void **state)
{
    (void)state;
    hotcb_env *env = hotcb_env_new();
    hotcb_env_int(env, "own.a.b", 1);
    hotcb_env_keep(env, "own.a.b");
    hotcb_env_int(env, "owner", 2);
    assert_non_null(read_key(env, "", "own.a.b"));
    assert_int_equal(hotcb_env_group(env, "own"), 0);
    assert_null(read_key(env, "", "own.a.b")); /* it moved into the new group */
    assert_int_equal(read_key(env, "own", "a.b")->u.i, 1);
    assert_int_equal(read_key(env, "", "owner")->u.i, 2);
    assert_int_equal(hotcb_env_int(env, "own.a.b", 5), 0);
    assert_int_equal(read_key(env, "own", "a.b")->u.i, 5);
    assert_int_equal(hotcb_env_group(env, "own"), 0);
    assert_int_equal(hotcb_env_group(env, "metrics"), 0);
    static const char *const bad[] = {"", "a.b", "owner", "step", "log", "framework", NULL};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(hotcb_env_group(env, bad[i]), HOTCB_EINVAL);
    hotcb_env_free(env);
}

/* A provider and what it did. */
struct lazy {
    int calls;
    int rc;
    double value;
};

static int provide(void *user, hotcb_env *env, const char *key)
{
    struct lazy *lazy = user;
    lazy->calls++;
    hotcb_env_num(env, key, lazy->value);
    return lazy->rc;
}

static void test_lazy(void **state)
{
    (void)state;
    struct lazy lazy = {0, 0, 2.5};
    hotcb_env *env = hotcb_env_new();
    assert_int_equal(hotcb_env_lazy(env, "metrics.norm", provide, &lazy), 0);
    hcb_env_end(env);
    assert_int_equal(lazy.calls, 0);
    for (int apply = 1; apply <= 3; apply++) {
        assert_true(read_key(env, "metrics", "norm")->u.d == 2.5);
        assert_true(read_key(env, "metrics", "norm")->u.d == 2.5);
        assert_int_equal(lazy.calls, apply);
        hcb_env_end(env);
    }
    hotcb_env_num(env, "metrics.norm", 7); /* what the host sets itself goes first */
    assert_true(read_key(env, "metrics", "norm")->u.d == 7);
    assert_int_equal(lazy.calls, 3);
    hcb_env_end(env);
    lazy.rc = -1;
    assert_null(read_key(env, "metrics", "norm"));
    assert_null(read_key(env, "metrics", "norm"));
    assert_int_equal(lazy.calls, 4);
    hcb_env_end(env);
    assert_int_equal(hotcb_env_lazy(env, "metrics.norm", NULL, NULL), 0);
    assert_null(read_key(env, "metrics", "norm"));
    assert_int_equal(lazy.calls, 4);
    assert_int_equal(hotcb_env_lazy(env, "step", provide, &lazy), HOTCB_EINVAL);
    hotcb_env_free(env);
}

/* Sets a hundred other keys, asks for its own, and takes itself away. */
static int provide_much(void *user, hotcb_env *env, const char *key)
{
    int *calls = user;
    ++*calls;
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof(name), "more%d", i);
        hotcb_env_int(env, name, i);
    }
    if (hcb_env_read(env, 0, "busy", 4))
        return -1;
    hotcb_env_lazy(env, key, NULL, NULL);
    return hotcb_env_str(env, key, key);
}

static void test_a_busy_provider(void **state)
{
    (void)state;
    int calls = 0;
    hotcb_env *env = hotcb_env_new();
    hotcb_env_lazy(env, "busy", provide_much, &calls);
    assert_string_equal(read_key(env, "", "busy")->text, "busy");
    assert_int_equal(read_key(env, "", "more99")->u.i, 99);
    assert_int_equal(calls, 1);
    hcb_env_end(env);
    assert_null(read_key(env, "", "busy"));
    assert_null(read_key(env, "", "more0"));
    hotcb_env_free(env);
}

static void test_iteration(void **state)
{
    static const char *const names[] = {"zeta", "alpha", "mid", "lazy"};
    (void)state;
    struct lazy lazy = {0, 0, 1};
    hotcb_env *env = hotcb_env_new();
    int metrics = hcb_env_find_group(env, "metrics", 7);
    hotcb_env_int(env, "metrics.zeta", 1);
    hotcb_env_int(env, "loss", 1);
    hotcb_env_int(env, "metrics.alpha", 1);
    hotcb_env_int(env, "metrics.mid", 1);
    hotcb_env_lazy(env, "metrics.lazy", provide, &lazy);
    hcb_env_end(env);
    hotcb_env_int(env, "metrics.mid", 1); /* the order is that of the first use */
    hotcb_env_int(env, "metrics.alpha", 1);
    hotcb_env_int(env, "metrics.zeta", 1);
    size_t at = 0, n = 0;
    for (const struct hcb_slot *slot; (slot = hcb_env_next(env, metrics, &at)); n++)
        assert_string_equal(slot->key, names[n]);
    assert_int_equal(n, 4);
    hcb_env_end(env);
    lazy.rc = -1;
    at = 0;
    assert_null(hcb_env_next(env, metrics, &at));
    hotcb_env_free(env);
}

/* Thousands of keys are found again, and a warm env does not grow. */
static void test_many_keys(void **state)
{
    (void)state;
    hotcb_env *env = hotcb_env_new();
    size_t n = 0;
    for (int apply = 0; apply < 3; apply++) {
        for (int i = 0; i < 3000; i++) {
            char key[32];
            snprintf(key, sizeof(key), "%s%d", i % 2 ? "grads.k" : "k", i / 2);
            assert_int_equal(hotcb_env_int(env, key, i + apply), 0);
        }
        for (int i = 0; i < 3000; i++) {
            char key[32];
            snprintf(key, sizeof(key), "k%d", i / 2);
            assert_int_equal(read_key(env, i % 2 ? "grads" : "", key)->u.i, i + apply);
        }
        assert_int_equal(env->used_n, 3000);
        hcb_env_end(env);
        assert_null(read_key(env, "", "k0"));
        assert_true(apply == 0 || env->n == n);
        n = env->n;
    }
    hotcb_env_free(env);
}

static void test_null(void **state)
{
    (void)state;
    assert_int_equal(hotcb_env_step(NULL, 1), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_int(NULL, "k", 1), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_int(NULL, "step", 1), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_num(NULL, "k", 1), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_bool(NULL, "k", 1), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_str(NULL, "k", "v"), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_keep(NULL, "k"), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_unset(NULL, "k"), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_group(NULL, "k"), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_lazy(NULL, "k", provide, NULL), HOTCB_EINVAL);
    hotcb_env_free(NULL);
}

struct event_row {
    const char *name;
    int id;
};

static void test_events(void **state)
{
    static const struct event_row rows[] = {
        {"fit_start", HCB_FIT_START},
        {"train_step_end", HCB_TRAIN_STEP_END},
        {"train_batch_end", HCB_TRAIN_STEP_END},
        {"step_end", HCB_TRAIN_STEP_END},
        {"val_batch_end", HCB_VAL_STEP_END},
        {"train_begin", HCB_FIT_START},
        {"train_end", HCB_FIT_END},
        {"mine", HCB_EVENT_CANONICAL},
        {"yours", HCB_EVENT_CANONICAL + 1},
        {"mine", HCB_EVENT_CANONICAL},
        {"", -1},
        {"two words", -1},
        {"bell\a", -1},
        {"\xff", -1},
        {NULL, -1},
    };
    (void)state;
    struct hcb_events e;
    hcb_events_init(&e);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(hcb_event_id(&e, rows[i].name), rows[i].id);
    assert_string_equal(e.names[HCB_EVENT_CANONICAL], "mine");
    assert_false(e.seen[HCB_EVENT_CANONICAL]);
}

/* What scripts wait for leaves room for what the host emits. */
static void test_wanted_events(void **state)
{
    (void)state;
    struct hcb_events e;
    char name[32];
    hcb_events_init(&e);
    for (int i = HCB_EVENT_CANONICAL; i < HCB_EVENT_WANTED_MAX; i++) {
        snprintf(name, sizeof(name), "wanted%d", i);
        assert_int_equal(hcb_event_wanted(&e, name), i);
    }
    assert_int_equal(hcb_event_wanted(&e, "one_more"), -1);
    assert_int_equal(hcb_event_id(&e, "one_more"), HCB_EVENT_WANTED_MAX);
    assert_int_equal(hcb_event_wanted(&e, "one_more"), HCB_EVENT_WANTED_MAX);
    assert_int_equal(hcb_event_wanted(&e, "train_batch_end"), HCB_TRAIN_STEP_END);
}

static void test_too_many_events(void **state)
{
    (void)state;
    struct hcb_events e;
    char name[80];
    hcb_events_init(&e);
    memset(name, 'e', sizeof(name));
    name[64] = '\0';
    assert_int_equal(hcb_event_id(&e, name), -1);
    name[63] = '\0';
    assert_int_equal(hcb_event_id(&e, name), HCB_EVENT_CANONICAL);
    for (int i = HCB_EVENT_CANONICAL + 1; i < HCB_EVENT_MAX; i++) {
        snprintf(name, sizeof(name), "own%d", i);
        assert_int_equal(hcb_event_id(&e, name), i);
    }
    assert_int_equal(hcb_event_id(&e, "one_more"), -1);
    assert_int_equal(hcb_event_id(&e, "own20"), 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_how_long_a_value_holds),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_lazy),
        cmocka_unit_test(test_a_busy_provider),
        cmocka_unit_test(test_iteration),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_wanted_events),
        cmocka_unit_test(test_too_many_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
