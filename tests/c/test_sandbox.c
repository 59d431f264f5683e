/* How a script is confined: what it can reach, what it may use, and what is said of the
 * errors it raises. */
#include "script_rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- what it can reach ----------------------------------------------------- */

/* Expressions, and what print shows of them inside handle. */
static const struct reach_row {
    const char *code, *want;
} reach_rows[] = {
    {"print(io, os, debug, package, coroutine)", "nil nil nil nil nil"},
    {"print(dofile, loadfile, load, loadstring, collectgarbage, warn)", "nil nil nil nil nil nil"},
    {"print(string.dump)", "nil"},
    {"print(type(require), type(print), type(hotcb), type(_G))",
     "function function table table"},
    {"print(type(math.sin), type(string.rep), type(table.concat), type(utf8.char))",
     "function function function function"},
    {"print(getmetatable(''))", "false"},
    {"print(pcall(setmetatable, '', {}))",
     "false bad argument #1 to 'setmetatable' (table expected, got string)"},
    {"string.upper = nil print(('x').upper)", "nil"}, /* its own, and nobody else's */
    {"print(pcall(setmetatable, {}, { __gc = print }))",
     "false __gc is not available to callbacks: use close()"},
    {"print(pcall(setmetatable, {}, { __gc = false }))",
     "false __gc is not available to callbacks: use close()"},
    {"local m = {} setmetatable({}, m) m.__gc = print print('later')", "later"},
    {"print(pcall(setmetatable, setmetatable({}, { __metatable = 1 }), {}))",
     "false cannot change a protected metatable"},
    {"print(getmetatable(setmetatable({}, { __index = print })).__index == print)", "true"},
    {"print(pcall(setmetatable, {}, 5))",
     "false bad argument #2 to 'setmetatable' (nil or table expected, got number)"},
    {"print(setmetatable({}, { __tostring = function() return 'shown' end }))", "shown"},
    {"print(1, nil, true, 'x', 2.5)", "1 nil true x 2.5"},
    {"print()", ""},
    {"print('100%', '%d')", "100% %d"},
    {"tostring = nil print(5)", "5"},
};

static void test_reach(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(reach_rows); i++) {
        char text[400];
        struct rig r;
        rig_init(&r);
        snprintf(text, sizeof(text), "function handle(event, env) %s end", reach_rows[i].code);
        rig_must_open(&r, text);
        rig_expect(&r, reach_rows[i].want);
        rig_release(&r);
    }
}

static void test_scripts_are_apart(void **state)
{
    struct rig a, b;
    (void)state;
    rig_init(&a);
    rig_init(&b);
    rig_must_open(&a, "string.format = nil table.concat = 5 math = nil x = 1 function handle() "
                      "print(math) end");
    rig_must_open(&b, "function handle() print(string.format('%d', 5), table.concat { 1 }, x) end");
    rig_expect(&a, "nil");
    rig_expect(&b, "5 1 nil");
    rig_release(&a);
    rig_release(&b);
}

static void test_coroutines_on_request(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    r.source.limits.coroutines = true;
    rig_must_open(&r, "function handle() print(coroutine.wrap(function() return 7 end)()) end");
    rig_expect(&r, "7");
    rig_release(&r);
}

/* ---- pcall and xpcall ------------------------------------------------------ */

static const struct reach_row pcall_rows[] = {
    {"print(pcall(function(...) return ... end, 1, nil, 3))", "true 1 nil 3"},
    {"print(pcall(error, 'x', 0))", "false x"},
    {"print(pcall(error))", "false nil"},
    {"print(pcall(error, {}) == false)", "true"},
    {"print(pcall())", NULL},
    {"print(pcall(5))", "false attempt to call a number value"},
    {"print(select('#', pcall(function() end)))", "1"},
    {"print(xpcall(function(...) return ... end, print, 1, 2))", "true 1 2"},
    {"print(xpcall(error, function(m) return m .. '!' end, 'x', 0))", "false x!"},
    {"print(xpcall(error, 5))", NULL},
    {"print(pcall(pcall, error, 'x'))", "true false x"},
    {"print((select(2, pcall(function() local x = nil + 1 end)):gsub('^.-:%d+: ', '')))",
     "attempt to perform arithmetic on a nil value"},
};

