/* What a script sees of a step, and what it may ask of the host. */
#include "script_rig.h"

#include <math.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- env ------------------------------------------------------------------- */

static void set_all(hotcb_env *env)
{
    hotcb_env_step(env, 9007199254740993);
    hotcb_env_num(env, "loss", 0.5);
    hotcb_env_int(env, "epoch", 3);
    hotcb_env_str(env, "phase", "train");
    hotcb_env_bool(env, "best", 1);
    hotcb_env_num(env, "loss.ce", 0.25);
    hotcb_env_num(env, "metrics.lr", 0.001);
    hotcb_env_str(env, "metrics.a.b", "dotted");
    hotcb_env_num(env, "grads.layers.0.weight", 1.5);
}

/* Expressions, and what they are in handle when the above is set. */
static const struct env_row {
    const char *code, *want;
} env_rows[] = {
    {"print(env.step, math.type(env.step))", "9007199254740993 integer"},
    {"print(env.loss, env.epoch, env.phase, env.best)", "0.5 3 train true"},
    {"print(env['loss.ce'], env.metrics.lr, env.metrics['a.b'])", "0.25 0.001 dotted"},
    {"print(env.grads['layers.0.weight'], env.grads.layers)", "1.5 nil"},
    {"print(env.framework)", "c"},
    {"print(type(env.metrics), type(env.model), type(env.grads), type(env.batch), "
     "type(env.outputs))", "table table table table table"},
    {"print(env.missing, env.model.missing, env.metrics.loss, env['metrics.lr'])",
     "nil nil nil nil"},
    {"print(env[1], env[true], env.metrics[1.5])", "nil nil nil"},
    {"print(env['log\\0'], env['framework\\0x'], env['metrics\\0'], env['loss\\0'])",
     "nil nil nil nil"},
    {"print(env.metrics == env.metrics, env.metrics ~= env.model)", "true true"},
    {"print(getmetatable(env), getmetatable(env.metrics))", "false false"},
    {"print(pcall(setmetatable, env, {}))", "false cannot change a protected metatable"},
    {"env.log('%s %d', 'a', 5)", "a 5"},
    {"env.log('100%')", "100%"},
    {"env.log(5)", "5"},
    {"env.log(nil)", "nil"},
    {"env.log('%s %s', 'a', nil)", "a nil"},
    {"string.format = nil env.log('%d', 5)", "5"},
    {"local log = env.log log('kept')", "kept"},
    {"env.x = 5 env.loss = 'mine' env.metrics.lr = 7 env.metrics.new = 8 "
     "print(env.x, env.loss, env.metrics.lr, env.metrics.new)", "5 mine 7 8"},
    {"env.metrics = 5 print(env.metrics)", "5"},
    {"env.log = print env.log('x', 1)", "x 1"},
    {"print(pcall(function() env[nil] = 1 end))", NULL},
    {"print(pcall(function() env[0/0] = 1 end))", NULL},
    {"local n = 0 for k, v in pairs(env.metrics) do n = n + 1 end print(n)", "2"},
    {"local t = {} for k, v in pairs(env.metrics) do t[#t + 1] = k .. '=' .. v end "
     "table.sort(t) print(table.concat(t, ' '))", "a.b=dotted lr=0.001"},
    {"local t = {} for k in pairs(env) do t[#t + 1] = k end table.sort(t) "
     "print(table.concat(t, ' '))",
     "batch best epoch framework grads log loss loss.ce metrics model outputs phase step"},
    {"for k in pairs(env.model) do print(k) end print('none')", "none"},
    {"env.metrics.lr = 'mine' for k, v in pairs(env.metrics) do if k == 'lr' then print(v) end end",
     "mine"},
    {"next = nil for k, v in pairs(env.grads) do print(k, v) end", "layers.0.weight 1.5"},
    {"print(next(env.model), #env)", "nil 0"},
    {"print(hotcb.json.encode(env.metrics), hotcb.json.encode({ m = { env.model } }))",
     "{\"lr\":0.001,\"a.b\":\"dotted\"} {\"m\":[{}]}"},
    {"for i = 1, 50000 do env.metrics[i .. ''] = i end print(pcall(hotcb.json.encode, "
     "env.metrics))", "false json.encode: too many entries or too much text in all"},
    {"env.metrics.lr = 'own' print(hotcb.json.encode(env.metrics))",
     "{\"lr\":\"own\",\"a.b\":\"dotted\"}"},
    {"local m, n = env.metrics, 0 m.a, m.b = 1, 2 for k in next, m do n = n + 1 m[k] = nil "
     "for _ in next, m do end end print(n, m.a, m.b)", "4 nil nil"},
};

