/* One script: its two forms, the order of its hooks, what set, save and restore do
 * when they go wrong, and which text is accepted at all. */
#include "script_rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- forms ----------------------------------------------------------------- */

static const struct form_row {
    const char *text, *symbol;
    const char *want; /* what handle then logs, or a part of the refusal */
} form_rows[] = {
    {"function handle(event, env) print(event, type(env)) end", NULL, "train_step_end table"},
    {"handle = function(...) print(select('#', ...)) end", NULL, "2"},
    {"local T = {} function T:handle(e) print(self.id, e, self == T) end return T", NULL,
     "it train_step_end true"},
    {"return { handle = function(...) print(select('#', ...)) end }", NULL, "3"},
    {"function handle() print('global') end return { handle = function() print('table') end }",
     NULL, "table"},
    {"return { id = 'mine', handle = function(self) print(self.id) end }", NULL, "it"},
    {"return setmetatable({}, { __index = { handle = function() print('inherited') end } })", NULL,
     "inherited"},
    {"params = 5 name = 6 function handle() print(params, name) end", NULL, "5 6"},

    {"return { A = { handle = function(s) print('A', s.id) end } }", "A", "A it"},
    {"return { name = 'A', handle = function() print('by name') end }", "A", "by name"},
    {"return { name = 'A', handle = function() print('outer') end, A = { handle = error } }", "A",
     "outer"},
    {"return { A = {} }", "A", "has no function handle(event, env)"},
    {"return { A = {} }", "B", "it.lua: returns no table named 'B' (symbol)"},
    {"return { B = 5 }", "B", "returns no table named 'B' (symbol)"},
    {"return { name = 5 }", "B", "returns no table named 'B' (symbol)"},
    {"function handle() end", "A", "returns nothing, so there is no symbol to pick"},

    {"", NULL, "it.lua: is no callback: return a table with a function handle(event, env), or "
               "define a global function handle(event, env)"},
    {"-- nothing", NULL, "is no callback"},
    {"handle = 5", NULL, "is no callback"},
    {"return {}", NULL, "it.lua: the table it returns has no function handle(event, env)"},
    {"return { handle = {} }", NULL, "has no function handle"},
    {"return 5", NULL, "must return a table, or nothing and define global functions"},
    {"return false", NULL, "must return a table, or nothing"},
    {"return 'x'", NULL, "must return a table, or nothing"},
    {"return { name = 5, handle = print }", NULL, "it.lua: 'name' must be text"},
    {"return { name = ('x'):rep(201), handle = print }", NULL,
     "'name' must be text of at most 200 bytes"},
    {"return { events = { ('x'):rep(20000) }, handle = print }", NULL,
     "'events' must be a list of event names"},
    {"local e = {} for i = 1, 257 do e[i] = 'x' end return { events = e, handle = print }", NULL,
     "'events' must be a list of event names"},
    {"return { params = 5, handle = print }", NULL, "'params' must be a table of rows"},
    {"return { events = 'fit_end', handle = print }", NULL,
     "'events' must be a list of event names"},
    {"return { events = { 5 }, handle = print }", NULL, "'events' must be a list of event names"},
    {"return { schedule = 5, handle = print }", NULL, "'schedule' must be text"},
    {"return { schedule = 'every', handle = print }", NULL,
     "schedule = \"every\" must name a declared integer parameter"},
    {"return { schedule = 'x', params = { { 'x', 1.5 } }, handle = print }", NULL,
     "must name a declared integer parameter"},
    {"x = ", NULL, "it.lua:1: unexpected symbol near <eof>"},
    {"\n\nif x then", NULL, "it.lua:3: 'end' expected"},
    {"\n\nerror('no', 2)", NULL, "no"},
    {"\nlocal x = nil + 1", NULL, "it.lua:2: attempt to perform arithmetic on a nil value"},
};

static void test_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(form_rows); i++) {
        const struct form_row *row = &form_rows[i];
        struct rig r;
        rig_init(&r);
        r.source.symbol = row->symbol;
        const char *got = rig_open(&r, row->text) < 0              ? r.fault.message
                        : rig_handle(&r, "train_step_end") < 0 ? r.fault.message
                                                                  : rig_asked(&r);
        if (r.script ? strcmp(got, row->want) != 0 : !strstr(got, row->want))
            fail_msg("%s: %s, not %s", row->text, got, row->want);
        rig_release(&r);
    }
}

