/* What a process that was killed had is what a resumed one has. */
#include "base/json.h"
#include "base/number.h"
#include "base/scalar.h"
#include "controller/exact.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "run_rig.h"

/* ---- values as exact JSON --------------------------------------------------------- */

static void assert_same(const struct hcb_value *a, const struct hcb_value *b)
{
    struct hcb_buf x = {0}, y = {0};
    hcb_exact_write(&x, a);
    hcb_exact_write(&y, b);
    assert_string_equal(hcb_buf_text(&x), hcb_buf_text(&y));
    assert_int_equal(a->type, b->type);
    hcb_buf_release(&x);
    hcb_buf_release(&y);
}

static void there_and_back(const struct hcb_value *v, const char *json)
{
    struct hcb_buf text = {0};
    struct hcb_value read = {0}, again = {0};
    hcb_exact_write(&text, v);
    if (json)
        assert_string_equal(hcb_buf_text(&text), json);
    assert_int_equal(hcb_json_parse(text.data, text.len, &read, NULL), 0);
    assert_int_equal(hcb_exact_read(&read, &again), 0);
    assert_same(v, &again);
    assert_true(hcb_value_equal(v, &again));
    hcb_buf_release(&text);
    hcb_value_release(&read);
    hcb_value_release(&again);
}

static void test_exact_scalars(void **state)
{
    static const struct { const char *spelt, *json; } rows[] = {
        {"1.10", "{\"$\":[1.1,\"1.10\"]}"}, {"1.5", "1.5"}, {"7", "7"}, {"007", "\"007\""},
        {"TRUE", "{\"$\":[true,\"TRUE\"]}"}, {"true", "true"}, {"~", "{\"$\":[null,\"~\"]}"},
        {".inf", "{\"$\":[{\"$\":\"Infinity\"},\".inf\"]}"},
        {"-.inf", "{\"$\":[{\"$\":\"-Infinity\"},\"-.inf\"]}"},
        {"9007199254740993", "9007199254740993"}, {"-9223372036854775808", "-9223372036854775808"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hcb_value v = {0};
        assert_int_equal(hcb_scalar_resolve(rows[i].spelt, strlen(rows[i].spelt), &v, NULL), 0);
        there_and_back(&v, rows[i].json);
        hcb_value_release(&v);
    }
}

static void test_exact_bytes_and_maps(void **state)
{
    struct hcb_value v = {0};
    (void)state;
    hcb_value_map(&v);
    assert_true(hcb_value_text(hcb_map_put(&v, "bytes"), "a\xff\0b", 4));
    struct hcb_value *inner = hcb_map_put(&v, "inner");
    hcb_value_map(inner);
    hcb_value_real(hcb_map_put(inner, "$"), 0.0 / 0.0);
    hcb_value_list(hcb_map_put(&v, "list"));
    hcb_value_real(hcb_list_add(hcb_map_get(&v, "list")), 5e-324);
    there_and_back(&v, "{\"bytes\":{\"$\":[\"61ff0062\"]},\"inner\":{\"$$\":{\"$\":\"NaN\"}},"
                       "\"list\":[5e-324]}");
    hcb_value_release(&v);
}

/* Keys of a Lua table are bytes, too. */
static void test_exact_keys(void **state)
{
    static const char *const keys[] = {"\xff", "\xfe", "$", "$$", "$ff", "$$ff", "", "\xe2\x82",
                                       "\xef\xbf\xbd", "\x01\n\""};
    struct hcb_value all = {0};
    (void)state;
    hcb_value_map(&all);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct hcb_value one = {0};
        hcb_value_map(&one);
        hcb_value_int(hcb_map_put(&one, keys[i]), (int64_t)i);
        there_and_back(&one, i == 0 ? "{\"$ff\":0}" : NULL);
        hcb_value_release(&one);
        hcb_value_int(hcb_map_put(&all, keys[i]), (int64_t)i);
    }
    there_and_back(&all, NULL);
    hcb_value_release(&all);
}