static void test_env(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(env_rows); i++) {
        char text[500];
        struct rig r;
        rig_init(&r);
        snprintf(text, sizeof(text), "function handle(event, env) %s end", env_rows[i].code);
        rig_must_open(&r, text);
        set_all(r.env);
        if (env_rows[i].want) {
            rig_expect(&r, env_rows[i].want);
        } else {
            assert_int_equal(rig_handle(&r, "fit_end"), 0);
            assert_int_equal(strncmp(rig_asked(&r), "false", 5), 0);
        }
        rig_release(&r);
    }
}

/* A host has many keys, and a script writes many, of which none is looked for among all. */
static void test_large_group(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    r.source.limits.time_ms = 1500 * rig_slack();
    rig_must_open(&r, "function handle(e, env) local m = env.metrics "
                      "for i = 1, 24000 do m['own' .. i] = i end m.own = 7 "
                      "local back = hotcb.json.decode(hotcb.json.encode(m)) "
                      "print(back.own, back.own1, back.own24000, back['own host 20000']) end");
    for (int i = 0; i <= 20000; i++) {
        char key[40];
        snprintf(key, sizeof(key), "metrics.own%s%.0d", i > 0 ? " host " : "", i);
        hotcb_env_int(r.env, key, i);
    }
    rig_expect(&r, "7 1 24000 20000");
    rig_release(&r);
}

/* What the host set holds for one apply, but for constants; what the script wrote, too. */
static void test_nothing_stale(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "n = 0 function handle(event, env) n = n + 1 "
                      "print(env.step, env.loss, env.run, env.metrics.lr, env.mine, "
                      "env.metrics.mine, type(env.log), type(env.model)) "
                      "if n == 1 then env.mine = 1 env.metrics.mine = 2 env.loss = 3 env.log = 4 "
                      "env.model = 5 end end");
    hotcb_env_step(r.env, 7);
    hotcb_env_num(r.env, "loss", 0.5);
    hotcb_env_str(r.env, "run", "r1");
    hotcb_env_keep(r.env, "run");
    hotcb_env_num(r.env, "metrics.lr", 0.1);
    rig_expect(&r, "7 0.5 r1 0.1 nil nil function table");
    rig_expect(&r, "nil nil r1 nil nil nil function table");
    hotcb_env_step(r.env, -1);
    rig_expect(&r, "-1 nil r1 nil nil nil function table");
    rig_release(&r);
}

/* Gone also when the call that wrote it failed. */
static void test_writes_of_a_failed_call(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "function handle(event, env) print(env.x) env.x = 1 error('no') end");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_handle(&r, "fit_end"), -1);
        assert_string_equal(rig_asked(&r), "nil");
    }
    rig_release(&r);
}

