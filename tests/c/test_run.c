/* A run over its life: failures and what clears them, what a look takes in, what is
 * written and in which order, restarts, forks, a lost directory. */
#include "run_rig.h"

#include <sys/wait.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const send_enable = "{\"op\":\"enable\",\"id\":\"a\"}\n";

static void send_line(const char *line)
{
    scratch_append(run_path("hotcb.commands.jsonl"), line);
}

static void config(const char *text)
{
    scratch_replace(run_path("hotcb.yaml"), text);
}

/* ---- failures -------------------------------------------------------------- */

#define FAILS_AT_2 "function handle(e, env) print('step', env.step) if env.step == 2 then " \
                   "error('two') end end"

static void test_failed_and_enabled(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", FAILS_AT_2);
    run_steps(&r, 1, 4);
    run_expect_state(&r, "a", "FAILED", true);
    assert_int_equal(run_number(&r, "a", "calls"), 2);
    assert_int_equal(run_number(&r, "a", "failures"), 1);
    const struct hcb_value *error = hcb_map_get(run_callback(&r, "a"), "error");
    assert_string_equal(hcb_map_text(error, "reason", ""), "runtime");
    assert_string_equal(hcb_map_text(error, "event", ""), "train_step_end");
    assert_int_equal(hcb_map_int(error, "step", -1), 2);
    assert_non_null(strstr(hcb_map_text(error, "message", ""), "a.lua:1: two"));
    assert_non_null(strstr(hcb_map_text(error, "traceback", ""), "in function 'handle'"));

    run_must(&r, "{'op':'disable','id':'a'}");
    run_expect_state(&r, "a", "FAILED", false);
    run_must(&r, "{'op':'enable','id':'a'}");
    run_expect_state(&r, "a", "on", true);
    assert_int_equal(hcb_map_get(run_callback(&r, "a"), "error")->type, HCB_NULL);
    run_steps(&r, 5, 6);
    assert_int_equal(run_number(&r, "a", "calls"), 4);

    run_steps(&r, 2, 2);
    run_must(&r, "{'op':'disable','id':'a'}");
    run_script("a", FAILS_AT_2 " -- changed");
    run_steps(&r, 7, 8); /* a changed file clears the failure, and enables nothing */
    run_expect_state(&r, "a", "off", false);
    assert_int_equal(run_number(&r, "a", "version"), 2);
    assert_string_equal(run_ledger(),
                        "load a applied|fail a applied|disable a applied|enable a applied|"
                        "fail a applied|disable a applied|reload a applied");
    run_release(&r);
}

static const struct errors_row {
    int errors;
    const char *fails; /* when, in Lua */
    int64_t calls;     /* of 300 steps, until it was stopped */
} errors_rows[] = {
    {1, "env.step == 5", 5},
    {2, "env.step == 5", 300},
    {2, "env.step >= 5", 6},
    {3, "env.step % 50 == 0", 300},      /* two in a hundred calls */
    {3, "env.step % 49 == 0", 147},
    {0, "true", 300},
    {100, "true", 100},
};

static void test_limit_of_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(errors_rows); i++) {
        char text[200], json[100];
        struct run r;
        run_start(&r);
        snprintf(text, sizeof(text), "function handle(e, env) if %s then error('x') end end",
                 errors_rows[i].fails);
        run_load(&r, "a", text);
        snprintf(json, sizeof(json), "{'op':'set_limits','id':'a','limits':{'errors':%d}}",
                 errors_rows[i].errors);
        run_must(&r, json);
        run_steps(&r, 1, 300);
        assert_int_equal(run_number(&r, "a", "calls"), errors_rows[i].calls);
        run_expect_state(&r, "a", errors_rows[i].calls == 300 ? "on" : "FAILED", true);
        run_release(&r);
    }
}

