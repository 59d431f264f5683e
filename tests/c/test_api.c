/* The public functions, as a program calls them: rightly, wrongly, and with nothing. */
#include "run_rig.h"

#include <locale.h>
#include <malloc.h>
#include <sys/wait.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const one_event[] = {"fit_end"};

/* ---- nothing --------------------------------------------------------------- */

/* Every function, on a handle that does nothing (NULL, or one whose open failed). */
static void call_all_on(hotcb *h)
{
    hotcb_env *env = hotcb_env_new();
    hotcb_env_num(env, "loss", 1);
    assert_int_equal(hotcb_apply(h, env, "fit_end"), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_keep(env, "loss"), HOTCB_ENOENT); /* what was set has ended */
    assert_int_equal(hotcb_apply(h, NULL, "fit_end"), HOTCB_EINVAL);
    assert_int_equal(hotcb_apply(h, env, NULL), HOTCB_EINVAL);
    assert_int_equal(hotcb_apply(h, NULL, NULL), HOTCB_EINVAL);
    assert_int_equal(hotcb_apply_events(h, env, one_event, 1), HOTCB_EINVAL);
    assert_int_equal(hotcb_apply_events(h, NULL, NULL, 3), HOTCB_EINVAL);
    assert_int_equal(hotcb_poll(h, env), HOTCB_EINVAL);
    assert_int_equal(hotcb_poll(h, NULL), HOTCB_EINVAL);
    assert_int_equal(hotcb_dispatch(h, env, one_event, 1), HOTCB_EINVAL);
    assert_int_equal(hotcb_dispatch(h, NULL, NULL, 0), HOTCB_EINVAL);
    assert_null(hotcb_stop_reason(h));
    assert_int_equal(hotcb_command(h, "{\"op\":\"enable\",\"id\":\"x\"}"), HOTCB_EINVAL);
    assert_int_equal(hotcb_command(h, NULL), HOTCB_EINVAL);
    assert_null(hotcb_list(h));
    assert_true(strlen(hotcb_errmsg(h)) > 0);
    hotcb_env_free(env);
}

static void test_null(void **state)
{
    char err[100] = "before";
    char *report = err;
    (void)state;
    call_all_on(NULL);
    assert_string_equal(hotcb_errmsg(NULL),
                        "there is no handle: it was not opened, or there was no memory for it");
    assert_int_equal(hotcb_open(NULL, NULL), HOTCB_EINVAL);
    hotcb_close(NULL);
    hotcb_free(NULL);
    assert_int_equal(hotcb_send(NULL, "{}", err, sizeof(err)), HOTCB_EINVAL);
    assert_string_equal(err, "a directory and a command must be given");
    assert_int_equal(hotcb_send("/", NULL, NULL, 0), HOTCB_EINVAL);
    assert_int_equal(hotcb_send("/", NULL, err, 0), HOTCB_EINVAL);
    assert_int_equal(hotcb_check(NULL, NULL, &report), HOTCB_EINVAL);
    assert_null(report);
    assert_int_equal(hotcb_check(NULL, NULL, NULL), HOTCB_EINVAL);
}

static void test_null_env(void **state)
{
    hotcb_env *env = hotcb_env_new();
    (void)state;
    hotcb_env_free(NULL);
    assert_int_equal(hotcb_env_step(NULL, 1), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_int(NULL, "x", 1), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_num(NULL, "x", 1), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_bool(NULL, "x", 1), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_str(NULL, "x", "y"), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_keep(NULL, "x"), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_unset(NULL, "x"), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_group(NULL, "x"), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_lazy(NULL, "x", NULL, NULL), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_int(env, NULL, 1), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_num(env, NULL, 1), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_bool(env, NULL, 1), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_str(env, NULL, "y"), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_str(env, "x", NULL), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_keep(env, NULL), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_unset(env, NULL), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_group(env, NULL), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_lazy(env, NULL, NULL, NULL), HOTCB_EINVAL);
    hotcb_env_free(env);
}

static void test_texts(void **state)
{
    (void)state;
    assert_string_equal(hotcb_version(), HOTCB_VERSION);
    assert_int_equal(hotcb_abi(), HOTCB_ABI);
    for (int code = -20; code <= 5; code++)
        assert_true(strlen(hotcb_strerror(code)) > 0);
    assert_string_equal(hotcb_strerror(HOTCB_EBUSY), "another run owns the run directory");
    assert_string_equal(hotcb_strerror(0), "no error");
    assert_string_equal(hotcb_strerror(-1000), "an unknown error");
}