/* What is no such JSON is refused, and leaves nothing. */
static void test_exact_refuses(void **state)
{
    static const char *const rows[] = {"{\"$\":\"nan\"}", "{\"$\":[\"0g\"]}", "{\"$\":[1]}",
                                       "{\"$\":1}", "{\"$\":[]}", "{\"$\":[1,2]}",
                                       "{\"a\":[{\"$\":true}]}"};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hcb_value json = {0}, v = {0};
        assert_int_equal(hcb_json_parse(rows[i], strlen(rows[i]), &json, NULL), 0);
        assert_int_equal(hcb_exact_read(&json, &v), HOTCB_EFORMAT);
        assert_int_equal(v.type, HCB_NULL);
        hcb_value_release(&json);
    }
}

/* ---- a run that is killed, and one that goes on ------------------------------------- */

static const char counter[] =
    "local T = { params = { { 'every', 10 }, { 'label', 'x' }, { 'top', 1.0, max = math.huge } } }\n"
    "T.seen, T.low = 0, math.huge\n"
    "function T:handle(e, env) self.seen = self.seen + 1\n"
    "  print(self.seen, self.low, self.every, self.label, self.top) end\n"
    "function T:save() return { seen = self.seen, low = self.low, bytes = '\\255' } end\n"
    "function T:restore(t) self.seen, self.low = t.seen, t.low assert(t.bytes == '\\255') end\n"
    "return T\n";