static void test_what_it_says_of_itself(void **state)
{
    struct rig r;
    struct hcb_buf events = {0};
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "return { name = 'Timing', params = { { 'a', 1 }, { 'every', 7 } },"
                      " schedule = 'every', events = { 'fit_end', 'mine' }, handle = print }");
    assert_string_equal(hcb_script_name(r.script), "Timing");
    assert_string_equal(hcb_script_schedule(r.script), "every");
    assert_int_equal(hcb_script_every(r.script), 7);
    assert_int_equal(rig_set(&r, "{\"every\":0}"), 0);
    assert_int_equal(hcb_script_every(r.script), 0);
    hcb_json_value(&events, hcb_script_events(r.script));
    assert_string_equal(hcb_buf_text(&events), "[\"fit_end\",\"mine\"]");
    assert_true(hcb_script_memory(r.script) > 1000);
    rig_must_open(&r, "function handle() end");
    assert_null(hcb_script_name(r.script));
    assert_null(hcb_script_schedule(r.script));
    assert_null(hcb_script_events(r.script));
    assert_null(hcb_script_params(r.script));
    assert_null(hcb_script_dropped(r.script));
    assert_false(hcb_script_dead(r.script));
    hcb_buf_release(&events);
    rig_release(&r);
}

/* ---- hooks ----------------------------------------------------------------- */

#define HOOKS                                                                                  \
    "local T = { params = { { 'n', 1 } } }\n"                                                  \
    "print('chunk', T.n)\n"                                                                    \
    "function T:set_params(p) print('set_params', p.n, self.n, self.id) end\n"                 \
    "function T:restore(t) print('restore', t.count) end\n"                                    \
    "function T:on_attach(env) print('on_attach', env.step) end\n"                             \
    "function T:handle(e, env) print('handle', e, self.n) end\n"                               \
    "function T:save() print('save') return { count = 3 } end\n"                               \
    "function T:close() print('close') end\n"                                                  \
    "return T"

static void test_order_of_hooks(void **state)
{
    struct rig r;
    struct hcb_value saved = {0};
    (void)state;
    rig_init(&r);
    rig_parse("{\"n\":5}", &r.init);
    rig_must_open(&r, HOOKS);
    assert_string_equal(rig_asked(&r), "chunk nil|set_params 5 5 it");
    rig_parse("{\"count\":9}", &saved);
    assert_int_equal(hcb_script_restore(r.script, &saved, &r.fault), 0);
    hotcb_env_step(r.env, 12);
    assert_int_equal(hcb_script_attach(r.script, r.env, &r.fault), 0);
    assert_int_equal(rig_handle(&r, "fit_end"), 0);
    hcb_value_release(&saved);
    assert_int_equal(hcb_script_save(r.script, &saved, &r.fault), 0);
    assert_int_equal(hcb_map_int(&saved, "count", 0), 3);
    assert_int_equal(hcb_script_close(r.script, &r.fault), 0);
    assert_string_equal(rig_asked(&r), "restore 9|on_attach 12|handle fit_end 5|save|close");
    hcb_value_release(&saved);
    rig_release(&r);
}

/* A hook that is not there is fine; in the form of global functions there are none. */
static void test_no_hooks(void **state)
{
    static const char *const texts[] = {
        "return { handle = function() end }",
        "function handle() end function close() error('called') end save = close restore = close "
        "on_attach = close",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct rig r;
        struct hcb_value saved = {0};
        rig_init(&r);
        rig_must_open(&r, texts[i]);
        assert_int_equal(hcb_script_attach(r.script, r.env, &r.fault), 0);
        assert_int_equal(hcb_script_save(r.script, &saved, &r.fault), 0);
        assert_int_equal(saved.type, HCB_NULL);
        hcb_value_map(&saved);
        assert_int_equal(hcb_script_restore(r.script, &saved, &r.fault), 0);
        assert_int_equal(hcb_script_close(r.script, &r.fault), 0);
        rig_release(&r);
    }
}