/* ---- open ------------------------------------------------------------------ */

static void test_open_makes_what_it_needs(void **state)
{
    static const char *const names[] = {"hotcb.yaml", "hotcb.commands.jsonl", "hotcb.applied.jsonl",
                                        "hotcb.status.json", "hotcb.metrics.jsonl",
                                        "hotcb.media.jsonl", "hotcb.log", "hotcb.lock"};
    struct run r;
    (void)state;
    run_init(&r);
    snprintf(r.dir, sizeof(r.dir), "%s", scratch("deep/er/run"));
    assert_int_equal(hotcb_open(&r.h, &r.opt), 0);
    assert_string_equal(hotcb_errmsg(r.h), "");
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[100];
        snprintf(path, sizeof(path), "deep/er/run/%s", names[i]);
        if (!file_exists(path))
            fail_msg("no %s", names[i]);
    }
    run_release(&r);
}

/* What others wrote into these files stays. */
static void test_open_keeps_what_is_there(void **state)
{
    struct run r;
    (void)state;
    mkdir(scratch("run"), 0777);
    scratch_write(run_path("hotcb.yaml"), "callbacks: {}\n# mine\n");
    scratch_write(run_path("hotcb.commands.jsonl"), "{\"op\":\"enable\",\"id\":\"x\"}\n");
    run_start(&r);
    run_steps(&r, 1, 3);
    run_release(&r);
    assert_file("run/hotcb.yaml", "callbacks: {}\n# mine\n");
    assert_file("run/hotcb.commands.jsonl", "{\"op\":\"enable\",\"id\":\"x\"}\n");
}

static const struct open_row {
    const char *dir; /* below the scratch folder, where there is a file "file" */
    int no_create;
    int code;
    const char *says;
} open_rows[] = {
    {"none", 1, HOTCB_ENOENT, "No such file or directory"},
    {"file", 0, HOTCB_EIO, "file"},
    {"file", 1, HOTCB_EIO, "is not a directory"},
    {"file/below", 0, HOTCB_EIO, "file"},
};

static void test_open_that_fails(void **state)
{
    (void)state;
    scratch_write(scratch("file"), "x");
    for (size_t i = 0; i < COUNT(open_rows); i++) {
        struct run r;
        run_init(&r);
        snprintf(r.dir, sizeof(r.dir), "%s", scratch(open_rows[i].dir));
        r.opt.no_create = open_rows[i].no_create;
        assert_int_equal(hotcb_open(&r.h, &r.opt), open_rows[i].code);
        assert_non_null(r.h);
        if (!strstr(hotcb_errmsg(r.h), open_rows[i].says))
            fail_msg("%s: %s", open_rows[i].dir, hotcb_errmsg(r.h));
        char before[300];
        snprintf(before, sizeof(before), "%s", hotcb_errmsg(r.h));
        call_all_on(r.h);
        assert_string_equal(hotcb_errmsg(r.h), before); /* why it does nothing */
        run_release(&r);
    }
    assert_false(file_exists("none"));
}

/* A second run in the same directory, of this process, is told who has it; and leaves
 * the first one as it is. */
static void test_second_open(void **state)
{
    struct run r, second;
    char pid[32];
    (void)state;
    run_start(&r);
    run_init(&second);
    snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hotcb_open(&second.h, &second.opt), HOTCB_EBUSY);
        assert_non_null(strstr(hotcb_errmsg(second.h), pid));
        run_close(&second);
    }
    run_load(&r, "a", "function handle() print('here') end");
    run_steps(&r, 1, 1);
    assert_int_equal(run_logged(&r, "a: here"), 1);
    run_close(&r);
    run_open(&second);
    run_release(&second);
    run_release(&r);
}