/* What a call asked for counts if it succeeds; lines and a stop always. */
static void test_effects_of_a_failure(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "function handle(e, env) hotcb.scalar('s', env.step) "
                      "hotcb.artifact('f', 'x', 'append') print('line') "
                      "if env.step == 2 then error('no') end end");
    run_steps(&r, 1, 3);
    char *metrics = file_read("run/hotcb.metrics.jsonl");
    assert_int_equal(count_of(metrics, "\n"), 1);
    assert_non_null(strstr(metrics, "\"id\":\"a\",\"key\":\"s\",\"value\":1}"));
    assert_file("run/artifacts/a/f", "x");
    assert_int_equal(run_logged(&r, "a: line\n"), 2);
    free(metrics);
    run_release(&r);
}

/* Different words on the same line are the same failure. */
static void test_repeated_failures_are_said_less(void **state)
{
    static const char *const texts[] = {
        "function handle(e, env) error('step ' .. env.step) end",
        "function handle(e, env) if env.step % 2 == 0 then\nerror('even') end\nerror('odd') end",
        "function handle(e, env) error('no place ' .. env.step, 0) end",
        "function handle(e, env) load('x') end",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct run r;
        run_start(&r);
        run_load(&r, "a", texts[i]);
        run_must(&r, "{'op':'set_limits','id':'a','limits':{'errors':0}}");
        run_steps(&r, 1, 2000);
        assert_int_equal(run_number(&r, "a", "failures"), 2000);
        assert_true(run_logged(&r, "\n") < 150);
        assert_true(run_logged(&r, "stack traceback:") >= 1);
        run_release(&r);
    }
}

/* After a stop below the limit the state is made anew, with its parameters. */
static void test_rebuild(void **state)
{
    static const char *const bodies[] = {
        "while true do end", "pcall(function() while true do end end)",
        "local t = {} while true do t[#t + 1] = ('x'):rep(99999) .. #t end",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(bodies); i++) {
        char text[600];
        struct run r;
        run_start(&r);
        snprintf(text, sizeof(text),
                 "local T = { params = { { 'a', 1 } } } local n = 0 "
                 "function T:on_attach() print('attached') end "
                 "function T:close() print('close') end "
                 "function T:handle(e, env) n = n + 1 print('n', n, 'a', self.a) "
                 "if env.step == 2 then %s end end return T", bodies[i]);
        run_load(&r, "a", text);
        run_must(&r, "{'op':'set_params','id':'a','params':{'a':7}}");
        run_must(&r, "{'op':'set_limits','id':'a','limits':{'errors':3,'time_ms':100}}");
        run_steps(&r, 1, 4);
        char *log = run_log_take(&r);
        assert_int_equal(count_of(log, "a: attached\n"), 2);
        assert_int_equal(count_of(log, "a: n 1 a 7\n"), 2);
        assert_int_equal(count_of(log, "a: n 2 a 7\n"), 2);
        assert_int_equal(count_of(log, "close"), 0);
        free(log);
        run_expect_state(&r, "a", "on", true);
        const struct hcb_value *error = hcb_map_get(run_callback(&r, "a"), "error");
        assert_string_equal(hcb_map_text(error, "reason", ""), i == 2 ? "memory" : "budget");
        assert_int_equal(run_number(&r, "a", "version"), 1);
        run_release(&r);
    }
}

/* A stopped state is made anew by enable, set, and reload as well. */
static void test_rebuild_on_demand(void **state)
{
    static const char *const commands[] = {
        "{'op':'enable','id':'a'}", "{'op':'set_params','id':'a','params':{'a':2}}",
        "{'op':'reload','id':'a'}",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(commands); i++) {
        struct run r;
        run_start(&r);
        run_load(&r, "a", "return { params = { { 'a', 1 } }, handle = function(self, e, env) "
                          "print('a', self.a) if env.step == 1 then while true do end end end }");
        run_steps(&r, 1, 2);
        run_expect_state(&r, "a", "FAILED", true);
        run_must(&r, commands[i]);
        run_must(&r, "{'op':'enable','id':'a'}");
        run_steps(&r, 3, 3);
        assert_int_equal(run_logged(&r, i == 1 ? "a: a 2\n" : "a: a 1\n"), i == 1 ? 1 : 2);
        run_expect_state(&r, "a", "on", true);
        run_release(&r);
    }
}

/* Values that are refused change nothing, also where they come before the first event, and
 * checking them stopped the state. */