static void test_handle_that_went_away(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "local T = {} function T:handle() self.handle = nil end return T");
    rig_expect(&r, "");
    assert_int_equal(rig_handle(&r, "fit_end"), -1);
    rig_expect_fault(&r, HCB_RUNTIME, "handle is no longer there");
    rig_must_open(&r, "function handle() handle = nil end");
    rig_expect(&r, "");
    assert_int_equal(rig_handle(&r, "fit_end"), -1);
    rig_expect_fault(&r, HCB_RUNTIME, "attempt to call a nil value");
    rig_release(&r);
}

/* ---- set ------------------------------------------------------------------- */

static void test_set_declared(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    rig_must_open(&r,
        "local T = { params = { { 'a', 1 }, { 'b', 2 } } }\n"
        "function T:set_params(p)\n"
        "  local t = {} for k, v in pairs(p) do t[#t + 1] = k .. '=' .. v end table.sort(t)\n"
        "  print(table.concat(t, ' '), self.a, self.b)\n"
        "  if self.a == 13 then error('thirteen') end\n"
        "end\n"
        "function T:handle() print(self.a, self.b) end return T");
    assert_string_equal(rig_asked(&r), "a=1 b=2 1 2");
    assert_int_equal(rig_set(&r, "{\"b\":5}"), 0);
    assert_string_equal(rig_asked(&r), "b=5 1 5");

    /* What is refused runs nothing. */
    assert_int_equal(rig_set(&r, "{\"a\":3,\"b\":\"x\"}"), HOTCB_EREFUSED);
    assert_string_equal(rig_asked(&r), "");

    /* A set_params that raises puts everything back. */
    assert_int_equal(rig_set(&r, "{\"a\":13,\"b\":7}"), HOTCB_EREFUSED);
    assert_string_equal(r.err.text, "it.lua:5: thirteen");
    assert_string_equal(rig_asked(&r), "a=13 b=7 13 7");
    assert_string_equal(rig_values(&r), "{\"a\":1,\"b\":5}");
    rig_expect(&r, "1 5");
    rig_release(&r);
}

/* A script that declares nothing gets what is sent, as it is. */
static void test_set_loose(void **state)
{
    static const char *const forms[] = {
        "function set_params(p) if p.bad then error('bad') end print(p.a, math.type(p.a)) end "
        "function handle() end",
        "local T = {} function T:set_params(p) if p.bad then error('bad') end "
        "print(p.a, math.type(p.a)) end function T:handle() end return T",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(forms); i++) {
        struct rig r;
        rig_init(&r);
        rig_parse("{\"a\":1,\"n\":null}", &r.init);
        rig_must_open(&r, forms[i]);
        assert_string_equal(rig_asked(&r), "1 integer");
        assert_string_equal(rig_values(&r), "{\"a\":1}");
        assert_int_equal(rig_set(&r, "{\"a\":9007199254740993,\"b\":[1]}"), 0);
        assert_string_equal(rig_asked(&r), "9007199254740993 integer");
        assert_string_equal(rig_values(&r), "{\"a\":9007199254740993,\"b\":[1]}");
        assert_int_equal(rig_set(&r, "{\"a\":2,\"bad\":1}"), HOTCB_EREFUSED);
        assert_non_null(strstr(r.err.text, "bad"));
        assert_int_equal(rig_set(&r, "{\"b\":null}"), HOTCB_EREFUSED);
        assert_string_equal(r.err.text, "b=null: it has no initial value to go back to");
        assert_string_equal(rig_values(&r), "{\"a\":9007199254740993,\"b\":[1]}");
        assert_int_equal(rig_set(&r, "{\"a\":null}"), 0);
        assert_string_equal(rig_asked(&r), "1 integer");
        rig_release(&r);
    }
}

static void test_set_where_nothing_is_taken(void **state)
{
    static const char *const texts[] = {"function handle() end", "return { handle = print }"};
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct rig r;
        rig_init(&r);
        rig_must_open(&r, texts[i]);
        assert_int_equal(rig_set(&r, "{\"a\":1}"), HOTCB_EREFUSED);
        assert_string_equal(r.err.text,
                            "it takes no parameters: it declares none and has no set_params");
        rig_parse("{\"a\":1}", &r.init);
        assert_int_equal(rig_open(&r, texts[i]), -1);
        rig_expect_fault(&r, HCB_RUNTIME, "it.lua: takes no parameters");
        rig_release(&r);
    }
}