/* The same from another process. */
static void test_open_of_another_process(void **state)
{
    struct run r, second;
    (void)state;
    run_start(&r);
    pid_t child = fork();
    if (child == 0) {
        char pid[32];
        snprintf(pid, sizeof(pid), "%ld", (long)getppid());
        run_init(&second);
        int code = hotcb_open(&second.h, &second.opt);
        bool good = code == HOTCB_EBUSY && strstr(hotcb_errmsg(second.h), pid);
        _exit(good ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    run_release(&r);
}

/* A program that was built with fewer options gets the defaults of the others. */
static void test_short_options(void **state)
{
    static const size_t sizes[] = {0, sizeof(size_t), offsetof(hotcb_options, config_path),
                                   offsetof(hotcb_options, log),
                                   offsetof(hotcb_options, errors), sizeof(hotcb_options),
                                   sizeof(hotcb_options) + 64};
    (void)state;
    assert_int_equal(chdir(scratch_dir), 0);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct { hotcb_options opt; char more[64]; } long_one;
        struct run r;
        run_init(&r);
        memset(&long_one, 0x7f, sizeof(long_one)); /* what is not ours to read */
        memcpy(&long_one.opt, &r.opt, sizes[i] < sizeof(r.opt) ? sizes[i] : sizeof(r.opt));
        long_one.opt.size = sizes[i];
        assert_int_equal(hotcb_open(&r.h, &long_one.opt), 0);
        assert_int_equal(file_exists("hotcb.lock"), sizes[i] <= sizeof(size_t));
        assert_int_equal(run_apply(&r, "fit_start"), 0);
        run_release(&r);
        if (sizes[i] <= sizeof(size_t))
            assert_int_equal(unlink(scratch("hotcb.lock")), 0);
    }
    hotcb *h;
    assert_int_equal(hotcb_open(&h, NULL), 0);
    hotcb_close(h);
    assert_int_equal(chdir("/"), 0);
}

static void test_paths_apart(void **state)
{
    struct run r;
    char config[128], commands[128];
    (void)state;
    run_init(&r);
    snprintf(config, sizeof(config), "%s", scratch("other.yaml"));
    snprintf(commands, sizeof(commands), "%s", scratch("other.jsonl"));
    r.opt.config_path = config;
    r.opt.commands_path = commands;
    mkdir(r.dir, 0777);
    scratch_write(scratch("hb.lua"), "function handle() print('here') end");
    scratch_write(config, "callbacks: { hb: { target: { kind: lua_file, path: hb.lua } } }");
    run_open(&r);
    scratch_append(commands, "{\"op\":\"disable\",\"id\":\"hb\"}\n");
    run_steps(&r, 1, 1);
    assert_string_equal(run_ledger(), "load hb applied|disable hb applied");
    assert_false(file_exists("run/hotcb.yaml"));
    assert_false(file_exists("run/hotcb.commands.jsonl"));
    run_release(&r);
}

/* ---- commands -------------------------------------------------------------- */

static const struct command_row {
    const char *json;
    int code;
    const char *says;
} command_rows[] = {
    {"{'op':'enable','id':'hb'}", 0, ""},
    {"{'op':'set_params','id':'hb','params':{'every':5}}", 0, ""},
    {"{'op':'set_params','id':'hb','params':{'evry':5}}", HOTCB_EREFUSED,
     "unknown parameter 'evry' - did you mean 'every'?"},
    {"{'op':'set_params','id':'hb','params':{'every':0.5}}", HOTCB_EREFUSED,
     "every=0.5: declared as an integer (default 50)"},
    {"{'op':'set_limits','id':'hb','limits':{'time_ms':5}}", 0, ""},
    {"{'op':'set_limits','id':'hb','limits':{'time_m':5}}", HOTCB_EFORMAT, "limits.time_m"},
    {"{'op':'enable','id':'hbb'}", HOTCB_ENOENT,
     "no callback 'hbb' - did you mean 'hb'? (known: hb)"},
    {"{'op':'reload','id':'zzzzz'}", HOTCB_ENOENT, "no callback 'zzzzz' (known: hb)"},
    {"{'op':'load','id':'x','target':{'kind':'lua_file','path':'none.lua'}}", HOTCB_EREFUSED,
     "none.lua"},
    {"{'op':'load','id':'x','target':{'kind':'module','path':'hotcb.callbacks.none'}}",
     HOTCB_EREFUSED, "no shipped module"},
    {"{'op':'load','id':'x','target':{'kind':'python_file','path':'x.py'}}", HOTCB_EREFUSED, "Lua"},
    {"{'op':'fly','id':'hb'}", HOTCB_EFORMAT, "unknown op 'fly'"},
    {"{'op':'fail','id':'hb'}", HOTCB_EFORMAT, "unknown op 'fail'"},
    {"{'op':'enable'}", HOTCB_EFORMAT, "\"id\" is missing"},
    {"{'op':'enable','id':'hb'} x", HOTCB_EFORMAT, "not valid JSON"},
    {"", HOTCB_EFORMAT, "not valid JSON"},
    {"{'op':'disable','id':'hb'}", 0, ""},
    {"{'op':'unload','id':'hb'}", 0, ""},
    {"{'op':'unload','id':'hb'}", HOTCB_ENOENT, "(known: none)"},
};

static void test_command(void **state)
{
    struct run r;
    char want[4000] = "load hb applied";
    (void)state;
    run_start(&r);
    run_must(&r, "{'op':'load','id':'hb','target':{'kind':'module',"
                 "'path':'hotcb.callbacks.heartbeat'}}");
    for (size_t i = 0; i < COUNT(command_rows); i++) {
        int code = run_command(&r, command_rows[i].json);
        if (code != command_rows[i].code ||
            (code < 0 && !strstr(hotcb_errmsg(r.h), command_rows[i].says)))
            fail_msg("%s: %d %s", command_rows[i].json, code, hotcb_errmsg(r.h));
    }
    char *ledger = file_read("run/hotcb.applied.jsonl");
    assert_int_equal(count_of(ledger, "\n"), COUNT(command_rows) + 1);
    assert_int_equal(count_of(ledger, "\"origin\":\"host\""), COUNT(command_rows) + 1);
    assert_int_equal(count_of(ledger, "\"decision\":\"applied\""), 6);
    assert_int_equal(strncmp(run_ledger(), want, strlen(want)), 0);
    free(ledger);
    run_release(&r);
}

static const struct command_row send_rows[] = {
    {"{'op':'enable','id':'hb'}", 0, ""},
    {"{'op':'enable'}", HOTCB_EFORMAT, "\"id\" is missing"},
    {"{'op':'enable','id':'hb'", HOTCB_EFORMAT, "not valid JSON"},
    {"{'op':'enable',\n'id':'hb'}", HOTCB_EFORMAT, "one line"},
    {"", HOTCB_EFORMAT, "not valid JSON"},
};

static void test_send(void **state)
{
    struct run r;
    char err[200];
    (void)state;
    run_init(&r);
    assert_int_equal(hotcb_send(r.dir, "{\"op\":\"enable\",\"id\":\"x\"}", err, sizeof(err)),
                     HOTCB_ENOENT);
    assert_true(strlen(err) > 0);
    assert_false(file_exists("run"));
    run_open(&r);
    for (size_t i = 0; i < COUNT(send_rows); i++) {
        char text[200];
        snprintf(text, sizeof(text), "%s", send_rows[i].json);
        for (char *c = text; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        assert_int_equal(hotcb_send(r.dir, text, err, sizeof(err)), send_rows[i].code);
        assert_true(strstr(err, send_rows[i].says) || *err == '\0');
        assert_int_equal(hotcb_send(r.dir, text, NULL, 0), send_rows[i].code);
    }
    assert_file("run/hotcb.commands.jsonl",
                "{\"op\":\"enable\",\"id\":\"hb\"}\n{\"op\":\"enable\",\"id\":\"hb\"}\n");
    assert_int_equal(hotcb_poll(r.h, NULL), 2);
    assert_int_equal(hotcb_poll(r.h, NULL), 0);
    assert_string_equal(run_ledger(), "enable hb rejected|enable hb rejected");
    run_release(&r);
}

static void test_list(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    char *list = hotcb_list(r.h);
    assert_string_equal(list, "[]");
    hotcb_free(list);
    run_load(&r, "a", "return { name = '\\27\\255\"', params = { { 'n', math.mininteger }, { 'd', "
                      "1.0, max = math.huge }, { 'l', {} } }, schedule = 'n', events = { 'mine' }, "
                      "handle = print }");
    run_load(&r, "b", "function set_params(p) end function handle() error('\\1') end");
    run_must(&r, "{'op':'set_params','id':'b','params':{'x':{'y':[null,1.5]}}}");
    run_steps(&r, 1, 1);
    const struct hcb_value *a = run_callback(&r, "a");
    assert_string_equal(hcb_map_text(a, "state", ""), "on");
    assert_true(hcb_map_int(hcb_map_get(a, "params"), "n", 0) == INT64_MIN);
    assert_int_equal(hcb_map_get(a, "waiting_for")->u.list.n, 1);
    run_expect_state(&r, "b", "FAILED", true);
    run_release(&r);
}

/* ---- check ----------------------------------------------------------------- */

static const struct check_row {
    const char *text, *symbol; /* no text: no such file */
    int code;
    const char *part; /* of the report */
} check_rows[] = {
    {"function handle() end", NULL, 0, "\"ok\":true"},
    {"function handle() end", NULL, 0, "\"declared\":null"},
    {"return { name = 'N', handle = print, params = { { 'x', 1 } }, events = { 'fit_end' } }", NULL,
     0, "\"name\":\"N\""},
    {"return { handle = print, params = { { 'every', 1 } }, schedule = 'every' }", NULL, 0,
     "\"schedule\":\"every\""},
    {"return { A = { handle = print } }", "A", 0, "\"ok\":true"},
    {"return { A = { handle = print } }", "B", HOTCB_EREFUSED, "no table named 'B'"},
    {"x = ", NULL, HOTCB_EREFUSED, "it.lua:1: unexpected symbol near <eof>"},
    {"x = ", NULL, HOTCB_EREFUSED, "\"ok\":false"},
    {"\nerror('no')", NULL, HOTCB_EREFUSED, "it.lua:2: no"},
    {"\nerror('no')", NULL, HOTCB_EREFUSED, "stack traceback:"},
    {"while true do end", NULL, HOTCB_EREFUSED, "\"reason\":\"budget\""},
    {"", NULL, HOTCB_EREFUSED, "is empty"},
    {NULL, NULL, HOTCB_EREFUSED, "\"reason\":\"file\""},
    {"require 'none'", NULL, HOTCB_EREFUSED, "no such module"},
    {"print(require 'beside') function handle() end", NULL, 0, "\"ok\":true"},
};

static void test_check(void **state)
{
    (void)state;
    scratch_write(scratch("beside.lua"), "return 5");
    for (size_t i = 0; i < COUNT(check_rows); i++) {
        const struct check_row *row = &check_rows[i];
        struct hcb_value v = {0};
        char *report;
        unlink(scratch("it.lua"));
        if (row->text)
            scratch_write(scratch("it.lua"), row->text);
        assert_int_equal(hotcb_check(scratch("it.lua"), row->symbol, &report), row->code);
        assert_non_null(report);
        assert_int_equal(hcb_json_parse(report, strlen(report), &v, NULL), 0);
        assert_string_equal(hcb_map_text(&v, "path", ""), scratch("it.lua"));
        if (!strstr(report, row->part))
            fail_msg("%s: %s has no %s", row->text, report, row->part);
        hotcb_free(report);
        hcb_value_release(&v);
        assert_int_equal(hotcb_check(scratch("it.lua"), row->symbol, NULL), row->code);
    }
}

/* ---- events ---------------------------------------------------------------- */

static const struct { const char *given, *seen; } alias_rows[] = {
    {"train_batch_end", "train_step_end"}, {"step_end", "train_step_end"},
    {"val_batch_end", "val_step_end"},     {"train_begin", "fit_start"},
    {"train_end", "fit_end"},              {"fit_start", "fit_start"},
    {"grads_ready", "grads_ready"},        {"train_step_end", "train_step_end"},
    {"val_step_end", "val_step_end"},      {"epoch_end", "epoch_end"},
    {"eval_end", "eval_end"},              {"checkpoint", "checkpoint"},
    {"exception", "exception"},            {"fit_end", "fit_end"},
    {"mine", "mine"},
};

static void test_aliases(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "function handle(event) print('saw ' .. event) end");
    for (size_t i = 0; i < COUNT(alias_rows); i++) {
        char want[100];
        free(run_log_take(&r));
        assert_int_equal(run_apply(&r, alias_rows[i].given), 0);
        snprintf(want, sizeof(want), "a: saw %s\n", alias_rows[i].seen);
        assert_string_equal(hcb_buf_text(&r.log), want);
    }
    run_release(&r);
}

/* A host's own events up to the maximum of 64 kinds; one more is an error, and the
 * others of the same apply come all the same. */
static void test_own_events(void **state)
{
    struct run r;
    char name[70];
    (void)state;
    run_start(&r);
    run_load(&r, "a", "function handle(event) print(event) end");
    for (int i = 0; i < 55; i++) {
        snprintf(name, sizeof(name), "own_%d", i);
        assert_int_equal(run_apply(&r, name), 0);
        assert_int_equal(run_logged(&r, name), 1);
        free(run_log_take(&r));
    }
    const char *const events[] = {"own_0", "one_too_many", "fit_end"};
    assert_int_equal(hotcb_apply_events(r.h, r.env, events, 3), HOTCB_EINVAL);
    assert_non_null(strstr(hotcb_errmsg(r.h), "event 'one_too_many': a run has at most 64 kinds"));
    assert_string_equal(hcb_buf_text(&r.log), "a: own_0\na: fit_end\n");
    assert_int_equal(run_apply(&r, "own_54"), 0);
    assert_int_equal(run_apply(&r, ""), HOTCB_EINVAL);
    assert_int_equal(run_apply(&r, "two words"), HOTCB_EINVAL);
    memset(name, 'x', 64);
    name[64] = '\0';
    assert_int_equal(run_apply(&r, name), HOTCB_EINVAL);
    run_release(&r);
}

/* Several events at one safe point see the same env, in order; a look comes before. */
static void test_several_events(void **state)
{
    static const char *const events[] = {"grads_ready", "train_step_end", "epoch_end"};
    static const char *const holes[] = {"grads_ready", NULL, "epoch_end"};
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "function handle(event, env) print(event, env.step, env.loss) end");
    free(run_log_take(&r));
    hotcb_env_step(r.env, 3);
    hotcb_env_num(r.env, "loss", 0.5);
    assert_int_equal(hotcb_apply_events(r.h, r.env, events, 3), 0);
    assert_string_equal(hcb_buf_text(&r.log),
                        "a: grads_ready 3 0.5\na: train_step_end 3 0.5\na: epoch_end 3 0.5\n");
    free(run_log_take(&r));
    assert_int_equal(hotcb_apply_events(r.h, r.env, holes, 3), HOTCB_EINVAL);
    assert_string_equal(hcb_buf_text(&r.log), "a: grads_ready nil nil\na: epoch_end nil nil\n");
    assert_int_equal(hotcb_apply_events(r.h, r.env, NULL, 0), 0);
    hotcb_env_num(r.env, "loss", 1);
    assert_int_equal(hotcb_apply_events(r.h, r.env, NULL, 2), HOTCB_EINVAL);
    assert_int_equal(hotcb_env_keep(r.env, "loss"), HOTCB_ENOENT);
    assert_int_equal(hotcb_apply(r.h, NULL, "fit_end"), HOTCB_EINVAL);
    run_release(&r);
}