static void test_env_outside_a_call(void **state)
{
    static const char *const uses[] = {"print(e.step)", "print(e.metrics)", "print(m.lr)",
                                       "for k in pairs(e) do end", "for k in pairs(m) do end",
                                       "e.log('x')", "print(hotcb.json.encode({ e }))",
                                       "print(hotcb.json.encode({ m }))"};
    (void)state;
    for (size_t i = 0; i < COUNT(uses); i++) {
        char text[400];
        struct rig r;
        rig_init(&r);
        snprintf(text, sizeof(text), "local T, e, m = {} function T:handle(event, env) e, m = env, "
                 "env.metrics end function T:close() %s end return T", uses[i]);
        rig_must_open(&r, text);
        rig_expect(&r, "");
        assert_int_equal(hcb_script_close(r.script, &r.fault), -1);
        rig_expect_fault(&r, HCB_RUNTIME, "holds only during handle and on_attach");
        rig_release(&r);
    }
}

/* A table that was kept shows what holds now. */
static void test_env_kept_by_the_script(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "function handle(event, env) e = e or env m = m or env.metrics "
                      "print(e == env, e.loss, m.lr) end");
    hotcb_env_num(r.env, "loss", 1.5);
    hotcb_env_num(r.env, "metrics.lr", 0.5);
    rig_expect(&r, "true 1.5 0.5");
    hotcb_env_num(r.env, "loss", 2.5);
    rig_expect(&r, "true 2.5 nil");
    rig_release(&r);
}

/* Groups are known by name: the next call may bring another env, with other groups. */
static void test_groups_of_several_envs(void **state)
{
    struct rig r;
    hotcb_env *other = hotcb_env_new();
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "function handle(event, env) print(type(env.mine), env.mine and env.mine.x, "
                      "env['mine.x'], kept and kept.x) kept = kept or env.mine end");
    hotcb_env_group(r.env, "first");
    hotcb_env_group(r.env, "mine");
    hotcb_env_int(r.env, "mine.x", 1);
    rig_expect(&r, "table 1 nil nil");
    hotcb_env_int(other, "mine.x", 2);
    assert_int_equal(rig_handle_env(&r, "fit_end", other), 0);
    assert_string_equal(rig_asked(&r), "nil nil 2 nil");
    hotcb_env_group(other, "mine");
    hotcb_env_int(other, "mine.x", 3);
    assert_int_equal(rig_handle_env(&r, "fit_end", other), 0);
    assert_string_equal(rig_asked(&r), "table 3 nil 3");
    hotcb_env_free(other);
    rig_release(&r);
}

/* ---- lazy values ----------------------------------------------------------- */

struct provider {
    int calls;
    double value;
    int result;
};

static int provide(void *user, hotcb_env *env, const char *key)
{
    struct provider *p = user;
    p->calls++;
    hotcb_env_num(env, key, p->value);
    hotcb_env_num(env, "metrics.beside", p->value * 2);
    return p->result;
}

static void test_lazy(void **state)
{
    struct rig r;
    struct provider p = {0, 1.5, 0}, unused = {0, 1, 0}, none = {0, 1, -1};
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "function handle(event, env) local m = env.metrics "
                      "print(m.norm, m.norm, m.beside, env.none, env.none) end");
    hotcb_env_lazy(r.env, "metrics.norm", provide, &p);
    hotcb_env_lazy(r.env, "unused", provide, &unused);
    hotcb_env_lazy(r.env, "none", provide, &none);
    rig_expect(&r, "1.5 1.5 3.0 nil nil");
    p.value = 2;
    rig_expect(&r, "2.0 2.0 4.0 nil nil");
    assert_int_equal(p.calls, 2);
    assert_int_equal(none.calls, 2);
    assert_int_equal(unused.calls, 0);

    /* Two scripts, or two events, of one apply share what was worked out. */
    for (int i = 0; i < 3; i++)
        assert_int_equal(rig_handle_env(&r, "fit_end", r.env), 0);
    assert_int_equal(p.calls, 3);
    hcb_env_end(r.env);
    hcb_effects_reset(&r.effects);

    /* pairs shows them, so it works them out. */
    rig_must_open(&r, "function handle(event, env) local n = 0 "
                      "for k, v in pairs(env.metrics) do n = n + v end "
                      "print(n, env.metrics.norm) end");
    rig_expect(&r, "6.0 2.0");
    assert_int_equal(p.calls, 4);
    hotcb_env_lazy(r.env, "metrics.norm", NULL, NULL);
    rig_expect(&r, "0 nil");
    rig_release(&r);
}

