/* What counts is what hotcb.yaml says last, whatever it said before, and however much of that
 * was in vain: a run that saw it change has in the end what one has that reads only the end. */
#include "base/clock.h"
#include "run_rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define GOOD(name) "return { name = '" name "', params = { { 'n', 1, min = 0 }, { 'q', 5 } }, " \
                   "handle = function() end }"
#define NEVER_1_AGAIN "local was return { name = 'N', params = { { 'n', 1 } }, " \
                      "handle = function() end, set_params = function(self) " \
                      "if was and self.n == 1 then error('never') end was = true end }"
#define WANTS(file, more) "callbacks: { a: { target: { kind: lua_file, path: " file " }" more " } }"

/* Each in a look of its own. */
static const struct {
    const char *file, *text;
} ways[][7] = {
    /* a value, or a limit, that came and went while the script did not load */
    {{"a.lua", "no Lua"}, {"hotcb.yaml", WANTS("a.lua", "")},
     {"hotcb.yaml", WANTS("a.lua", ", params: { z: 1 }, limits: { time_ms: 77 }")},
     {"hotcb.yaml", WANTS("a.lua", "")}, {"a.lua", GOOD("A")}},
    {{"a.lua", GOOD("A")}, {"hotcb.yaml", WANTS("a.lua", "")},
     {"hotcb.yaml", WANTS("b.lua", "")}, {"hotcb.yaml", WANTS("b.lua", ", params: { z: 1 }")},
     {"hotcb.yaml", WANTS("b.lua", "")}, {"b.lua", GOOD("B")}},
    /* what was wrong with another target's values is mended */
    {{"a.lua", GOOD("A")}, {"b.lua", GOOD("B")}, {"hotcb.yaml", WANTS("a.lua", "")},
     {"hotcb.yaml", WANTS("b.lua", ", params: { n: -1 }")},
     {"hotcb.yaml", WANTS("b.lua", ", params: { n: 7 }")}},
    {{"a.lua", GOOD("A")}, {"b.lua", "coroutine.wrap(print)() " GOOD("B")},
     {"hotcb.yaml", WANTS("a.lua", "")}, {"hotcb.yaml", WANTS("b.lua", "")},
     {"hotcb.yaml", WANTS("b.lua", ", limits: { coroutines: true }")}},
    /* whether it is enabled is said once, and another target twice in vain */
    {{"a.lua", GOOD("A")}, {"hotcb.yaml", WANTS("a.lua", "")},
     {"hotcb.yaml", WANTS("b.lua", ", enabled: false")},
     {"hotcb.yaml", WANTS("b.lua", ", enabled: false, init: { q: 6 }")}, {"b.lua", GOOD("B")}},
    /* the last value is taken away in vain, and again once that can be done */
    {{"a.lua", NEVER_1_AGAIN}, {"hotcb.yaml", WANTS("a.lua", ", params: { n: 5 }")},
     {"hotcb.yaml", WANTS("a.lua", "")}, {"a.lua", GOOD("A")},
     {"hotcb.yaml", WANTS("a.lua", "") " # again"}},
};

/* What hotcb.yaml settles of it, as text. */
static char *settled(struct run *r)
{
    const char *const keys[] = {"state", "enabled", "name", "path", "params", "limits", "pending"};
    const struct hcb_value *cb = run_callback(r, "a");
    struct hcb_buf b = {0};
    assert_non_null(cb);
    hcb_buf_printf(&b, "%s\n", hcb_map_text(hcb_map_get(cb, "error"), "message", "fine"));
    for (size_t i = 0; i < COUNT(keys); i++) {
        hcb_buf_printf(&b, "%s ", keys[i]);
        hcb_json_value(&b, hcb_map_get(cb, keys[i]));
        hcb_buf_char(&b, '\n');
    }
    return hcb_buf_take(&b);
}

static void test_the_last_word(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct run r, fresh;
        unlink(run_path("b.lua"));
        run_start(&r);
        for (size_t k = 0; k < COUNT(ways[i]) && ways[i][k].file; k++) {
            scratch_replace(run_path(ways[i][k].file), ways[i][k].text);
            run_steps(&r, (int64_t)k, (int64_t)k);
        }
        char *changed = settled(&r);
        run_release(&r);
        run_start(&fresh);
        run_steps(&fresh, 0, 0);
        char *read = settled(&fresh);
        assert_string_equal(changed, read);
        assert_null(strstr(read, "FAILED"));
        free(changed);
        free(read);
        run_release(&fresh);
        unlink(run_path("hotcb.yaml"));
    }
}

/* What a command wants of a callback that does not load is refused, and leaves nothing. */
static void test_refused_is_not_kept(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_script("a", GOOD("A"));
    scratch_replace(run_path("hotcb.yaml"), WANTS("a.lua", ", params: { n: -1 }"));
    run_steps(&r, 0, 0);
    char *before = settled(&r);
    assert_int_equal(run_command(&r, "{'op':'set_limits','id':'a','limits':{'time_ms':77}}"),
                     HOTCB_EREFUSED);
    assert_int_equal(run_command(&r, "{'op':'set_params','id':'a','params':{'n':-7}}"),
                     HOTCB_EREFUSED);
    char *after = settled(&r);
    assert_string_equal(before, after);
    free(before);
    free(after);
    run_release(&r);
}

#define ASKS "hotcb.stop('no') hotcb.disable() hotcb.log('info', 'said') "