/* The two halves. */
static void test_poll_and_dispatch(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_script("a", "function handle(event, env) print(env.step) end");
    assert_int_equal(hotcb_send(r.dir, "{\"op\":\"load\",\"id\":\"a\",\"target\":{\"kind\":"
                     "\"lua_file\",\"path\":\"a.lua\"}}", NULL, 0), 0);
    hotcb_env_step(r.env, 5);
    assert_int_equal(hotcb_dispatch(r.h, r.env, one_event, 1), 0);
    assert_null(run_callback(&r, "a"));
    assert_int_equal(hotcb_poll(r.h, NULL), 1);
    assert_non_null(run_callback(&r, "a"));
    hotcb_env_step(r.env, 6);
    assert_int_equal(hotcb_poll(r.h, r.env), 0);
    assert_int_equal(hotcb_dispatch(r.h, r.env, one_event, 1), 0);
    assert_int_equal(run_logged(&r, "a: 6\n"), 1);
    run_release(&r);
}

/* ---- when to look ---------------------------------------------------------- */

static void test_debounce(void **state)
{
    struct run r;
    (void)state;
    run_init(&r);
    r.opt.debounce_steps = 10;
    run_open(&r);
    for (int i = 0; i < 100; i++)
        run_apply(&r, "fit_start");
    run_close(&r);
    assert_int_equal(hcb_map_int(run_status(&r), "looks", 0), 10);
    assert_int_equal(hcb_map_int(&r.status, "applies", 0), 100);
    r.opt.debounce_steps = 0;
    r.opt.poll_interval_ms = 3600000;
    run_open(&r);
    for (int i = 0; i < 100; i++)
        run_apply(&r, "fit_start");
    run_close(&r);
    assert_int_equal(hcb_map_int(run_status(&r), "looks", 0), 1); /* the first apply looks */
    run_release(&r);
}