/* ---- what is asked of the host --------------------------------------------- */

static const struct env_row asked_rows[] = {
    {"hotcb.log('warn', 'x=%d', 5)", "x=5"},
    {"hotcb.log('plain 100%')", "plain 100%"},
    {"hotcb.scalar('loss', 0.5)", "scalar loss"},
    {"hotcb.artifact('a/b.txt', 'bytes')", "artifact a/b.txt"},
    {"hotcb.stop('enough')", "stop enough"},
    {"hotcb.stop()", "stop a callback asked for it"},
    {"hotcb.stop('first') hotcb.stop('second')", "stop first"},
    {"hotcb.disable() hotcb.disable()", "disable"},
    {"env.log('a') hotcb.scalar('s', 1) print('b') hotcb.disable() hotcb.stop('c')",
     "a|scalar s|b|disable|stop c"},
    {"print(hotcb.clock() > 0, hotcb.clock() <= hotcb.clock())", "true true"},
};

static void test_asked(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(asked_rows); i++) {
        char text[400];
        struct rig r;
        rig_init(&r);
        snprintf(text, sizeof(text), "function handle(event, env) %s end", asked_rows[i].code);
        rig_must_open(&r, text);
        rig_expect(&r, asked_rows[i].want);
        rig_release(&r);
    }
}

/* What is no request is an error of the script's, at its line. */
static void test_bad_requests(void **state)
{
    static const char *const codes[] = {
        "hotcb.log()", "hotcb.log('shout', 'x')", "hotcb.log('warn', {}, 1)", "hotcb.scalar()",
        "hotcb.scalar('x')", "hotcb.scalar('x', '5')", "hotcb.scalar('', 1)",
        "hotcb.scalar(('x'):rep(251), 1)", "hotcb.scalar('x', 1, 1.5)", "hotcb.scalar('x', 1, 'y')",
        "hotcb.artifact('x')", "hotcb.artifact('x', 5)", "hotcb.artifact('x', 'y', 'prepend')",
        "hotcb.stop({})", "hotcb.json.encode()", "hotcb.json.decode()", "hotcb.json.decode(5)",
        "hotcb.json.encode(print)", "hotcb.json.encode({ [1.5] = 1 })",
        "local t = {} for i = 1, 40 do t = { t, t } end hotcb.json.encode(t)",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(codes); i++) {
        char text[400];
        struct rig r;
        rig_init(&r);
        snprintf(text, sizeof(text), "function handle() %s end", codes[i]);
        rig_must_open(&r, text);
        assert_int_equal(rig_handle(&r, "fit_end"), -1);
        rig_expect_fault(&r, HCB_RUNTIME, "it.lua:1: ");
        assert_string_equal(rig_asked(&r), "");
        rig_release(&r);
    }
}

static void test_scalars(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "function handle() hotcb.scalar('i', math.maxinteger) hotcb.scalar('d', 0.1) "
                      "hotcb.scalar('n', 0/0, 5) hotcb.scalar('f', 1, 3.0) "
                      "hotcb.scalar('k\\0\\255', -1.0) end");
    hotcb_env_step(r.env, 12);
    assert_int_equal(rig_handle(&r, "fit_end"), 0);
    const struct hcb_effect *e = r.effects.v;
    assert_int_equal(r.effects.n, 5);
    assert_true(e[0].is_int && e[0].i == INT64_MAX && e[0].has_step && e[0].step == 12);
    assert_true(!e[1].is_int && e[1].d == 0.1 && e[1].step == 12);
    assert_true(isnan(e[2].d) && e[2].step == 5);
    assert_true(e[3].is_int && e[3].i == 1 && e[3].step == 3);
    assert_true(e[4].d == -1.0 && e[4].text_len == 3);
    hcb_effects_reset(&r.effects);
    assert_int_equal(rig_handle(&r, "fit_end"), 0); /* without a step */
    assert_false(r.effects.v[0].has_step);
    assert_true(r.effects.v[2].has_step);
    rig_release(&r);
}