static void test_pcall(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(pcall_rows); i++) {
        char text[400];
        struct rig r;
        rig_init(&r);
        snprintf(text, sizeof(text), "function handle() %s end", pcall_rows[i].code);
        rig_must_open(&r, text);
        if (pcall_rows[i].want)
            rig_expect(&r, pcall_rows[i].want);
        else
            assert_int_equal(rig_handle(&r, "fit_end"), -1);
        rig_release(&r);
    }
}

/* ---- stops ----------------------------------------------------------------- */

/* Bodies of handle that no pcall may carry past a stop. */
static const struct stop_row {
    const char *body;
    enum hcb_reason reason;
    bool coroutines;
} stop_rows[] = {
    {"while true do end", HCB_BUDGET, false},
    {"repeat local ok = pcall(function() while true do end end) until false", HCB_BUDGET, false},
    {"pcall(function() while true do end end) print('on')", HCB_BUDGET, false},
    {"xpcall(function() while true do end end, function() print('handler') end) print('on')",
     HCB_BUDGET, false},
    {"pcall(pcall, pcall, function() while true do end end) print('on')", HCB_BUDGET, false},
    {"for i = 1, math.huge do end", HCB_BUDGET, false},
    {"local function f() return f() end f()", HCB_BUDGET, false},
    {"string.gsub(('x'):rep(50000), '.', function() for i = 1, 1000 do end end)", HCB_BUDGET,
     false},
    {"table.sort({ 3, 1, 2 }, function() while true do end end)", HCB_BUDGET, false},
    {"local t = setmetatable({}, { __index = function() while true do end end }) print(t.x)",
     HCB_BUDGET, false},
    {"setmetatable({}, { __tostring = function() while true do end end }) print(tostring(5)) "
     "error(setmetatable({}, { __tostring = function() while true do end end }))", HCB_RUNTIME,
     false},
    {"print(setmetatable({}, { __tostring = function() while true do end end }))", HCB_BUDGET,
     false},
    {"local x <close> = setmetatable({}, { __close = function() while true do end end }) "
     "while true do end", HCB_BUDGET, false},
    {"coroutine.wrap(function() while true do end end)()", HCB_BUDGET, true},
    {"coroutine.resume(coroutine.create(function() while true do end end)) print('on')", HCB_BUDGET,
     true},

    {"local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end", HCB_MEMORY, false},
    {"local s = ('x'):rep(1 << 30)", HCB_MEMORY, false},
    {"pcall(function() local s = ('x'):rep(1 << 30) end) print('on')", HCB_MEMORY, false},
    {"xpcall(string.rep, function() print('handler') end, 'x', 1 << 30) print('on')", HCB_MEMORY,
     false},
    {"local function f() return 1 + f() end f()", HCB_RUNTIME, false}, /* or memory */
};

static void test_stops(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stop_rows); i++) {
        const struct stop_row *row = &stop_rows[i];
        char text[600];
        struct rig r;
        rig_init(&r);
        r.source.limits.time_ms = row->reason == HCB_BUDGET ? 20 : 2000;
        r.source.limits.memory_mb = 4;
        r.source.limits.coroutines = row->coroutines;
        snprintf(text, sizeof(text), "function handle() %s end", row->body);
        rig_must_open(&r, text);
        assert_int_equal(rig_handle(&r, "fit_end"), -1);
        bool either = row->reason == HCB_RUNTIME && r.fault.reason == HCB_MEMORY;
        if (r.fault.reason != row->reason && !either)
            fail_msg("%s: %s: %s", row->body, hcb_reason_name(r.fault.reason), r.fault.message);
        assert_true(r.fault.message[0] != '\0');
        assert_int_equal(hcb_script_dead(r.script), r.fault.reason != HCB_RUNTIME);
        if (r.fault.reason == HCB_BUDGET)
            rig_expect_fault(&r, HCB_BUDGET, "used up its CPU time of 20 ms a call");
        if (r.fault.reason == HCB_MEMORY)
            rig_expect_fault(&r, HCB_MEMORY, "it.lua:1: wanted more than its 4 MiB of memory");
        assert_null(strstr(rig_asked(&r), row->coroutines ? "handler" : "on"));
        rig_release(&r);
    }
}