static void test_refused_before_the_first_event(void **state)
{
    static const char *const bodies[] = {
        "while true do end", "local t = {} while true do t[#t + 1] = {} end", "error 'no'",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(bodies); i++) {
        char text[500];
        struct run r;
        run_start(&r);
        snprintf(text, sizeof(text), "local T = { params = { { 'a', 1 } } } "
                 "function T:set_params() if self.a == 5 then %s end end "
                 "function T:on_attach() print('attached') end "
                 "function T:handle(e, env) print('step', env.step, self.a) end return T",
                 bodies[i]);
        run_load(&r, "a", text);
        assert_int_equal(run_command(&r, "{'op':'set_params','id':'a','params':{'a':5}}"),
                         HOTCB_EREFUSED);
        run_steps(&r, 1, 2);
        run_expect_state(&r, "a", "on", true);
        assert_int_equal(run_number(&r, "a", "failures"), 0);
        assert_int_equal(run_logged(&r, "a: attached\n"), 1);
        assert_int_equal(run_logged(&r, "a: step 1 1\n"), 1);
        assert_int_equal(run_logged(&r, "a: step 2 1\n"), 1);
        run_release(&r);
    }
}

/* ---- hotcb.yaml ------------------------------------------------------------ */

#define ENTRY(more) "callbacks:\n  a:\n    target: { kind: lua_file, path: a.lua }\n" more

static void test_wanted_and_missing(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    config(ENTRY("    enabled: false\n"));
    run_steps(&r, 1, 3);
    run_expect_state(&r, "a", "FAILED", false);
    const struct hcb_value *error = hcb_map_get(run_callback(&r, "a"), "error");
    assert_string_equal(hcb_map_text(error, "reason", ""), "file");
    run_script("a", "return {");
    run_steps(&r, 4, 6);
    error = hcb_map_get(run_callback(&r, "a"), "error");
    assert_string_equal(hcb_map_text(error, "reason", ""), "syntax");

    /* What is asked of it meanwhile is kept. */
    config(ENTRY("    enabled: true\n"));
    run_steps(&r, 7, 7);
    run_expect_state(&r, "a", "FAILED", true);
    run_script("a", "function handle() print('runs') end");
    run_steps(&r, 8, 8);
    run_expect_state(&r, "a", "on", true);
    assert_int_equal(run_logged(&r, "a: runs\n"), 1);
    assert_string_equal(run_ledger(), "load a rejected|reload a rejected|enable a rejected|"
                                      "reload a applied");
    run_release(&r);
}

/* Another target that does not load waits behind the version that runs. */
static void test_heir(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_script("a", "function handle() print('old') end");
    config(ENTRY(""));
    run_steps(&r, 1, 1);
    config("callbacks: { a: { target: { kind: lua_file, path: b.lua } } }");
    run_steps(&r, 2, 3);
    assert_int_equal(run_logged(&r, "a: old\n"), 3);
    run_expect_state(&r, "a", "on", true);
    assert_non_null(strstr(hcb_map_text(run_callback(&r, "a"), "pending", ""), "b.lua"));
    config("callbacks: { a: { target: { kind: lua_file, path: b.lua }, limits: { errors: 7 } } }");
    run_steps(&r, 3, 3);
    run_must(&r, "{'op':'disable','id':'a'}");
    run_script("b", "return {");
    run_steps(&r, 4, 4);
    run_script("b", "function handle() print('new') end");
    run_steps(&r, 5, 5);
    run_expect_state(&r, "a", "off", false); /* as it was asked for meanwhile */
    run_must(&r, "{'op':'enable','id':'a'}");
    run_steps(&r, 6, 6);
    assert_int_equal(run_logged(&r, "a: new\n"), 1);
    assert_int_equal(hcb_map_int(hcb_map_get(run_callback(&r, "a"), "limits"), "errors", 0), 7);
    assert_string_equal(run_ledger(), "load a applied|load a rejected|set_limits a applied|"
                                      "disable a applied|"
                                      "reload a rejected|reload a applied|enable a applied");
    run_release(&r);
}

static const char *config_error(struct run *r)
{
    return hcb_map_text(hcb_map_get(run_status(r), "config"), "error", NULL);
}

