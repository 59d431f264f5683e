/* Events that are for nobody are passed over by a plan of who comes next. Two runs are led
 * through the same life, one of them without a plan: each callback must hear the same. */
#include "controller/run.h"
#include "scratch.h"

#define CALLBACKS 6
#define LIVES 60
#define EVENTS_OF_A_LIFE 300

struct life {
    hotcb *h;
    hotcb_env *env;
    struct hcb_buf heard;
};

static void hear(void *user, enum hotcb_level level, const char *callback, const char *line)
{
    struct life *l = user;
    (void)level;
    if (callback)
        hcb_buf_printf(&l->heard, "%s %s\n", callback, line);
}

/* Of every kind: with and without a schedule, of one event or all. */
static const char *const texts[CALLBACKS] = {
    "params = { { 'every', 5 } }, schedule = 'every'",
    "params = { { 'every', 3 } }, schedule = 'every', events = { 'train_step_end' }",
    "params = { { 'every', 7 } }, schedule = 'every', events = { 'grads_ready', 'own' }",
    "params = { { 'every', 0 } }, events = { 'own' }",
    "params = { { 'every', 2 } }, schedule = 'every', events = { 'val_step_end' }",
    "params = { { 'every', 1 } }, events = { 'checkpoint', 'epoch_end' }",
};

static void life_begin(struct life *l, const char *dir, bool looks)
{
    hotcb_options opt = HOTCB_OPTIONS_INIT;
    memset(l, 0, sizeof *l);
    opt.dir = dir;
    opt.log = hear;
    opt.log_user = l;
    opt.poll_interval_ms = looks ? -1 : 3600000;
    assert_int_equal(hotcb_open(&l->h, &opt), 0);
    l->env = hotcb_env_new();
}

static void life_end(struct life *l)
{
    hotcb_close(l->h);
    hotcb_env_free(l->env);
    hcb_buf_release(&l->heard);
}

static void write_scripts(const char *dir)
{
    char path[200], text[400];
    for (int i = 0; i < CALLBACKS; i++) {
        snprintf(path, sizeof path, "%s/c%d.lua", dir, i);
        snprintf(text, sizeof text, "return { %s, handle = function(self, event, env) "
                 "print(event, env.step) if env.bad == %d then error('bad') end end }",
                 texts[i], i);
        scratch_replace(path, text);
    }
}

/* xorshift: both lives draw the same. */
static unsigned draw(uint64_t *seed, unsigned n)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (unsigned)(*seed % n);
}

static void command(struct life *l, uint64_t *seed)
{
    char json[200];
    int id = (int)draw(seed, CALLBACKS);
    switch (draw(seed, 5)) {
    case 0: snprintf(json, sizeof json, "{\"op\":\"disable\",\"id\":\"c%d\"}", id); break;
    case 1: snprintf(json, sizeof json, "{\"op\":\"enable\",\"id\":\"c%d\"}", id); break;
    case 2: snprintf(json, sizeof json, "{\"op\":\"unload\",\"id\":\"c%d\"}", id); break;
    case 3:
        snprintf(json, sizeof json, "{\"op\":\"set_params\",\"id\":\"c%d\",\"params\":{\"every\":"
                 "%u}}", id, draw(seed, 9));
        break;
    default:
        snprintf(json, sizeof json, "{\"op\":\"load\",\"id\":\"c%d\",\"target\":{\"kind\":"
                 "\"lua_file\",\"path\":\"c%d.lua\"}}", id, id);
    }
    hotcb_command(l->h, json); /* refused where there is no such callback */
}

static void lead(struct life *l, uint64_t seed, bool planned)
{
    static const char *const events[] = {
        "train_step_end", "train_step_end", "step_end", "grads_ready", "val_step_end", "own",
        "checkpoint", "epoch_end", "another",
    };
    int64_t step = 0;
    for (int i = 0; i < EVENTS_OF_A_LIFE; i++) {
        if (i < 8 || draw(&seed, 12) == 0)
            command(l, &seed);
        step += draw(&seed, 3);
        if (draw(&seed, 40) == 0)
            step -= draw(&seed, 30);
        if (draw(&seed, 10) > 0)
            hotcb_env_step(l->env, step);
        if (draw(&seed, 50) == 0)
            hotcb_env_int(l->env, "bad", draw(&seed, CALLBACKS));
        if (!planned)
            l->h->planned = 0;
        hotcb_apply(l->h, l->env, events[draw(&seed, 9)]);
    }
}

static void test_a_plan_changes_nothing(void **state)
{
    char dirs[2][200];
    size_t heard = 0;
    (void)state;
    for (unsigned i = 0; i < LIVES; i++) {
        struct life lives[2];
        for (int j = 0; j < 2; j++) {
            char name[40];
            snprintf(name, sizeof name, "run%u.%d", i, j);
            snprintf(dirs[j], sizeof dirs[j], "%s", scratch(name));
            life_begin(&lives[j], dirs[j], i % 4 == 0);
            write_scripts(dirs[j]);
            lead(&lives[j], 0x9e3779b97f4a7c15u * (i + 1), j == 0);
        }
        if (strcmp(hcb_buf_text(&lives[0].heard), hcb_buf_text(&lives[1].heard)) != 0)
            fail_msg("life %u:\n%s---- without a plan:\n%s", i, hcb_buf_text(&lives[0].heard),
                     hcb_buf_text(&lives[1].heard));
        assert_true(lives[0].h->cost.applies == lives[1].h->cost.applies);
        heard += lives[0].heard.len;
        life_end(&lives[0]);
        life_end(&lives[1]);
    }
    assert_true(heard > LIVES * 500);
}

/* What the plan is for: of many callbacks nobody is asked until one is due. */
static void test_nobody_is_asked(void **state)
{
    struct life l;
    char dir[200];
    (void)state;
    snprintf(dir, sizeof dir, "%s", scratch("run"));
    life_begin(&l, dir, false);
    write_scripts(dir);
    hotcb_command(l.h, "{\"op\":\"load\",\"id\":\"c0\",\"target\":{\"kind\":\"lua_file\",\"path\":"
                       "\"c0.lua\"},\"init\":{\"every\":100}}");
    for (int64_t step = 1; step <= 1000; step++) {
        hotcb_env_step(l.env, step);
        hotcb_apply(l.h, l.env, "train_step_end");
        if (step > 2 && step % 100 != 0)
            assert_true(l.h->planned >> HCB_TRAIN_STEP_END & 1);
    }
    assert_int_equal(l.h->plans[HCB_TRAIN_STEP_END].next, 1100);
    assert_int_equal(l.h->cost.applies, 1000);
    life_end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_plan_changes_nothing, scratch_make, scratch_drop),
        cmocka_unit_test_setup_teardown(test_nobody_is_asked, scratch_make, scratch_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