/* Runs `first` in a process of its own, which then is killed. */
static void killed_as(void (*first)(struct run *r), int resume)
{
    int status;
    mkdir(scratch("run"), 0777);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct run r;
        run_init(&r);
        r.opt.resume = resume;
        run_open(&r);
        first(&r);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void killed(void (*first)(struct run *r))
{
    killed_as(first, 0);
}

static void run_resume(struct run *r)
{
    run_init(r);
    r->opt.resume = 1;
    run_open(r);
}

static void first_by_command(struct run *r)
{
    run_steps(r, 0, 0);
    run_load(r, "a", counter);
    run_load(r, "b", "function handle(e, env) print('b') end");
    run_must(r, "{'op':'set_params','id':'a','params':{'every':20,'label':1.10,"
                "'top':'Infinity'},'text':{'label':'1.10'}}");
    run_must(r, "{'op':'set_limits','id':'b','limits':{'time_ms':7007}}");
    run_must(r, "{'op':'disable','id':'b'}");
    run_steps(r, 1, 3);
    hotcb_env_step(r->env, 3);
    run_apply(r, "checkpoint");
    run_steps(r, 4, 6); /* lost: the checkpoint is what counts */
}

static void test_resume(void **state)
{
    struct run r;
    (void)state;
    killed(first_by_command);
    run_resume(&r);
    run_steps(&r, 4, 4);
    assert_int_equal(run_logged(&r, "a: 5 inf 20 1.10 inf\n"), 1);
    assert_int_equal(run_logged(&r, "b: b\n"), 0);
    assert_int_equal(hcb_map_int(hcb_map_get(run_callback(&r, "b"), "limits"), "time_ms", 0), 7007);
    assert_int_equal(run_logged(&r, "-: resuming run "), 1);
    char *list = hotcb_list(r.h);
    assert_int_equal(count_of(list, "\"state\":\"off\""), 1);
    assert_int_equal(count_of(list, "\"label\":\"1.10\""), 1);
    assert_int_equal(count_of(list, "\"calls\":5,"), 1); /* 4 as the state knew them, and one */
    hotcb_free(list);
    run_must(&r, "{'op':'set_params','id':'a','params':{'every':null}}");
    run_steps(&r, 5, 5);
    assert_int_equal(run_logged(&r, "a: 6 inf 10 1.10 inf\n"), 1);
    run_release(&r);
}

/* Resumed twice without a checkpoint in between: what was saved still is. */
static void test_resume_twice(void **state)
{
    struct run r;
    (void)state;
    killed(first_by_command);
    run_resume(&r);
    run_steps(&r, 4, 5);
    run_release(&r);
    run_resume(&r);
    run_steps(&r, 4, 4);
    assert_int_equal(run_logged(&r, "a: 5 inf 20 1.10 inf\n"), 1);
    run_release(&r);
}

/* A state that is too large to be read again does not take the place of one that is not. */
static void test_too_much_is_saved(void **state)
{
    enum { MANY = 66 };
    struct run r;
    (void)state;
    run_init(&r);
    run_open(&r);
    for (int i = 0; i < MANY; i++) {
        char id[20];
        snprintf(id, sizeof(id), "c%d", i);
        run_load(&r, id, "return { handle = function() end,\n"
                 "save = function() return { ('\\0'):rep(520000) } end }\n");
    }
    run_steps(&r, 0, 0);
    for (int i = 1; i < 3; i++) {
        hotcb_env_step(r.env, i);
        run_apply(&r, "checkpoint");
    }
    assert_int_equal(run_logged(&r, "hotcb.state.json would be larger than 64 MiB"), 1);
    run_release(&r);
    run_resume(&r);
    run_steps(&r, 3, 3);
    run_expect_state(&r, "c0", "on", true);
    run_expect_state(&r, "c65", "on", true);
    run_release(&r);
}

/* What is to be resumed outlives a process that ends before its first apply; a command
 * of the host's own comes after it. */
static void test_resume_later(void **state)
{
    struct run r;
    (void)state;
    killed(first_by_command);
    run_resume(&r);
    run_release(&r);
    run_resume(&r);
    run_must(&r, "{'op':'enable','id':'b'}");
    run_steps(&r, 4, 4);
    assert_int_equal(run_logged(&r, "a: 5 inf 20 1.10 inf\n"), 1);
    assert_int_equal(run_logged(&r, "b: b\n"), 1);
    run_release(&r);
}

/* Without it the callbacks that a command had loaded are gone, and the log says so. */
static void test_not_resumed(void **state)
{
    struct run r;
    (void)state;
    killed(first_by_command);
    run_start(&r);
    run_steps(&r, 4, 4);
    char *list = hotcb_list(r.h);
    assert_string_equal(list, "[]");
    hotcb_free(list);
    run_release(&r);
}

static void first_by_yaml(struct run *r)
{
    run_script("a", counter);
    scratch_write(run_path("hotcb.yaml"),
                  "callbacks:\n"
                  "  a: { target: { kind: lua_file, path: a.lua }, params: { every: 1, top: 2 } }\n"
                  "  gone: { target: { kind: lua_file, path: gone.lua } }\n");
    run_steps(r, 0, 0);
    run_must(r, "{'op':'set_params','id':'a','params':{'every':30,'top':3}}");
    run_steps(r, 1, 1);
}

/* Only keys that have changed since are applied, and what was wanted stays wanted. */
static void test_resume_with_yaml(void **state)
{
    struct run r;
    (void)state;
    killed(first_by_yaml);
    scratch_write(run_path("hotcb.yaml"),
                  "callbacks:\n"
                  "  a: { target: { kind: lua_file, path: a.lua }, params: { every: 1, top: 4 } }\n"
                  "  gone: { target: { kind: lua_file, path: gone.lua } }\n");
    run_resume(&r);
    run_steps(&r, 2, 2);
    assert_int_equal(run_logged(&r, "a: 1 inf 30 x 4.0\n"), 1);
    run_script("gone", "function handle(e, env) print('here') end");
    run_steps(&r, 3, 3);
    assert_int_equal(run_logged(&r, "gone: here\n"), 1);
    run_release(&r);
}

#define MANY (2 * HOTCB_LOOK_LOADS)

/* Each of many callbacks begins with that value; of the last one it never changes. */
static void write_many(const char *begin)
{
    struct hcb_buf text = {0};
    hcb_buf_str(&text, "callbacks:\n");
    for (int i = 0; i < MANY; i++)
        hcb_buf_printf(&text, "  c%d: { target: { kind: lua_file, path: a.lua }, "
                       "init: { label: %s }, params: { every: 5 } }\n", i,
                       i < MANY - 1 ? begin : "1.10");
    scratch_replace(run_path("hotcb.yaml"), hcb_buf_text(&text));
    hcb_buf_release(&text);
}

static void one_in_part(struct run *r)
{
    run_script("a", counter);
    write_many("1.10");
    run_steps(r, 0, 0);
    run_must(r, "{'op':'set_params','id':'c31','params':{'every':7}}");
    write_many("1.1");
    run_steps(r, 1, 1);
}

static void two_in_part(struct run *r)
{
    one_in_part(r);
    write_many("2");
    run_steps(r, 2, 2);
}

static void one_step(struct run *r) { run_steps(r, 3, 3); }

/* Killed in the middle of a file that takes several looks: what was carried out of it is known,
 * also to one that is killed in turn, and what the file says no more is not left as it was. */
static void test_resume_amid_yaml(void **state)
{
    static void (*const ways[])(struct run *) = {one_in_part, two_in_part};
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct run r;
        unlink(run_path("hotcb.state.json"));
        killed(ways[i / 2]);
        if (i % 2) {
            scratch_write(run_path("hotcb.yaml"), "half: [");
            killed_as(one_step, 1);
        }
        write_many("1.10");
        run_resume(&r);
        run_steps(&r, 3, 8);
        char *list = hotcb_list(r.h);
        assert_int_equal(count_of(list, "\"label\":\"1.10\""), MANY);
        assert_int_equal(count_of(list, "\"every\":5,"), MANY - 1);
        assert_int_equal(count_of(list, "\"every\":7,"), 1);
        hotcb_free(list);
        run_release(&r);
    }
}