/* What is wrong with hotcb.yaml is said as long as it is so. */
static void test_error_of_the_config(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    config(ENTRY(""));
    run_script("a", "function handle() end");
    run_steps(&r, 1, 1);
    rename(run_path("hotcb.yaml"), scratch("aside"));
    mkdir(run_path("hotcb.yaml"), 0777);
    run_steps(&r, 2, 3);
    assert_non_null(strstr(config_error(&r), "directory"));
    rmdir(run_path("hotcb.yaml"));
    rename(scratch("aside"), run_path("hotcb.yaml"));
    run_steps(&r, 4, 4);
    assert_null(config_error(&r)); /* though its content is as it was */
    config("callbacks: [");
    run_steps(&r, 5, 5);
    assert_non_null(config_error(&r));
    unlink(run_path("hotcb.yaml"));
    run_steps(&r, 6, 6);
    assert_null(config_error(&r));
    assert_string_equal(run_ledger(), "load a applied|config - rejected|config - rejected");
    run_release(&r);
}

/* Limits that are not named stay; those that are removed go back. */
static void test_limits(void **state)
{
    static const struct { const char *yaml; int64_t time_ms, memory_mb, errors; } rows[] = {
        {"    limits: { time_ms: 20, memory_mb: 8, errors: 3 }\n", 20, 8, 3},
        {"    limits: { time_ms: 20, memory_mb: 8, errors: 4 }\n", 20, 8, 4},
        {"    limits: { memory_mb: 8, errors: 4 }\n", 50, 8, 4},
        {"    limits: { memory_mb: 9, errors: 4 }\n", 50, 9, 4},
        {"", 50, 16, 1},
    };
    struct run r;
    (void)state;
    run_start(&r);
    run_script("a", "function handle() end");
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[300];
        snprintf(text, sizeof(text), ENTRY("%s"), rows[i].yaml);
        config(text);
        run_steps(&r, 1, 1);
        const struct hcb_value *limits = hcb_map_get(run_callback(&r, "a"), "limits");
        assert_int_equal(hcb_map_int(limits, "time_ms", 0), rows[i].time_ms);
        assert_int_equal(hcb_map_int(limits, "memory_mb", 0), rows[i].memory_mb);
        assert_int_equal(hcb_map_int(limits, "errors", 0), rows[i].errors);
    }
    run_must(&r, "{'op':'set_limits','id':'a','limits':{'coroutines':true}}");
    assert_int_equal(run_number(&r, "a", "version"), 4); /* each new state is one */
    assert_int_equal(run_command(&r, "{'op':'set_limits','id':'a','limits':{'time_ms':9,"
                                     "'errors':-1}}"), HOTCB_EFORMAT);
    const struct hcb_value *limits = hcb_map_get(run_callback(&r, "a"), "limits");
    assert_int_equal(hcb_map_int(limits, "time_ms", 0), 50);
    assert_true(hcb_map_bool(limits, "coroutines", false));
    run_release(&r);
}

/* One look: the configuration first, then commands in file order. */
static void test_order_of_a_look(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_script("a", "function handle() end");
    send_line("{\"op\":\"disable\",\"id\":\"a\"}\n{\"op\":\"enable\",\"id\":\"b\"}\nnonsense\n");
    send_line(send_enable);
    config(ENTRY(""));
    run_steps(&r, 1, 2);
    assert_string_equal(run_ledger(), "load a applied|disable a applied|enable b rejected|"
                                      "? - rejected|enable a applied");
    char *ledger = file_read("run/hotcb.applied.jsonl");
    assert_int_equal(count_of(ledger, "hotcb.commands.jsonl:3: not valid JSON"), 1);
    free(ledger);
    run_release(&r);
}

/* ---- what is written ------------------------------------------------------- */