/* The budget is of each call, not of all of them together. */
static void test_budget_is_per_call(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    r.source.limits.time_ms = 200;
    rig_must_open(&r, "function handle() for i = 1, 200000 do end end");
    for (int i = 0; i < 100; i++)
        if (rig_handle(&r, "fit_end") < 0)
            fail_msg("%s", r.fault.message);
    rig_release(&r);
}

/* A caught error leaves no trace in the reason of a later one. */
static void test_reason_is_of_the_last_error(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "function handle() pcall(require, 'x') local y = nil + 1 end");
    assert_int_equal(rig_handle(&r, "fit_end"), -1);
    rig_expect_fault(&r, HCB_RUNTIME, "it.lua:1: attempt to perform arithmetic");
    rig_release(&r);
}

/* Garbage is collected before a script is given up for it, in one call and over many. */
static void test_garbage_is_no_reason_to_stop(void **state)
{
    static const char *const rows[] = {
        "for i = 1, 20000 do local t = { ('x'):rep(1000) } end",
        "for i = 1, 40 do local s = ('x'):rep(1 << 20) print(#s) end",
        "local s = ('x'):rep(3 << 20) for i = 1, 5 do print(s) end",
        "keep = keep or {} for i = 1, 100 do keep[i] = ('x'):rep(90000) end", /* 9 MB */
        "local s = '' for i = 1, 3000 do s = s .. 'a line of some bytes' end",
        /* Coroutines that end before their garbage can be collected. */
        "keep = keep or {} for i = #keep + 1, 90 do keep[i] = ('x'):rep(100 << 10) .. i end "
        "local function f(n) return ('x'):rep(n) end for i = 1, 40 do coroutine.wrap(f)(i << 14) "
        "for j = 1, 70 do local s = ('y'):rep(100 << 10) .. j end end",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[500];
        struct rig r;
        rig_init(&r);
        r.source.limits.time_ms = 60000;
        r.source.limits.coroutines = true;
        snprintf(text, sizeof(text), "function handle() %s end", rows[i]);
        rig_must_open(&r, text);
        for (int again = 0; again < 5; again++)
            if (rig_handle(&r, "fit_end") < 0)
                fail_msg("%s: %s", rows[i], r.fault.message);
        rig_release(&r);
    }
}

static void test_memory_is_capped(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    r.source.limits.memory_mb = 8;
    rig_must_open(&r, "function handle() keep = ('x'):rep(3 << 20) end");
    assert_int_equal(rig_handle(&r, "fit_end"), 0);
    assert_true(hcb_script_memory(r.script) > 3 << 20);
    rig_release(&r);
    rig_init(&r);
    r.source.limits.memory_mb = 1;
    assert_int_equal(rig_open(&r, "keep = ('x'):rep(4 << 20)"), -1);
    rig_expect_fault(&r, HCB_MEMORY, "wanted more than its 1 MiB of memory (limits.memory_mb)");
    rig_release(&r);
}

/* A source that is too much for the memory fails for that, not for its syntax. */
static void test_source_beyond_memory(void **state)
{
    struct rig r;
    struct hcb_buf text = {0};
    (void)state;
    hcb_buf_str(&text, "local t = {");
    while (text.len < 200000)
        hcb_buf_str(&text, "{},{},{},{},{},{},{},{},");
    hcb_buf_str(&text, "} function handle() end");
    rig_init(&r);
    r.source.limits.memory_mb = 1;
    assert_int_equal(rig_open(&r, hcb_buf_text(&text)), -1);
    rig_expect_fault(&r, HCB_MEMORY, "it.lua: wanted more than");
    hcb_buf_release(&text);
    rig_release(&r);
}