/* Infinity and NaN are no parameters where no range can admit them. */
static void test_set_loose_not_finite(void **state)
{
    struct rig r;
    struct hcb_value map = {0};
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "function set_params(p) print('set') end function handle() end");
    hcb_value_map(&map);
    assert_int_equal(hcb_scalar_from_arg(".inf", hcb_map_put(&map, "a"), NULL), 0);
    assert_int_equal(hcb_script_set(r.script, &map, &r.err), HOTCB_EREFUSED);
    assert_string_equal(r.err.text, "a=.inf: only a declared range can admit that");
    assert_string_equal(rig_asked(&r), "");
    hcb_value_release(&map);
    rig_release(&r);
}

/* A set_params that uses up its time stops the state; the values are as before. */
static void test_set_params_without_end(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    r.source.limits.time_ms = 20;
    rig_must_open(&r, "local T = { params = { { 'a', 1 } } } function T:set_params() "
                      "while self.a == 2 do end end function T:handle() end return T");
    assert_int_equal(rig_set(&r, "{\"a\":2}"), HOTCB_EREFUSED);
    assert_non_null(strstr(r.err.text, "used up its CPU time of 20 ms a call (limits.time_ms)"));
    assert_true(hcb_script_dead(r.script));
    assert_string_equal(rig_values(&r), "{\"a\":1}");
    assert_int_equal(rig_handle(&r, "fit_end"), HCB_SCRIPT_DEAD);
    rig_release(&r);
}

/* ---- save and restore ------------------------------------------------------ */

static const struct save_row {
    const char *body; /* of save() */
    const char *want; /* JSON, or a part of what went wrong */
} save_rows[] = {
    {"", "null"},
    {"return nil", "null"},
    {"return {}", "{}"},
    {"return { 1, 2.5, 'x', true }", "[1,2.5,\"x\",true]"},
    {"return { a = { b = { 1, math.maxinteger } } }", "{\"a\":{\"b\":[1,9223372036854775807]}}"},
    {"return { d = 1.0 }", "{\"d\":1.0}"},
    {"return 5", "save() must return a table of plain data"},
    {"return 'x'", "save() must return a table of plain data"},
    {"return self", "save(): a function, which is not plain data"},
    {"return { print }", "save(): a function, which is not plain data"},
    {"return { [1] = 1, a = 2 }", "save(): a table with keys that are neither text nor 1..n"},
    {"return { [1.5] = 1 }", "neither text nor 1..n"},
    {"return { [3] = 1 }", "neither text nor 1..n"},
    {"return { ['a\\0b'] = 1 }", "save(): a key with a NUL character"},
    {"local t = {} t.t = t return t", "save(): tables nested more than 48 deep"},
    {"local t = {} for i = 1, 30 do t = { t, t } end return t", "save(): too many entries"},
    {"local s, t = ('x'):rep(1 << 20), {} for i = 1, 9 do t[i] = s end return t", "too much text"},
    {"error('no save today')", "no save today"},
    {"error({})", "(the error value is a table)"},
    {"while true do end", "used up its CPU time"},
};

static void test_save(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(save_rows); i++) {
        char text[400];
        struct rig r;
        struct hcb_value saved = {0};
        struct hcb_buf got = {0};
        rig_init(&r);
        r.source.limits.time_ms = 100 * rig_slack();
        snprintf(text, sizeof(text), "local T = {} function T:handle() end "
                 "function T:save() %s end return T", save_rows[i].body);
        rig_must_open(&r, text);
        if (hcb_script_save(r.script, &saved, &r.fault) == 0)
            hcb_json_value(&got, &saved);
        else
            hcb_buf_str(&got, r.fault.message);
        if (!strstr(hcb_buf_text(&got), save_rows[i].want))
            fail_msg("%s: %s, not %s", save_rows[i].body, hcb_buf_text(&got), save_rows[i].want);
        assert_int_equal(saved.type == HCB_NULL, got.data[0] != '{' && got.data[0] != '[');
        hcb_value_release(&saved);
        hcb_buf_release(&got);
        rig_release(&r);
    }
}