/* ---- stop ------------------------------------------------------------------ */

static void test_stop_reason(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    assert_null(hotcb_stop_reason(r.h));
    run_load(&r, "a", "function handle(event, env) if env.step == 2 then hotcb.stop('NaN\\n\\27') "
                      "error('and fails') end if env.step == 3 then hotcb.stop('later') end end");
    run_steps(&r, 1, 1);
    assert_null(hotcb_stop_reason(r.h));
    run_steps(&r, 2, 2);
    assert_string_equal(hotcb_stop_reason(r.h), "NaN\\n\\x1b");
    run_must(&r, "{'op':'enable','id':'a'}");
    run_steps(&r, 3, 3);
    assert_string_equal(hotcb_stop_reason(r.h), "NaN\\n\\x1b");
    assert_string_equal(run_ledger(), "load a applied|stop a applied|fail a applied|"
                                      "enable a applied");
    assert_string_equal(hcb_map_text(run_status(&r), "stop_reason", ""), "NaN\\n\\x1b");
    run_release(&r);
}

/* ---- memory ---------------------------------------------------------------- */

static void steps_of_a_loop(struct run *r, int n)
{
    for (int i = 1; i <= n; i++) {
        hotcb_env_step(r->env, i);
        hotcb_env_num(r->env, "loss", 1.0 / i);
        hotcb_env_str(r->env, "phase", i % 2 ? "train" : "val");
        hotcb_env_num(r->env, "metrics.lr", 0.001);
        hotcb_apply(r->h, r->env, "train_step_end");
    }
}

