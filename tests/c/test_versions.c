/* Scripts that change while they run: which hooks are called when, what goes over to a
 * new version, and which one goes on where it does not load. */
#include "run_rig.h"

/* ---- hooks ----------------------------------------------------------------- */

#define HOOKS(version)                                                                       \
    "local T = { params = { { 'every', 10 } }, schedule = 'every', events = "                \
    "{ 'train_step_end' } }\n"                                                               \
    "function T:set_params() print('" version " set') end\n"                                 \
    "function T:on_attach(env) print('" version " attach', env.step) end\n"                  \
    "function T:handle(e, env) print('" version " handle', env.step) end\n"                  \
    "function T:save() print('" version " save') return { n = 1 } end\n"                     \
    "function T:restore(t) print('" version " restore', t.n) end\n"                          \
    "function T:close() print('" version " close') hotcb.disable() end return T\n"

/* on_attach comes at the first apply, due or not, and close once. */
static void test_hooks_over_a_life(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", HOOKS("v1"));
    run_must(&r, "{'op':'disable','id':'a'}");
    free(run_log_take(&r));
    run_apply(&r, "fit_start");
    assert_string_equal(hcb_buf_text(&r.log), ""); /* off: not yet */
    run_must(&r, "{'op':'enable','id':'a'}");
    free(run_log_take(&r));
    run_apply(&r, "fit_start");
    run_steps(&r, 9, 10);
    assert_string_equal(hcb_buf_text(&r.log), "a: v1 attach nil\na: v1 handle 10\n");
    free(run_log_take(&r));
    run_script("a", HOOKS("v2"));
    run_steps(&r, 11, 20);
    char *log = run_log_take(&r);
    assert_int_equal(strncmp(log, "a: v2 set\na: v1 save\na: v2 restore 1\na: v1 close\n", 49), 0);
    assert_non_null(strstr(log, "a: v2 attach 11\na: v2 handle 20\n"));
    free(log);
    run_expect_state(&r, "a", "on", true); /* a close that disables is too late */
    run_close(&r);
    assert_string_equal(hcb_buf_text(&r.log), "a: v2 close\n");
    const struct hcb_value *cb = hcb_map_get(run_status(&r), "callbacks")->u.list.v;
    assert_int_equal(hcb_map_int(hcb_map_get(cb, "params"), "every", 0), 10);
    assert_string_equal(hcb_map_text(&r.status, "state", ""), "closed");
    run_release(&r);
}

/* What a close() of the last moment asks for is done and written down. */
static void test_effects_of_close(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "local T = {} function T:handle() end function T:close() hotcb.stop('late') "
                      "hotcb.scalar('last', 1) hotcb.artifact('f', 'x') end return T");
    run_load(&r, "b", "local T = {} function T:handle() end function T:close() error('no') end "
                      "return T");
    run_close(&r);
    assert_string_equal(run_ledger(), "load a applied|load b applied|stop a applied");
    assert_file("run/artifacts/a/f", "x");
    char *metrics = file_read("run/hotcb.metrics.jsonl");
    assert_int_equal(count_of(metrics, "\"key\":\"last\""), 1);
    free(metrics);
    assert_int_equal(run_logged(&r, "-: [b] close() failed: "), 1);
    run_release(&r);
}

static void test_unload_and_replace_close(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", HOOKS("v1"));
    run_load(&r, "a", HOOKS("v2")); /* replaced: a new life, nothing is handed over */
    assert_int_equal(run_logged(&r, "save"), 0);
    assert_int_equal(run_logged(&r, "v1 close"), 1);
    assert_int_equal(run_number(&r, "a", "version"), 1);
    run_must(&r, "{'op':'unload','id':'a'}");
    assert_int_equal(run_logged(&r, "v2 close"), 1);
    assert_null(run_callback(&r, "a"));
    assert_string_equal(run_ledger(), "load a applied|load a applied|unload a applied");
    run_release(&r);
}

static void test_on_attach_that_fails(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "return { on_attach = function() error('not here') end, handle = function() "
                      "print('handled') end }");
    run_steps(&r, 1, 2);
    run_expect_state(&r, "a", "FAILED", true);
    assert_int_equal(run_logged(&r, "handled"), 0);
    run_release(&r);
}

/* ---- versions -------------------------------------------------------------- */

#define COUNTER(version, more)                                                               \
    "local T = { params = { { 'every', 1 } } } local n = 0\n"                                \
    "function T:handle() n = n + 1 print('" version " n=' .. n .. ' every=' .. self.every) end\n" \
    "function T:save() return { n = n } end\n"                                               \
    "function T:restore(t) n = t.n " more " end return T\n"