/* ---- error values ---------------------------------------------------------- */

static const struct error_row {
    const char *body, *want;
} error_rows[] = {
    {"error('plain')", "it.lua:1: plain"},
    {"error('no place', 0)", "it.lua:1: no place"},
    {"table.sort({ 3, 1, 2 }, error)", "it.lua:1: (the error value is a number)"},
    {"error('lost at 12:30', 0)", "it.lua:1: lost at 12:30"},
    {"error('other.lua:7: so', 0)", "other.lua:7: so"},
    {"error()", "it.lua:1: (the error value is nil)"},
    {"error(nil)", "it.lua:1: (the error value is nil)"},
    {"error({ code = 5 })", "it.lua:1: (the error value is a table)"},
    {"error(true)", "it.lua:1: (the error value is a boolean)"},
    {"error(print)", "it.lua:1: (the error value is a function)"},
    {"error(5)", "it.lua:1: (the error value is a number)"},
    {"error(setmetatable({}, { __tostring = function() error('again') end }))",
     "it.lua:1: (the error value is a table)"},
    {"error(setmetatable({}, { __name = 'X', __tostring = function() while true do end end }))",
     "it.lua:1: (the error value is a table)"},
    {"error('%s%n%d %5$s')", "it.lua:1: %s%n%d %5$s"},
    {"error('a\\nb\\27[31m\\255\\0c')", "it.lua:1: a\\nb\\x1b[31m\\xff\\x00c"},
    {"error('')", "it.lua:1: "},
    {"error('', 0)", "it.lua:1: "},
    {"local x = nil; x.y = 1", "it.lua:1: attempt to index a nil value (local 'x')"},
    {"error(('x'):rep(5 << 20), 0)", "xxxxxxxxxx"},
    {"error(('\\u{20ac}'):rep(5000), 0)", "\xe2\x82\xac"},
    {"assert(false)", "assertion failed!"},
    {"assert(false, { 1 })", "(the error value is a table)"},
    {"env.log('%d', 'x')", "it.lua:1: bad argument #2 to "},
    {"env.log('%y', 'x')", "it.lua:1: invalid conversion '%y' to 'format'"},
    {"env.log()", "it.lua:1: bad argument #1 to 'log' (value expected)"},
};

static void test_error_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(error_rows); i++) {
        char text[400];
        struct rig r;
        rig_init(&r);
        snprintf(text, sizeof(text), "function handle(event, env) %s end", error_rows[i].body);
        rig_must_open(&r, text);
        assert_int_equal(rig_handle(&r, "fit_end"), -1);
        rig_expect_fault(&r, HCB_RUNTIME, error_rows[i].want);
        assert_true(strlen(r.fault.message) < sizeof(r.fault.message));
        assert_null(strchr(r.fault.message, '\n'));
        assert_non_null(strstr(r.fault.traceback, "stack traceback:"));
        assert_false(hcb_script_dead(r.script));
        rig_release(&r);
    }
}

static void test_long_messages_are_cut(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "function handle() error(('\\u{20ac}'):rep(5000), 0) end");
    assert_int_equal(rig_handle(&r, "fit_end"), -1);
    size_t n = strlen(r.fault.message);
    assert_true(n > 900 && n < 1024);
    assert_string_equal(r.fault.message + n - 6, "\xe2\x82\xac...");
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reach),
        cmocka_unit_test(test_scripts_are_apart),
        cmocka_unit_test(test_coroutines_on_request),
        cmocka_unit_test(test_pcall),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_budget_is_per_call),
        cmocka_unit_test(test_reason_is_of_the_last_error),
        cmocka_unit_test(test_garbage_is_no_reason_to_stop),
        cmocka_unit_test(test_memory_is_capped),
        cmocka_unit_test(test_source_beyond_memory),
        cmocka_unit_test(test_error_values),
        cmocka_unit_test(test_long_messages_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