/* What save gives, restore gets. */
static void test_restore(void **state)
{
    struct rig r;
    struct hcb_value saved = {0};
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "local T = { t = { n = 1, list = { 1, 'b' } } } function T:handle() "
                      "print(self.t.n, self.t.list[2], math.type(self.t.n)) end "
                      "function T:save() return self.t end "
                      "function T:restore(t) self.t = t self.t.n = self.t.n + 1 "
                      "if t.bad then error('bad state') end end return T");
    assert_int_equal(hcb_script_save(r.script, &saved, &r.fault), 0);
    assert_int_equal(hcb_script_restore(r.script, &saved, &r.fault), 0);
    rig_expect(&r, "2 b integer");
    rig_parse("{\"n\":1,\"bad\":true}", &saved);
    assert_int_equal(hcb_script_restore(r.script, &saved, &r.fault), -1);
    rig_expect_fault(&r, HCB_RUNTIME, "bad state");
    assert_false(hcb_script_dead(r.script));
    hcb_value_release(&saved);
    rig_release(&r);
}

/* ---- source text ----------------------------------------------------------- */

#define BYTES(text) text, sizeof(text) - 1

static const struct source_row {
    const char *text;
    size_t n;
    const char *refusal; /* NULL: it is a script whose handle logs its line number */
} source_rows[] = {
    {BYTES("function handle() error() end"), NULL},
    {BYTES("\xef\xbb\xbf" "function handle() error() end"), NULL},
    {BYTES("#!/usr/bin/lua\nfunction handle() error() end"), NULL},
    {BYTES("\xef\xbb\xbf#!/usr/bin/lua\nfunction handle() error() end"), NULL},
    {BYTES("function handle() error() end\r\n"), NULL},
    {BYTES("\x1bLua\x54\x00"), "it.lua: precompiled Lua is not accepted: load the source text"},
    {BYTES("\xef\xbb\xbf\x1bLua"), "precompiled Lua is not accepted"},
    {BYTES("# comment\n\x1bLua"), "unexpected symbol near '<\\27>'"},
    {BYTES("function handle() end\0"), "it.lua: holds a NUL byte, so it is no Lua source"},
    {BYTES("\0"), "holds a NUL byte"},
    {BYTES(""), "is no callback"},
    {BYTES("\xef\xbb\xbf"), "is no callback"},
    {BYTES("#"), "is no callback"},
    {BYTES("#!/usr/bin/lua"), "is no callback"},
    {BYTES("\xff\xfe" "f"), "unexpected symbol near '<\\255>'"},
};

static void test_source(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(source_rows); i++) {
        const struct source_row *row = &source_rows[i];
        struct rig r;
        rig_init(&r);
        int rc = rig_open_bytes(&r, row->text, row->n);
        if (row->refusal) {
            assert_int_equal(rc, -1);
            rig_expect_fault(&r, HCB_SYNTAX, row->refusal);
        } else {
            assert_int_equal(rc, 0);
            assert_int_equal(rig_handle(&r, "fit_end"), -1);
            rig_expect_fault(&r, HCB_RUNTIME, strchr(row->text, '#') ? "it.lua:2: " : "it.lua:1: ");
        }
        rig_release(&r);
    }
}

static void test_source_too_large(void **state)
{
    struct rig r;
    size_t n = HCB_SCRIPT_BYTES;
    char *text = malloc(n + 1);
    (void)state;
    assert_non_null(text);
    memset(text, ' ', n + 1);
    memcpy(text, "function handle() end", 21);
    rig_init(&r);
    assert_int_equal(rig_open_bytes(&r, text, n), 0);
    assert_int_equal(rig_open_bytes(&r, text, n + 1), -1);
    rig_expect_fault(&r, HCB_SYNTAX, "it.lua: larger than 256 KiB");
    free(text);
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_what_it_says_of_itself),
        cmocka_unit_test(test_order_of_hooks),
        cmocka_unit_test(test_no_hooks),
        cmocka_unit_test(test_handle_that_went_away),
        cmocka_unit_test(test_set_declared),
        cmocka_unit_test(test_set_loose),
        cmocka_unit_test(test_set_where_nothing_is_taken),
        cmocka_unit_test(test_set_loose_not_finite),
        cmocka_unit_test(test_set_params_without_end),
        cmocka_unit_test(test_save),
        cmocka_unit_test(test_restore),
        cmocka_unit_test(test_source),
        cmocka_unit_test(test_source_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