/* A script that is gone, or has changed so that a value does not fit, is no reason to
 * lose the rest; what it had saved waits for it. */
static void test_resume_with_other_files(void **state)
{
    struct run r;
    (void)state;
    killed(first_by_command);
    assert_int_equal(unlink(run_path("a.lua")), 0);
    run_resume(&r);
    run_steps(&r, 4, 4);
    char *list = hotcb_list(r.h);
    assert_int_equal(count_of(list, "\"state\":\"FAILED\""), 1);
    hotcb_free(list);
    char text[sizeof(counter) + 20];
    snprintf(text, sizeof(text), "%s", counter);
    memcpy(strstr(text, "'every', 10"), "'other', 77", 11);
    memcpy(strstr(text, "self.every,"), "self.other,", 11);
    run_script("a", text);
    run_steps(&r, 5, 5);
    assert_int_equal(run_logged(&r, "a: 5 inf 77 1.10 inf\n"), 1);
    run_release(&r);
}

/* A damaged state, or none, is a fresh start. */
static void test_resume_from_nothing(void **state)
{
    static const char *const states[] = {NULL, "", "{", "[]", "{\"registry\":7}",
                                         "{\"registry\":[7,{},{\"id\":\"a b\"}],\"config\":\": [\"}",
                                         "{\"config_read\":7}", "{\"config_read\":\"[\"}",
                                         "{\"config_read\":\"7\"}", "{\"config_read\":\"{}\"}",
                                         "{\"config_read\":\"{\\\"a\\\":{\\\"init\\\":7}}\"}"};
    struct run r;
    (void)state;
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        mkdir(scratch("run"), 0777);
        if (states[i])
            scratch_write(run_path("hotcb.state.json"), states[i]);
        run_resume(&r);
        run_steps(&r, 0, 1);
        char *list = hotcb_list(r.h);
        assert_string_equal(list, "[]");
        assert_int_equal(run_logged(&r, "nothing is resumed"), 0);
        hotcb_free(list);
        run_release(&r);
    }
}

/* Where there was something to resume, that is said. */
static void test_resume_in_vain(void **state)
{
    static const char *const states[] = {NULL, "", "{\"format\":1,", "[]"};
    (void)state;
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        struct run r;
        killed(first_by_command);
        unlink(run_path("hotcb.state.json"));
        if (states[i])
            scratch_write(run_path("hotcb.state.json"), states[i]);
        run_resume(&r);
        run_steps(&r, 4, 5);
        assert_int_equal(run_logged(&r, "-: nothing is resumed: "), 1);
        run_release(&r);
    }
}