/* Who sees a line in the ledger sees the status that goes with it. */
static void test_status_before_ledger(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "function set_params() end function handle() end");
    for (int i = 0; i < 20; i++) {
        char line[200];
        snprintf(line, sizeof(line), "{\"op\":\"set_params\",\"id\":\"a\",\"params\":{\"n\":%d},"
                 "\"cmd\":\"c%d\"}\n", i, i);
        send_line(line);
        run_steps(&r, i, i);
        const struct hcb_value *last = hcb_map_get(run_status(&r), "last");
        snprintf(line, sizeof(line), "c%d", i);
        assert_string_equal(hcb_map_text(last, "cmd", ""), line);
        assert_int_equal(hcb_map_int(last, "step", -1), i);
    }
    char *ledger = file_read("run/hotcb.applied.jsonl");
    struct hcb_value v = {0};
    int64_t seq = 0;
    char *save = NULL;
    for (char *line = strtok_r(ledger, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        assert_int_equal(hcb_json_parse(line, strlen(line), &v, NULL), 0);
        assert_int_equal(hcb_map_int(&v, "seq", 0), ++seq);
        hcb_value_release(&v);
    }
    assert_int_equal(seq, 21);
    free(ledger);
    run_release(&r);
}

/* A relative path of a command is meant from the run directory, wherever the host is. */
static void test_relative_paths(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    mkdir(run_path("sub"), 0777);
    scratch_write(run_path("sub/x.lua"), "function handle() print('sub') end");
    assert_int_equal(chdir("/"), 0);
    send_line("{\"op\":\"load\",\"id\":\"a\",\"target\":{\"kind\":\"lua_file\","
              "\"path\":\"sub/x.lua\"}}\n");
    run_steps(&r, 1, 1);
    run_must(&r, "{'op':'load','id':'b','target':{'kind':'lua_file','path':'sub/x.lua'}}");
    run_steps(&r, 2, 2);
    assert_int_equal(run_logged(&r, "a: sub\n"), 2);
    assert_int_equal(run_logged(&r, "b: sub\n"), 1);
    assert_string_equal(hcb_map_text(run_callback(&r, "a"), "path", ""), run_path("sub/x.lua"));
    run_release(&r);
}

/* A search path that was given relative means the directory of that time. */
static void test_relative_search_path(void **state)
{
    struct run r;
    (void)state;
    run_init(&r);
    assert_int_equal(chdir(scratch_dir), 0);
    mkdir("lib", 0777);
    scratch_write("lib/m.lua", "return 'found'");
    r.opt.search_path = "none::lib:";
    run_open(&r);
    assert_int_equal(chdir("/"), 0);
    run_load(&r, "a", "local m = require 'm' function handle() print(m) end");
    run_steps(&r, 1, 1);
    assert_int_equal(run_logged(&r, "a: found\n"), 1);
    run_release(&r);
}

/* ---- restarts -------------------------------------------------------------- */

static void test_commands_once(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_script("a", "function handle() end");
    send_line("{\"op\":\"load\",\"id\":\"a\",\"target\":{\"kind\":\"lua_file\","
              "\"path\":\"a.lua\"}}\n");
    send_line(send_enable);
    run_steps(&r, 1, 1);
    run_close(&r);
    send_line("{\"op\":\"disable\",\"id\":\"a\"}\n"); /* while nobody runs */
    run_open(&r);
    assert_int_equal(run_logged(&r, "2 earlier commands skipped"), 1);
    run_steps(&r, 1, 2);
    assert_string_equal(run_ledger(), "load a applied|enable a applied|disable a rejected");
    run_close(&r);

    /* The state file is gone, or is an older one: the ledger knows. */
    char *old_state = file_read("run/hotcb.state.json");
    send_line(send_enable);
    run_open(&r);
    run_steps(&r, 3, 3);
    run_close(&r);
    scratch_write(run_path("hotcb.state.json"), old_state);
    run_open(&r);
    run_steps(&r, 4, 4);
    run_close(&r);
    unlink(run_path("hotcb.state.json"));
    run_open(&r);
    run_steps(&r, 5, 5);
    run_close(&r);
    scratch_write(run_path("hotcb.state.json"), "{\"commands\":{\"offset\":-5,\"tail\":99}}");
    run_open(&r);
    run_steps(&r, 6, 6);
    assert_string_equal(run_ledger(), "load a applied|enable a applied|disable a rejected|"
                                      "enable a rejected");
    free(old_state);
    run_release(&r);
}