/* Once warm, an apply leaves no memory behind: with no callback, with one that is not
 * due, with one that is called. Under a sanitizer mallinfo2() shows nothing. */
static void test_no_allocation_once_warm(void **state)
{
    static const char *const scripts[] = {
        "return { params = { { 'every', 1 << 40 } }, schedule = 'every', handle = print }",
        "function handle(event, env) local x = env.loss * 2 end",
    };
    struct run r;
    (void)state;
    run_init(&r);
    r.opt.poll_interval_ms = 3600000;
    run_open(&r);
    for (size_t i = 0; i <= COUNT(scripts); i++) {
        if (i > 0)
            run_load(&r, i == 1 ? "a" : "b", scripts[i - 1]);
        steps_of_a_loop(&r, 20000);
        size_t before = mallinfo2().uordblks;
        steps_of_a_loop(&r, 100000);
        size_t after = mallinfo2().uordblks;
        /* A Lua state breathes between two collections. */
        size_t slack = i == 2 ? 64 * 1024 : 0;
        if (after > before + slack)
            fail_msg("%zu: grew from %zu to %zu bytes", i, before, after);
    }
    run_release(&r);
}

/* A lazy value or a log hook that calls back is told off, and harms nothing. */
static int calls_back(void *user, hotcb_env *env, const char *key)
{
    struct run *r = user;
    assert_int_equal(hotcb_apply(r->h, env, "fit_end"), HOTCB_EINVAL);
    assert_non_null(strstr(hotcb_errmsg(r->h), "from inside itself"));
    assert_int_equal(hotcb_poll(r->h, env), HOTCB_EINVAL);
    assert_int_equal(hotcb_command(r->h, "{}"), HOTCB_EINVAL);
    hotcb_close(r->h);
    return hotcb_env_int(env, key, 7);
}