static void test_reload(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", COUNTER("v1", ""));
    run_must(&r, "{'op':'set_params','id':'a','params':{'every':5}}");
    run_steps(&r, 1, 2);
    run_script("a", COUNTER("v2", ""));
    run_steps(&r, 3, 3);
    assert_int_equal(run_logged(&r, "a: v2 n=3 every=5\n"), 1);

    /* Broken, emptied, gone: the last good version goes on, said once. */
    run_script("a", "return {");
    run_steps(&r, 4, 13);
    assert_int_equal(run_logged(&r, "a: v2 n=13 every=5\n"), 1);
    assert_int_equal(run_logged(&r, "the version that ran goes on"), 1);
    assert_non_null(strstr(hcb_map_text(run_callback(&r, "a"), "pending", ""), "a.lua:1:"));
    run_script("a", "");
    run_steps(&r, 14, 15);
    assert_int_equal(unlink(run_path("a.lua")), 0);
    run_steps(&r, 16, 17);
    run_expect_state(&r, "a", "on", true);

    /* Back to what runs: nothing to do, and nothing pending any more. */
    run_script("a", COUNTER("v2", ""));
    run_steps(&r, 18, 18);
    assert_int_equal(run_logged(&r, "a: v2 n=18 every=5\n"), 1);
    assert_int_equal(hcb_map_get(run_callback(&r, "a"), "pending")->type, HCB_NULL);
    assert_int_equal(run_number(&r, "a", "version"), 2);

    /* A restore that fails costs the state, also the half it restored. */
    run_script("a", COUNTER("v3", "error('not mine')"));
    run_steps(&r, 19, 19);
    assert_int_equal(run_logged(&r, "a: v3 n=1 every=5\n"), 1);
    assert_int_equal(run_logged(&r, "restore() failed, the new version starts afresh"), 1);
    run_script("a", COUNTER("v4", "while true do end"));
    run_steps(&r, 20, 20);
    assert_int_equal(run_logged(&r, "a: v4 n=1 every=5\n"), 1);
    assert_int_equal(run_number(&r, "a", "version"), 4);
    assert_string_equal(run_ledger(), "load a applied|set_params a applied|reload a applied|"
                                      "reload a rejected|reload a applied|reload a applied");
    run_release(&r);
}

/* A version that takes other parameters keeps those that still fit, and says so. */
static void test_reload_with_other_parameters(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "return { params = { { 'a', 1 }, { 'b', 2 } }, handle = print }");
    run_must(&r, "{'op':'set_params','id':'a','params':{'a':7,'b':8}}");
    run_script("a", "return { params = { { 'b', 2, max = 5 }, { 'a', 1 }, { 'c', 3 } }, "
                    "handle = print }");
    run_steps(&r, 1, 1);
    const struct hcb_value *params = hcb_map_get(run_callback(&r, "a"), "params");
    assert_int_equal(hcb_map_int(params, "a", 0), 7);
    assert_int_equal(hcb_map_int(params, "b", 0), 2);
    assert_int_equal(hcb_map_int(params, "c", 0), 3);
    assert_int_equal(run_logged(&r, "left out: b\n"), 1);
    run_release(&r);
}

/* A schedule with another interval counts from where the run is. */
static void test_reload_with_another_interval(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "return { params = { { 'every', 1000 } }, schedule = 'every', "
                      "handle = function(s, e, env) print('due', env.step) end }");
    run_steps(&r, 0, 3);
    run_script("a", "return { params = { { 'every', 10 } }, schedule = 'every', "
                    "handle = function(s, e, env) print('due', env.step) end }");
    run_steps(&r, 4, 12);
    assert_int_equal(run_logged(&r, "a: due 0\n"), 1);
    assert_int_equal(run_logged(&r, "a: due 10\n"), 1);
    assert_int_equal(run_logged(&r, "a: due"), 2);
    run_release(&r);
}

/* An edited helper reloads those that required it; also one that was required late. */
static void test_helpers(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    scratch_write(run_path("early.lua"), "return 'e1'");
    scratch_write(run_path("late.lua"), "return 'l1'");
    run_load(&r, "a", "local e = require 'early' function handle() print(e, require 'late') end");
    run_load(&r, "b", "function handle() print('b') end");
    run_steps(&r, 1, 1);
    scratch_replace(run_path("early.lua"), "return 'e2'");
    run_steps(&r, 2, 2);
    scratch_replace(run_path("late.lua"), "return 'l2'");
    run_steps(&r, 3, 3);
    assert_int_equal(run_logged(&r, "a: e1 l1\n"), 1);
    assert_int_equal(run_logged(&r, "a: e2 l1\n"), 1);
    assert_int_equal(run_logged(&r, "a: e2 l2\n"), 1);
    scratch_replace(run_path("early.lua"), "return nil +");
    run_steps(&r, 4, 4);
    assert_int_equal(run_logged(&r, "a: e2 l2\n"), 2);
    scratch_replace(run_path("early.lua"), "return 'e3'");
    run_steps(&r, 5, 5);
    assert_int_equal(run_logged(&r, "a: e3 l2\n"), 1);
    assert_int_equal(run_number(&r, "b", "version"), 1);
    run_release(&r);
}

/* However many names a script tries, few files are looked at for it. */
static void test_too_many_names(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "local n = 0 function handle() n = n + 1\n"
                      "for i = 1, 300 do ok, why = pcall(require, 'm' .. i + n) end\n"
                      "print(n, why) end");
    run_steps(&r, 1, 1);
    assert_int_equal(run_logged(&r, "a: 1 require 'm301': too many names: at most 256 "), 1);
    run_script("m5", "return 5");
    run_steps(&r, 2, 3);
    assert_int_equal(run_logged(&r, "too many names"), 3);
    assert_string_equal(run_ledger(), "load a applied|reload a applied");
    run_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(test_hooks_over_a_life),
        WITH_SCRATCH(test_effects_of_close),
        WITH_SCRATCH(test_unload_and_replace_close),
        WITH_SCRATCH(test_on_attach_that_fails),
        WITH_SCRATCH(test_reload),
        WITH_SCRATCH(test_reload_with_other_parameters),
        WITH_SCRATCH(test_reload_with_another_interval),
        WITH_SCRATCH(test_helpers),
        WITH_SCRATCH(test_too_many_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