/* A command file that is shorter is read from its beginning; what it then says counts. */
static void test_commands_truncated(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "function handle() end");
    for (int i = 0; i < 5; i++)
        send_line(send_enable);
    run_steps(&r, 1, 1);
    scratch_write(run_path("hotcb.commands.jsonl"), "{\"op\":\"disable\",\"id\":\"a\"}\n");
    run_steps(&r, 2, 3);
    run_expect_state(&r, "a", "off", false);
    assert_int_equal(run_logged(&r, "was truncated"), 1);
    run_close(&r);
    run_open(&r);
    run_steps(&r, 4, 4);
    char *ledger = file_read("run/hotcb.applied.jsonl");
    assert_int_equal(count_of(ledger, "\"op\":\"disable\""), 1);
    free(ledger);
    run_release(&r);
}

/* A ledger that somebody removed is begun anew; the count goes on. */
static void test_ledger_removed(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "function handle() end");
    unlink(run_path("hotcb.applied.jsonl"));
    run_must(&r, "{'op':'disable','id':'a'}");
    assert_string_equal(run_ledger(), "disable a applied");
    char *ledger = file_read("run/hotcb.applied.jsonl");
    assert_int_equal(count_of(ledger, "\"seq\":2,"), 1);
    free(ledger);
    run_release(&r);
}

/* A ledger that cannot be written keeps its lines, and costs the applies in between
 * nothing but the looks. */
static void test_ledger_in_trouble(void **state)
{
    struct run r;
    (void)state;
    run_init(&r);
    r.opt.debounce_steps = 10;
    run_open(&r);
    run_load(&r, "a", "function handle() end");
    unlink(run_path("hotcb.applied.jsonl"));
    mkdir(run_path("hotcb.applied.jsonl"), 0777);
    run_must(&r, "{'op':'disable','id':'a'}");
    run_must(&r, "{'op':'enable','id':'a'}");
    run_steps(&r, 1, 50);
    assert_int_equal(run_logged(&r, "it is tried again at each look"), 1);
    rmdir(run_path("hotcb.applied.jsonl"));
    run_steps(&r, 51, 60);
    assert_string_equal(run_ledger(), "disable a applied|enable a applied");
    run_release(&r);
}

/* ---- fork and a lost directory --------------------------------------------- */

#define NOISY                                                                                \
    "local T = {} function T:handle() hotcb.scalar('s', 1) end "                             \
    "function T:close() hotcb.artifact('closed', 'x', 'append') end return T"

/* A child does nothing to the run, in whatever way it goes on or ends. */
static void child_of(struct run *r, int way)
{
    bool good = true;
    if (way == 1)
        good = hotcb_apply(r->h, r->env, "train_step_end") == HOTCB_EINVAL;
    if (way == 2)
        good = run_command(r, "{'op':'disable','id':'a'}") == HOTCB_EINVAL;
    if (way == 3)
        good = hotcb_poll(r->h, NULL) == HOTCB_EINVAL && hotcb_list(r->h) == NULL;
    if (way > 0)
        good = good && strstr(hotcb_errmsg(r->h), "forked child") && !hotcb_stop_reason(r->h);
    hotcb_close(r->h);
    _exit(good ? 0 : 1);
}

static void test_fork(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", NOISY);
    run_steps(&r, 1, 1);
    char *status_before = file_read("run/hotcb.status.json");
    for (int way = 0; way < 4; way++) {
        int status;
        send_line(send_enable);
        pid_t child = fork();
        if (child == 0)
            child_of(&r, way);
        waitpid(child, &status, 0);
        assert_int_equal(status, 0);
    }
    char *status_after = file_read("run/hotcb.status.json");
    assert_string_equal(status_after, status_before);
    assert_false(file_exists("run/artifacts/a/closed"));
    free(status_before);
    free(status_after);

    struct run second; /* the parent's lock holds */
    run_init(&second);
    pid_t child = fork();
    if (child == 0)
        _exit(hotcb_open(&second.h, &second.opt) == HOTCB_EBUSY ? 0 : 1);
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    hotcb_env_free(second.env);

    run_steps(&r, 2, 2); /* and it goes on as if nothing had been */
    assert_string_equal(run_ledger(), "load a applied|enable a applied|enable a applied|"
                                      "enable a applied|enable a applied");
    run_release(&r);
    assert_file("run/artifacts/a/closed", "x");
}