static void test_levels_and_modes(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "function handle(e, env) hotcb.log('debug', 'a') hotcb.log('b') "
                      "hotcb.log('error', 'c') env.log('d') print('e') "
                      "hotcb.artifact('f', '1\\0' .. '2', 'append') hotcb.artifact('g', '') end");
    assert_int_equal(rig_handle(&r, "fit_end"), 0);
    static const enum hotcb_level levels[] = {HOTCB_DEBUG, HOTCB_INFO, HOTCB_ERROR, HOTCB_INFO,
                                              HOTCB_INFO};
    for (size_t i = 0; i < COUNT(levels); i++)
        assert_int_equal(r.effects.v[i].level, levels[i]);
    const struct hcb_effect *f = &r.effects.v[5], *g = &r.effects.v[6];
    assert_true(f->append && f->bytes_len == 3);
    assert_memory_equal(r.effects.bytes.data + f->bytes, "1\0002", 3);
    assert_true(!g->append && g->bytes_len == 0);
    rig_release(&r);
}

/* A call that asks for too much loses the rest, counted; a stop is never lost. */
static const struct {
    const char *body;
    size_t n, dropped;
} cap_rows[] = {
    {"for i = 1, 1024 do print(i) end", 1024, 0},
    {"for i = 1, 2000 do print(i) end hotcb.stop('s') hotcb.disable()", 1026, 976},
    {"local s = ('x'):rep(1 << 20) for i = 1, 9 do hotcb.artifact('a' .. i, s) end hotcb.stop(s)",
     8, 2},
    {"local s = ('x'):rep(3 << 20) for i = 1, 3 do hotcb.artifact('a' .. i, s) end print('small')",
     3, 1},
    {"local s = ('x'):rep(3 << 20) for i = 1, 100 do hotcb.log(s) end", 64, 36}, /* cut at 4 KiB */
};

static void test_caps(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cap_rows); i++) {
        char text[300];
        struct rig r;
        rig_init(&r);
        snprintf(text, sizeof(text), "function handle() %s end", cap_rows[i].body);
        rig_must_open(&r, text);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(rig_handle(&r, "fit_end"), 0);
            assert_int_equal(r.effects.n, cap_rows[i].n);
            assert_int_equal(r.effects.dropped, cap_rows[i].dropped);
            hcb_effects_reset(&r.effects);
            assert_true(r.effects.bytes.cap <= 1 << 20);
        }
        rig_release(&r);
    }
}

/* What was asked for before a failure is still there: what is done with it is the
 * controller's business. */
static void test_asked_before_failing(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "function handle() print('a') hotcb.scalar('s', 1) error('no') end");
    assert_int_equal(rig_handle(&r, "fit_end"), -1);
    assert_string_equal(rig_asked(&r), "a|scalar s");
    rig_release(&r);
}

/* ---- json ------------------------------------------------------------------ */