static void test_called_from_inside(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "function handle(e, env) print(e, env.loss, env.lazy, env.loss) end");
    hotcb_env_lazy(r.env, "lazy", calls_back, &r);
    hotcb_env_int(r.env, "loss", 3);
    assert_int_equal(run_apply(&r, "train_step_end"), 0);
    assert_int_equal(run_logged(&r, "a: train_step_end 3 7 3\n"), 1);
    run_release(&r);
}

/* The same where open and close have something to say. */
static void log_calling_back(void *user, enum hotcb_level level, const char *callback,
                             const char *line)
{
    struct run *r = user;
    run_log(user, level, callback, line);
    assert_int_equal(hotcb_apply(r->h, r->env, "fit_end"), HOTCB_EINVAL);
    assert_int_equal(hotcb_command(r->h, "{}"), HOTCB_EINVAL);
    hotcb_close(r->h);
}

static void test_called_from_open_and_close(void **state)
{
    struct run r;
    (void)state;
    run_init(&r);
    r.opt.log = log_calling_back;
    r.opt.log_level = HOTCB_DEBUG;
    run_open(&r);
    assert_int_equal(run_logged(&r, " in "), 1);
    run_load(&r, "a", "return { handle = print, close = function() print('bye') end }");
    assert_int_equal(run_apply(&r, "train_step_end"), 0);
    run_close(&r);
    assert_int_equal(run_logged(&r, "a: bye\n"), 1);
    run_release(&r);
}

/* Nor may another run have the env that a script reads. */
struct two_runs {
    struct run first, second;
};