static void test_lost_directory(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "function handle(e, env) print('step', env.step) hotcb.scalar('s', 1) "
                      "hotcb.artifact('f', 'x') end");
    run_steps(&r, 1, 2);
    free(run_log_take(&r));
    assert_int_equal(rename(run_path(""), scratch("away")), 0);
    run_steps(&r, 3, 30);
    assert_int_equal(run_logged(&r, "-: "), 1);
    assert_int_equal(run_logged(&r, "is gone; training and callbacks go on"), 1);
    assert_int_equal(run_logged(&r, "a: step 30\n"), 1);
    run_must(&r, "{'op':'disable','id':'a'}"); /* kept, to be written later */

    mkdir(r.dir, 0777);
    scratch_write(run_path("hotcb.commands.jsonl"), send_enable);
    run_steps(&r, 31, 33);
    assert_int_equal(run_logged(&r, "is there again: looking and writing go on"), 1);
    assert_string_equal(run_ledger(), "disable a applied|enable a applied");
    assert_string_equal(hcb_map_text(run_status(&r), "state", ""), "running");
    assert_true(file_exists("run/hotcb.lock"));
    run_steps(&r, 34, 35);
    char *metrics = file_read("run/hotcb.metrics.jsonl");
    assert_true(metrics && count_of(metrics, "\n") >= 2);
    free(metrics);
    run_close(&r);
    assert_string_equal(hcb_map_text(run_status(&r), "state", ""), "closed");
    run_release(&r);
}

/* Another directory was there for a while, with no commands: ours were answered all the same. */
static void test_lost_and_found(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    send_line("{\"op\":\"enable\",\"id\":\"a\",\"cmd\":\"c1\"}\n");
    run_steps(&r, 1, 2);
    assert_int_equal(rename(run_path(""), scratch("away")), 0);
    run_steps(&r, 3, 4);
    mkdir(r.dir, 0777);
    run_steps(&r, 5, 6);
    assert_int_equal(rename(run_path(""), scratch("other")), 0);
    run_steps(&r, 7, 8);
    assert_int_equal(rename(scratch("away"), r.dir), 0);
    send_line("{\"op\":\"disable\",\"id\":\"a\",\"cmd\":\"c2\"}\n");
    run_steps(&r, 9, 10);
    assert_string_equal(run_ledger(), "enable a rejected|disable a rejected");
    run_release(&r);
}

static void test_closed_while_lost(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", NOISY);
    assert_int_equal(rename(run_path(""), scratch("away")), 0);
    run_steps(&r, 1, 2);
    run_close(&r);
    assert_false(file_exists("run"));
    run_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(test_failed_and_enabled),
        WITH_SCRATCH(test_limit_of_errors),
        WITH_SCRATCH(test_effects_of_a_failure),
        WITH_SCRATCH(test_repeated_failures_are_said_less),
        WITH_SCRATCH(test_rebuild),
        WITH_SCRATCH(test_rebuild_on_demand),
        WITH_SCRATCH(test_refused_before_the_first_event),
        WITH_SCRATCH(test_wanted_and_missing),
        WITH_SCRATCH(test_heir),
        WITH_SCRATCH(test_error_of_the_config),
        WITH_SCRATCH(test_limits),
        WITH_SCRATCH(test_order_of_a_look),
        WITH_SCRATCH(test_status_before_ledger),
        WITH_SCRATCH(test_relative_paths),
        WITH_SCRATCH(test_relative_search_path),
        WITH_SCRATCH(test_commands_once),
        WITH_SCRATCH(test_commands_truncated),
        WITH_SCRATCH(test_ledger_removed),
        WITH_SCRATCH(test_ledger_in_trouble),
        WITH_SCRATCH(test_fork),
        WITH_SCRATCH(test_lost_directory),
        WITH_SCRATCH(test_lost_and_found),
        WITH_SCRATCH(test_closed_while_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