static const struct env_row json_rows[] = {
    {"print(json.decode('[' .. ('0,'):rep(60000) .. '0]'))",
     "nil not valid JSON at column 100000: more than 50000 values"},
    {"print(json.decode('\"' .. ('x'):rep(1 << 20) .. '\"'))",
     "nil more than 1024 KiB of text"},
    {"print(json.encode(9007199254740993))", "9007199254740993"},
    {"print(json.encode(math.mininteger), json.encode(math.maxinteger))",
     "-9223372036854775808 9223372036854775807"},
    {"print(json.decode('9223372036854775807') == math.maxinteger)", "true"},
    {"print(math.type(json.decode('1')), math.type(json.decode('1.0')))", "integer float"},
    {"print(json.decode('9223372036854775808'))", NULL},
    {"print(json.encode(0.1), json.encode(1e300), json.encode(5e-324), json.encode(2.0))",
     "0.1 1e300 5e-324 2.0"},
    {"print(json.encode(0/0), json.encode(1/0), json.encode(-1/0))",
     "\"NaN\" \"Infinity\" \"-Infinity\""},
    {"print(json.encode { 1, 'a', true }, json.encode { a = { b = 1 } }, json.encode {})",
     "[1,\"a\",true] {\"a\":{\"b\":1}} {}"},
    {"print(json.encode(nil), json.encode(false), json.encode('a\\n\\0\\255\"'))",
     "null false \"a\\n\xef\xbf\xbd\xef\xbf\xbd\\\"\""},
    {"local t = json.decode('{\"a\":[1,2.5,null,\"x\"],\"b\":{}}') print(t.a[1], t.a[2], t.a[3], "
     "t.a[4], type(t.b))", "1 2.5 nil x table"},
    {"local t = { n = 1, list = { 1, { x = 'y' } } } local u = json.decode(json.encode(t)) "
     "print(u.n, u.list[1], u.list[2].x)", "1 1 y"},
    {"print(json.decode('{'))", NULL},
    {"print(json.decode('[1] x'))", NULL},
    {"print(json.decode(''))", NULL},
    {"print(json.decode('NaN'))", NULL},
    {"print(select('#', json.decode('null')), json.decode('null'))", "1 nil"},
    {"print(#json.encode(('x'):rep(200000)))", "200002"},
    {"print(pcall(json.encode, { [1.5] = 1 }))",
     "false json.encode: a table with keys that are neither text nor 1..n"},
};

static void test_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(json_rows); i++) {
        char text[400];
        struct rig r;
        rig_init(&r);
        snprintf(text, sizeof(text), "local json = hotcb.json function handle() %s end",
                 json_rows[i].code);
        rig_must_open(&r, text);
        if (json_rows[i].want) {
            rig_expect(&r, json_rows[i].want);
        } else { /* nil and a sentence */
            assert_int_equal(rig_handle(&r, "fit_end"), 0);
            assert_int_equal(strncmp(rig_asked(&r), "nil not valid JSON", 18), 0);
        }
        rig_release(&r);
    }
}

/* A result that does not fit into the script's memory stops it, and leaks nothing. */
static void test_json_beyond_memory(void **state)
{
    static const char *const codes[] = {
        "hotcb.json.encode(('\\1'):rep(700000))",
        "local s = '[' .. ('0,'):rep(40000) .. '0]' local t = {} "
        "for i = 1, 100 do t[i] = hotcb.json.decode(s) end",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(codes); i++) {
        char text[300];
        struct rig r;
        rig_init(&r);
        r.source.limits.memory_mb = 2;
        r.source.limits.time_ms = 10000;
        snprintf(text, sizeof(text), "function handle() %s end", codes[i]);
        rig_must_open(&r, text);
        assert_int_equal(rig_handle(&r, "fit_end"), -1);
        rig_expect_fault(&r, HCB_MEMORY, "wanted more than");
        rig_release(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_env),
        cmocka_unit_test(test_large_group),
        cmocka_unit_test(test_nothing_stale),
        cmocka_unit_test(test_writes_of_a_failed_call),
        cmocka_unit_test(test_env_outside_a_call),
        cmocka_unit_test(test_env_kept_by_the_script),
        cmocka_unit_test(test_groups_of_several_envs),
        cmocka_unit_test(test_lazy),
        cmocka_unit_test(test_asked),
        cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_levels_and_modes),
        cmocka_unit_test(test_caps),
        cmocka_unit_test(test_asked_before_failing),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_beyond_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