/* What a version asked for that never took over does not count, but for what it said. */
static void test_asked_in_vain(void **state)
{
    static const char *const broken[] = {
        ASKS "error('no')", ASKS "while true do end", ASKS "return 5",
        "function handle() end function set_params() " ASKS "error('no') end",
        "return { handle = print, set_params = print, "
        "restore = function() " ASKS "error('no') end }",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(broken); i++) {
        struct run r;
        run_start(&r);
        run_load(&r, "a", "return { handle = function() end, set_params = function() end, "
                          "save = function() return { 1 } end }");
        run_must(&r, "{'op':'enable','id':'a'}");
        run_must(&r, "{'op':'set_params','id':'a','params':{'n':1}}");
        run_script("a", broken[i]);
        run_steps(&r, 0, 1);
        assert_null(hotcb_stop_reason(r.h));
        run_expect_state(&r, "a", "on", true);
        assert_int_equal(run_logged(&r, "a: said\n"), 1);

        run_script("c", broken[i]); /* nor of one that is the first */
        run_command(&r, "{'op':'load','id':'c','target':{'kind':'lua_file','path':'c.lua'},"
                        "'params':{'n':1}}");
        assert_null(hotcb_stop_reason(r.h));
        run_release(&r);
        unlink(run_path("hotcb.state.json"));
    }
}

/* To be off does not wait for another target that does not load. */
static void test_disabled_at_once(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_script("a", "function handle() print('called') end");
    scratch_replace(run_path("hotcb.yaml"), WANTS("a.lua", ""));
    run_steps(&r, 0, 0);
    assert_int_equal(run_logged(&r, "a: called"), 1);
    unlink(run_path("b.lua"));
    scratch_replace(run_path("hotcb.yaml"), WANTS("b.lua", ", enabled: false"));
    run_steps(&r, 1, 3);
    assert_int_equal(run_logged(&r, "a: called"), 1);
    assert_int_equal(run_logged(&r, "the version that runs is disabled, as is wanted"), 1);
    run_expect_state(&r, "a", "off", false);
    scratch_replace(run_path("hotcb.yaml"), WANTS("b.lua", ", enabled: true"));
    run_steps(&r, 4, 5);
    assert_true(run_logged(&r, "a: called") >= 2); /* the version that ran, until b.lua is there */
    run_release(&r);
    unlink(run_path("hotcb.yaml"));
    unlink(run_path("hotcb.state.json"));
}

static void expect_params(struct run *r, const char *json)
{
    struct hcb_buf b = {0};
    hcb_json_value(&b, hcb_map_get(run_callback(r, "a"), "params"));
    assert_string_equal(hcb_buf_text(&b), json);
    hcb_buf_release(&b);
}

/* Values that a command sets while another target does not load are its, too, once it does; but
 * for those that it does not know, and those that hotcb.yaml sets later. */
static void test_set_meanwhile(void **state)
{
    (void)state;
    for (int resumed = 0; resumed < 2; resumed++) {
        struct run r;
        run_start(&r);
        run_script("a", "return { name = 'A', params = { { 'n', 1 }, { 'q', 5 }, { 'm', 6 }, "
                        "{ 'k', 7 }, { 'old', 0 } }, handle = function() end }");
        scratch_replace(run_path("hotcb.yaml"), WANTS("a.lua", ""));
        run_steps(&r, 0, 0);
        unlink(run_path("b.lua"));
        scratch_replace(run_path("hotcb.yaml"), WANTS("b.lua", ", params: { k: 70 }"));
        run_steps(&r, 1, 1);
        run_must(&r, "{'op':'set_params','id':'a','params':{'n':2,'q':3,'old':4}}");
        run_must(&r, "{'op':'set_params','id':'a','params':{'m':9,'k':null,'n':4}}");
        scratch_replace(run_path("hotcb.yaml"), WANTS("b.lua", ", params: { k: 70, q: 8 }"));
        run_steps(&r, 2, 2);
        if (resumed) {
            run_release(&r);
            run_init(&r);
            r.opt.resume = 1;
            run_open(&r);
            run_steps(&r, 3, 3);
        }
        scratch_replace(run_path("b.lua"),
                        "return { name = 'B', params = { { 'q', 0 }, { 'n', 0 }, { 'k', 11 }, "
                        "{ 'm', 1, max = 5 } }, handle = function() end }");
        run_steps(&r, 4, 5);
        expect_params(&r, "{\"q\":8,\"n\":4,\"k\":11,\"m\":1}");
        assert_int_equal(run_logged(&r, "was set in the version before, and is left out"), 2);
        run_release(&r);
        unlink(run_path("hotcb.yaml"));
        unlink(run_path("hotcb.state.json"));
    }
}

/* Why another target does not load may be elsewhere than in its file; here it takes time. */
static void test_reload_of_what_waits(void **state)
{
    struct run r;
    char text[300];
    (void)state;
    run_start(&r);
    run_script("a", GOOD("A"));
    scratch_replace(run_path("hotcb.yaml"), WANTS("a.lua", ""));
    run_steps(&r, 0, 0);
    snprintf(text, sizeof(text), "if hotcb.clock() < %.3f then error('not yet') end %s",
             (double)hcb_clock_ns() / 1e9 + 0.3, GOOD("B"));
    scratch_replace(run_path("b.lua"), text);
    scratch_replace(run_path("hotcb.yaml"), WANTS("b.lua", ""));
    run_steps(&r, 1, 1);
    assert_string_equal(hcb_map_text(run_callback(&r, "a"), "name", ""), "A");
    usleep(350000);
    run_must(&r, "{'op':'reload','id':'a'}");
    assert_string_equal(hcb_map_text(run_callback(&r, "a"), "name", ""), "B");
    run_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(test_the_last_word),
        WITH_SCRATCH(test_refused_is_not_kept),
        WITH_SCRATCH(test_asked_in_vain),
        WITH_SCRATCH(test_disabled_at_once),
        WITH_SCRATCH(test_set_meanwhile),
        WITH_SCRATCH(test_reload_of_what_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