/* ---- a command file that was edited ------------------------------------------------- */

#define REPEATED (HOTCB_LOOK_OPS + 50)

static void write_commands(const char *before)
{
    struct hcb_buf text = {0};
    hcb_buf_str(&text, before);
    for (int i = 0; i < REPEATED; i++)
        hcb_buf_printf(&text, "{\"op\":\"enable\",\"id\":\"a\",\"cmd\":\"n%d\"}\n", i);
    scratch_replace(run_path("hotcb.commands.jsonl"), hcb_buf_text(&text));
    hcb_buf_release(&text);
}

static void edit_and_look(struct run *r, int looks)
{
    run_load(r, "a", "function handle() end");
    write_commands("");
    run_steps(r, 0, 4);
    write_commands("\n");
    run_steps(r, 5, 4 + looks);
}

static void edited_read_in_part(struct run *r) { edit_and_look(r, 1); }
static void edited_read(struct run *r) { edit_and_look(r, 4); }

/* What it repeats is not executed again, wherever the process was killed. */
static void test_edited_commands(void **state)
{
    static void (*const ways[])(struct run *) = {edited_read_in_part, edited_read};
    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct run r;
        unlink(run_path("hotcb.applied.jsonl"));
        unlink(run_path("hotcb.state.json"));
        killed(ways[i]);
        run_start(&r);
        run_steps(&r, 0, 5);
        char *ledger = file_read("run/hotcb.applied.jsonl");
        assert_int_equal(count_of(ledger, "\"origin\":\"command\""), REPEATED);
        free(ledger);
        run_release(&r);
    }
}

static void answered_and_not_saved(struct run *r)
{
    run_load(r, "a", "function handle() end");
    write_commands("");
    run_steps(r, 0, 0);
    char *saved = file_read("run/hotcb.state.json");
    run_steps(r, 1, 4);
    scratch_write(run_path("hotcb.state.json"), saved); /* as if it had died before that */
    free(saved);
}

/* The same where only the ledger knows how far it had come, and the line that it names is not
 * where it was any more. */
static void test_edited_behind_the_state(void **state)
{
    struct run r;
    (void)state;
    killed(answered_and_not_saved);
    char *text = file_read("run/hotcb.commands.jsonl"), *at = strstr(text, "n290");
    memmove(at + 3, at + 4, strlen(at + 3)); /* n29, behind the place that was saved */
    scratch_replace(run_path("hotcb.commands.jsonl"), text);
    free(text);
    run_start(&r);
    run_steps(&r, 0, 5);
    char *ledger = file_read("run/hotcb.applied.jsonl");
    assert_int_equal(count_of(ledger, "\"origin\":\"command\""), REPEATED);
    free(ledger);
    run_release(&r);
}

/* ---- answered, and not saved ---------------------------------------------------------- */