static int lends_env(void *user, hotcb_env *env, const char *key)
{
    struct two_runs *two = user;
    const char *event = "fit_end";
    assert_int_equal(hotcb_apply(two->second.h, env, event), HOTCB_EINVAL);
    assert_non_null(strstr(hotcb_errmsg(two->second.h), "read by another run"));
    assert_int_equal(hotcb_dispatch(two->second.h, env, &event, 1), HOTCB_EINVAL);
    assert_int_equal(hotcb_apply(NULL, env, event), HOTCB_EINVAL);
    assert_int_equal(run_apply(&two->second, event), 0); /* it has one of its own */
    return hotcb_env_int(env, key, 7);
}

static void test_env_of_two_runs(void **state)
{
    struct two_runs two;
    (void)state;
    run_start(&two.first);
    run_init(&two.second);
    snprintf(two.second.dir, sizeof two.second.dir, "%s", scratch("second"));
    run_open(&two.second);
    hotcb_env_lazy(two.first.env, "lazy", lends_env, &two);
    hotcb_env_lazy(two.first.env, "lazier", lends_env, &two);
    run_load(&two.first, "a", "function handle(e, env) print(env.x, env.lazy, env.lazier, env.x) "
                              "end");
    run_script("b", "function handle(e, env) local x = env.x end");
    run_must(&two.second, "{'op':'load','id':'b','target':{'kind':'lua_file',"
                          "'path':'../run/b.lua'}}");
    for (int i = 0; i < 3; i++) {
        hotcb_env_int(two.first.env, "x", i);
        assert_int_equal(hotcb_apply(two.second.h, two.first.env, "fit_end"), 0);
        hotcb_env_int(two.first.env, "x", i);
        assert_int_equal(hotcb_apply(two.first.h, two.first.env, "fit_end"), 0);
    }
    assert_int_equal(run_logged(&two.first, "a: 2 7 7 2\n"), 1);
    run_release(&two.second);
    run_release(&two.first);
}

/* ---- locale ---------------------------------------------------------------- */

/* The thread takes another locale in it, and frees the one that it had. */
static void renew_locale(void)
{
    locale_t mine = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(mine);
    if (before != LC_GLOBAL_LOCALE)
        freelocale(before);
}

static int lazy_renewing(void *user, hotcb_env *env, const char *key)
{
    renew_locale();
    *(locale_t *)user = uselocale((locale_t)0);
    return hotcb_env_int(env, key, 1);
}

static void log_renewing(void *user, enum hotcb_level level, const char *callback,
                         const char *line)
{
    (void)level;
    (void)line;
    if (callback)
        renew_locale();
    *(locale_t *)user = uselocale((locale_t)0);
}

/* What the host's code makes of its locale inside hotcb stays so, and what it freed is not
 * used again. */
static void test_a_locale_taken_inside(void **state)
{
    locale_t first = uselocale((locale_t)0), last = first;
    struct run r;
    (void)state;
    run_init(&r);
    r.opt.log = log_renewing;
    r.opt.log_user = &last;
    run_open(&r);
    run_load(&r, "a", "function handle(e, env) local v = env.lazy print(v) end");
    run_load(&r, "b", "function handle(e, env) local v = env.lazy print(v) end");
    for (int64_t step = 0; step < 4; step++) {
        hotcb_env_lazy(r.env, "lazy", step % 2 ? lazy_renewing : NULL, &last);
        run_steps(&r, step, step);
        assert_true(uselocale((locale_t)0) == last && last != first);
    }
    run_release(&r);
    freelocale(uselocale(first));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_null_env),
        cmocka_unit_test(test_texts),
        WITH_SCRATCH(test_open_makes_what_it_needs),
        WITH_SCRATCH(test_open_keeps_what_is_there),
        WITH_SCRATCH(test_open_that_fails),
        WITH_SCRATCH(test_second_open),
        WITH_SCRATCH(test_open_of_another_process),
        WITH_SCRATCH(test_short_options),
        WITH_SCRATCH(test_paths_apart),
        WITH_SCRATCH(test_command),
        WITH_SCRATCH(test_send),
        WITH_SCRATCH(test_list),
        WITH_SCRATCH(test_check),
        WITH_SCRATCH(test_aliases),
        WITH_SCRATCH(test_own_events),
        WITH_SCRATCH(test_several_events),
        WITH_SCRATCH(test_poll_and_dispatch),
        WITH_SCRATCH(test_debounce),
        WITH_SCRATCH(test_stop_reason),
        WITH_SCRATCH(test_no_allocation_once_warm),
        WITH_SCRATCH(test_called_from_inside),
        WITH_SCRATCH(test_called_from_open_and_close),
        WITH_SCRATCH(test_env_of_two_runs),
        WITH_SCRATCH(test_a_locale_taken_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