static void send(const char *line)
{
    FILE *f = fopen(run_path("hotcb.commands.jsonl"), "a");
    assert_non_null(f);
    assert_true(fputs(line, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* More than one look takes in; the last ones but for that which is refused count. */
static void send_many(void)
{
    for (int i = 0; i < REPEATED; i++)
        send("{\"op\":\"enable\",\"id\":\"a\"}\n");
    send("{\"op\":\"load\",\"id\":\"b\",\"target\":{\"kind\":\"lua_file\","
         "\"path\":\"b.lua\"}}\n\n");
    send("{\"op\":\"set_params\",\"id\":\"a\",\"params\":{\"every\":30,\"label\":1.10}}\n");
    send("{\"op\":\"set_params\",\"id\":\"a\",\"params\":{\"every\":\"no number\"}}\n");
}

#define SAVED "{\"op\":\"set_params\",\"id\":\"a\",\"params\":{\"every\":20}}\n"

/* Dies between the ledger and the state. */
static void answered_last(struct run *r)
{
    run_load(r, "a", counter);
    run_script("b", "function handle(e, env) print('b') end");
    send(SAVED);
    run_steps(r, 0, 1);
    char *saved = file_read("run/hotcb.state.json");
    send_many();
    run_steps(r, 2, 5);
    assert_true(run_logged(r, "b: b\n") > 0);
    scratch_replace(run_path("hotcb.state.json"), saved);
    free(saved);
}

static void expect_answered(struct run *r, int64_t step)
{
    run_steps(r, step, step);
    assert_int_equal(run_logged(r, " 30 1.10 1.0\n"), 1);
    assert_int_equal(run_logged(r, "b: b\n"), 1);
}

/* Who resumes has what these commands did, and the ledger has each of them once. */
static void test_answered_last(void **state)
{
    struct run r;
    (void)state;
    killed(answered_last);
    run_resume(&r);
    expect_answered(&r, 6);
    run_release(&r);
    run_resume(&r); /* what was done again is saved */
    expect_answered(&r, 7);
    run_release(&r);
    char *ledger = file_read("run/hotcb.applied.jsonl");
    assert_int_equal(count_of(ledger, "\"origin\":\"command\""), REPEATED + 4);
    free(ledger);
}

/* A command of the host's own comes after them. */
static void test_answered_before_the_host(void **state)
{
    struct run r;
    (void)state;
    killed(answered_last);
    run_resume(&r);
    run_must(&r, "{'op':'set_params','id':'a','params':{'every':40}}");
    run_steps(&r, 6, 6);
    assert_int_equal(run_logged(&r, " 40 1.10 1.0\n"), 1);
    run_release(&r);
}

/* Another file has come since the run was opened, or what is to be done again was cut off:
 * what comes then is new. */
static void test_answered_in_a_file_that_is_gone(void **state)
{
    static const char *const files[] = {"", "{\"op\":\"disable\",\"id\":\"a\"}\n", SAVED,
                                        NULL};
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct run r;
        unlink(run_path("hotcb.commands.jsonl"));
        killed(answered_last);
        run_resume(&r);
        if (files[i])
            scratch_replace(run_path("hotcb.commands.jsonl"), files[i]);
        else
            unlink(run_path("hotcb.commands.jsonl"));
        run_steps(&r, 6, 7);
        send("{\"op\":\"set_params\",\"id\":\"a\",\"params\":{\"every\":50}}\n");
        run_steps(&r, 8, 8);
        run_expect_state(&r, "a", i == 1 ? "off" : "on", i != 1);
        const struct hcb_value *params = hcb_map_get(run_callback(&r, "a"), "params");
        assert_int_equal(hcb_map_int(params, "every", 0), 50);
        run_release(&r);
        char *ledger = file_read("run/hotcb.applied.jsonl");
        assert_int_equal(count_of(ledger, "\"params\":{\"every\":50}"), i + 1);
        free(ledger);
    }
}

/* As by a process that had no memory for the last of what it did again: its state is of the
 * middle of that, and says where the ledger's lines about all of it begin. */
static void answered_in_part(struct run *r)
{
    static const char key[] = "\"ledger_bytes\":";
    run_load(r, "a", counter);
    run_steps(r, 0, 0);
    char *first = file_read("run/hotcb.state.json");
    send(SAVED);
    run_steps(r, 1, 1);
    char *middle = file_read("run/hotcb.state.json");
    send("{\"op\":\"set_params\",\"id\":\"a\",\"params\":{\"every\":30,\"label\":1.10}}\n");
    run_steps(r, 2, 2);
    memcpy(strstr(middle, key) + strlen(key), strstr(first, key) + strlen(key), 20);
    scratch_replace(run_path("hotcb.state.json"), middle);
    free(first);
    free(middle);
}

static void test_answered_in_part(void **state)
{
    struct run r;
    (void)state;
    killed(answered_in_part);
    run_resume(&r);
    run_steps(&r, 3, 3);
    assert_int_equal(run_logged(&r, " 30 1.10 1.0\n"), 1);
    run_release(&r);
}

/* ---- a line that is too long --------------------------------------------------------- */

#define LONG (3 * HOTCB_LOOK_BYTES)

static void send_long(const char *end)
{
    char *text = malloc(LONG + 1);
    assert_non_null(text);
    memset(text, 'x', LONG);
    text[LONG] = '\0';
    send("{\"op\":\"enable\",\"id\":\"a\"}\n");
    send(text);
    send(end);
    free(text);
}

static void long_line(struct run *r)
{
    run_steps(r, 0, 0);
    send_long("\n");
    run_steps(r, 1, 9);
}

static void long_line_begun(struct run *r)
{
    run_steps(r, 0, 0);
    send_long("");
    run_steps(r, 1, 9);
}

static void long_line_closed(struct run *r)
{
    long_line_begun(r);
    run_close(r);
}

/* It is answered before its end is there, and not again by the next processes, whether or not
 * that has come by then. */
static void test_long_line(void **state)
{
    static void (*const ways[])(struct run *) = {long_line, long_line_begun, long_line_closed};
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct run r;
        unlink(run_path("hotcb.commands.jsonl"));
        unlink(run_path("hotcb.applied.jsonl"));
        unlink(run_path("hotcb.state.json"));
        killed(ways[i % 3]);
        for (int again = 0; again < 3; again++) {
            (i < 3 ? run_start : run_resume)(&r);
            if (again == 1)
                send("\n{\"op\":\"disable\",\"id\":\"b\"}\n");
            run_steps(&r, 10, 19);
            assert_int_equal(run_logged(&r, "no whole line"), 0);
            run_release(&r);
        }
        assert_string_equal(run_ledger(), "enable a rejected|? - rejected|disable b rejected");
    }
}

/* ---- there and back within one look -------------------------------------------------- */

#define WANTS(every) \
    "callbacks: {a: {target: {kind: lua_file, path: a.lua}, params: {every: " every "}}}"

/* What the file of commands undoes was written when that was found to be another one. */
static void undone(struct run *r)
{
    run_script("a", counter);
    scratch_write(run_path("hotcb.yaml"), WANTS("30"));
    scratch_write(run_path("hotcb.commands.jsonl"), "{\"op\":\"enable\",\"id\":\"a\"}\n");
    run_steps(r, 0, 2);
    scratch_replace(run_path("hotcb.yaml"), WANTS("40"));
    scratch_replace(run_path("hotcb.commands.jsonl"), "{\"op\":\"set_params\",\"id\":\"a\","
                    "\"params\":{\"every\":30}}\n");
    run_steps(r, 3, 3);
    assert_int_equal(hcb_map_int(hcb_map_get(run_callback(r, "a"), "params"), "every", 0), 30);
}

static void test_undone(void **state)
{
    struct run r;
    (void)state;
    killed(undone);
    run_resume(&r);
    run_steps(&r, 4, 4);
    assert_int_equal(run_logged(&r, " 30 x 1.0\n"), 1);
    run_release(&r);
}

/* ---- what does not load yet ------------------------------------------------------------ */

#define TWO(a, b) "callbacks: {a: {target: {kind: lua_file, path: " a "}}, b: {target: {kind: " \
                  "lua_file, path: b.lua}, params: {every: " b "}}}"

static void waiting(struct run *r)
{
    run_script("a", counter);
    run_script("b", counter);
    scratch_write(run_path("hotcb.yaml"), TWO("a.lua", "many"));
    run_steps(r, 0, 1);
    run_must(r, "{'op':'set_params','id':'a','params':{'every':20}}");
    scratch_replace(run_path("hotcb.yaml"), TWO("c.lua", "many"));
    run_steps(r, 2, 2);
    run_must(r, "{'op':'set_params','id':'a','params':{'every':30}}");
}

/* Another target that does not load waits behind the version that runs, with its values; and a
 * callback that never loaded is as strict with its own as before. */
static void test_waiting(void **state)
{
    struct run r;
    (void)state;
    killed(waiting);
    for (int again = 0; again < 2; again++) {
        run_resume(&r);
        run_steps(&r, 3, 4);
        assert_int_equal(run_logged(&r, "-: resuming run "), 1);
        assert_int_equal(run_logged(&r, ": 2 callbacks\n"), 1);
        run_expect_state(&r, "a", "on", true);
        run_expect_state(&r, "b", "FAILED", true);
        const struct hcb_value *params = hcb_map_get(run_callback(&r, "a"), "params");
        assert_int_equal(hcb_map_int(params, "every", 0), 30);
        assert_non_null(strstr(hcb_map_text(run_callback(&r, "a"), "pending", ""), "c.lua"));
        run_release(&r);
    }
    run_resume(&r);
    run_script("c", counter);
    run_steps(&r, 5, 6);
    assert_non_null(strstr(hcb_map_text(run_callback(&r, "a"), "path", ""), "c.lua"));
    run_release(&r);
}

/* ---- what hotcb.yaml said in vain -------------------------------------------------------- */

static void refused(struct run *r)
{
    run_script("a", counter);
    scratch_write(run_path("hotcb.yaml"), WANTS("30"));
    run_steps(r, 0, 1);
    scratch_replace(run_path("hotcb.yaml"), WANTS("many"));
    run_steps(r, 2, 2);
    assert_int_equal(run_logged(r, "set_params a (yaml): rejected"), 1);
}

/* A key that was refused counts as not read, for who resumes as for who was not killed: the
 * next file that says the same is not one that says nothing new. */
static void test_refused(void **state)
{
    struct run r;
    (void)state;
    killed(refused);
    char text[sizeof(counter)];
    snprintf(text, sizeof(text), "%s", counter);
    memcpy(strstr(text, "'every', 10"), "'every',''  ", 11);
    for (int again = 0; again < 2; again++) { /* the second process resumes what the first read */
        run_resume(&r);
        run_steps(&r, 3, 4);
        assert_int_equal(run_logged(&r, " 30 x 1.0\n"), 2);
        assert_int_equal(run_logged(&r, "(yaml): rejected"), 0); /* it was not saved since */
        run_release(&r);
    }
    run_resume(&r);
    run_script("a", text);
    run_steps(&r, 5, 5);
    scratch_replace(run_path("hotcb.yaml"), WANTS("many") "\n# saved again\n");
    run_steps(&r, 6, 6);
    assert_int_equal(run_logged(&r, " many x 1.0\n"), 1);
    run_must(&r, "{'op':'set_params','id':'a','params':{'every':'few'}}");
    run_release(&r);
    run_resume(&r); /* now it is read, and does not undo the command */
    run_steps(&r, 7, 7);
    assert_int_equal(run_logged(&r, " few x 1.0\n"), 1);
    run_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_scalars),
        cmocka_unit_test(test_exact_bytes_and_maps),
        cmocka_unit_test(test_exact_keys),
        cmocka_unit_test(test_exact_refuses),
        WITH_SCRATCH(test_resume),
        WITH_SCRATCH(test_resume_twice),
        WITH_SCRATCH(test_too_much_is_saved),
        WITH_SCRATCH(test_resume_later),
        WITH_SCRATCH(test_not_resumed),
        WITH_SCRATCH(test_resume_with_yaml),
        WITH_SCRATCH(test_resume_amid_yaml),
        WITH_SCRATCH(test_resume_with_other_files),
        WITH_SCRATCH(test_resume_from_nothing),
        WITH_SCRATCH(test_resume_in_vain),
        WITH_SCRATCH(test_edited_commands),
        WITH_SCRATCH(test_edited_behind_the_state),
        WITH_SCRATCH(test_answered_last),
        WITH_SCRATCH(test_answered_before_the_host),
        WITH_SCRATCH(test_answered_in_a_file_that_is_gone),
        WITH_SCRATCH(test_answered_in_part),
        WITH_SCRATCH(test_long_line),
        WITH_SCRATCH(test_undone),
        WITH_SCRATCH(test_waiting),
        WITH_SCRATCH(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
