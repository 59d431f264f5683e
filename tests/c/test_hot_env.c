/* Fields that a script reads often are set in its env before each call: nothing of that may
 * show. Nor may the short way into handle. */
#include "script_rig.h"

#include <math.h>

/* What stands in env at each call, parted by ';': NAME=NUMBER, NAME='TEXT, NAME? for a lazy
 * 7, NAME! kept, @ for another env, * for no call at all but set_params. And what the script
 * says to all of them. */
static const struct row {
    const char *code, *calls, *said;
} rows[] = {
    {"print(env.x)", "x=1;x=2;;x=3", "1|2|nil|3"},
    {"print(env.x, env.x)", "x=1;x='a;x=2;x='b", "1 1|a a|2 2|b b"},
    {"print(env.x)", "x=1;x?;x?;x=2;", "1|7|7|2|7"},
    {"print(env.x)", "x=1!;;;x=2;", "1|1|1|2|2"},
    {"print(env.x, env.y)", "x=1;y=2;x=3,y=4;y=5", "1 nil|nil 2|3 4|nil 5"},
    {"print(env.x) env.x = 'own' print(env.x)", "x=1;x=2;", "1|own|2|own|nil|own"},
    {"print(env.x) env.new = (env.new or 0) + 1 print(env.new)", "x=1;x=2;x=3", "1|1|2|1|3|1"},
    {"print(env.x) rawset(env, 'x', 9) print(env.x)", "x=1;x=2;", "1|9|2|9|nil|9"},
    {"print(env.x) env.x = nil print(env.x)", "x=1;x=2", "1|1|2|2"},
    {"print(env.x, env.new) rawset(env, 'new', 1)", "x=1;x=2", "1 nil|2 nil"},
    {"print(env.step) rawset(env, 'step', 'own')", "step=1;;step=3", "1|nil|3"},
    {"print(env.x, env.metrics.new) rawset(env.metrics, 'new', 1) print(env.metrics.new)",
     "x=1;x=2", "1 nil|1|2 nil|1"},
    {"print(env.x)", "x=1;@x=2;x=3;@;x=4;", "1|2|3|nil|4|nil"},
    {"print(env.z, env.x)", "x=1,z=2;@z=3;x=4,z=5", "2 1|3 nil|5 4"},
    {"print(env.a, env.b, env.c, env.d, env.e, env.f, env.g, env.h, env.i, env.j)",
     "a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9,j=10;j=1,i=2;a=3",
     "1 2 3 4 5 6 7 8 9 10|nil nil nil nil nil nil nil nil 2 1|"
     "3 nil nil nil nil nil nil nil nil nil"},
    {"local n, last = 0 for k, v in pairs(env) do if k == 'x' then n = n + 1 last = v end end "
     "print(n, last, env.x)", "x=1;x=2;;x=3", "1 1 1|1 2 2|0 nil nil|1 3 3"},
    {"print(env.metrics.x)", "metrics.x=1;metrics.x=2;", "1|2|nil"},
    {"print(env.step, math.type(env.step))", "step=5;step=6;", "5 integer|6 integer|nil nil"},
    {"kept = env print(env.x)", "x=1;x=2;*;x=3", "1|2|outside false|3"},
    {"local x, found = env.x for k, v in next, env do if k == 'x' then found = v end end "
     "print(found, x, env.x)", "x=1;x=2;", "1 1 1|2 2 2|nil nil nil"},
    {"local x = env.x print(rawget(env, 'x'), x, env.x, rawget(env, 'y'))", "x=1;x=2",
     "1 1 1 nil|2 2 2 nil"},
    {"local x = env.x env.x = 'own' print(rawget(env, 'x'))", "x=1;x=2", "own|own"},
    {"local n = 0 for k, v in next, env.metrics do n = n + v end "
     "print(n, next(env.metrics) ~= nil)",
     "metrics.x=1,metrics.y=2;metrics.x=4;metrics.y?;", "3 true|4 true|7 true|7 true"},
    {"local m, n = env.metrics, 0 "
     "for k, v in next, m do n = n + v m[k] = nil rawset(m, k, v + 10) end "
     "for k, v in next, m do n = n + v end print(n)",
     "metrics.x=1,metrics.y=2;metrics.y=3", "26|16"},
    {"local m = env.metrics m.own = 3 print(hotcb.json.encode(m), hotcb.json.encode({ m }))",
     "metrics.x=1,metrics.y='a;metrics.y?",
     "{\"own\":3,\"x\":1,\"y\":\"a\"} [{\"own\":3,\"x\":1,\"y\":\"a\"}]|"
     "{\"own\":3,\"y\":7} [{\"own\":3,\"y\":7}]"},
    {"env.metrics.x = { env.metrics.y } print(hotcb.json.encode(env.metrics))",
     "metrics.x=1,metrics.y='a;metrics.y=2", "{\"x\":[\"a\"],\"y\":\"a\"}|{\"x\":[2],\"y\":2}"},
    {"print(env.x, pcall(hotcb.json.encode, { env }))", "x=1",
     "1 false json.encode: env itself, which is not plain data"},
};

static int seven(void *user, hotcb_env *env, const char *key)
{
    (void)user;
    return hotcb_env_int(env, key, 7);
}

/* "x=1!" and the like. */
static void set_one(hotcb_env *env, char *field)
{
    size_t n = strcspn(field, "=?");
    char how = field[n], *value = field + n + 1;
    field[n] = '\0';
    if (how == '?')
        hotcb_env_lazy(env, field, seven, NULL);
    else if (*value == '\'')
        hotcb_env_str(env, field, value + 1);
    else
        hotcb_env_int(env, field, strtol(value, NULL, 10));
    if (how != '?' && value[strlen(value) - 1] == '!')
        hotcb_env_keep(env, field);
}

static void add_said(struct rig *r, struct hcb_buf *all)
{
    const char *said = rig_asked(r);
    if (*said)
        hcb_buf_printf(all, "%s%s", all->len ? "|" : "", said);
}

static void one_call(struct rig *r, hotcb_env *other, const char *fields, size_t n)
{
    char text[200], *rest = text;
    snprintf(text, sizeof text, "%.*s", (int)n, fields);
    hotcb_env *env = *text == '@' ? other : r->env;
    rest += *text == '@';
    if (*rest == '*') {
        rig_set(r, "{\"any\":1}");
        return;
    }
    for (char *field; (field = strtok_r(rest, ",", &rest));)
        set_one(env, field);
    if (rig_handle_env(r, "train_step_end", env) < 0)
        fail_msg("%s", r->fault.message);
    hcb_env_end(env);
}

static void check_row(const struct row *row, int repeat)
{
    char text[700];
    struct rig r;
    struct hcb_buf all = {0};
    hotcb_env *other = hotcb_env_new();
    rig_init(&r);
    snprintf(text, sizeof text, "function handle(event, env) %s end "
             "function set_params() print('outside', (pcall(function() return kept.x end))) end",
             row->code);
    rig_must_open(&r, text);
    for (int i = 0; i < repeat; i++) { /* so that the fields are known, or learnt anew */
        one_call(&r, other, "x=0,y=0,step=0", 14);
        hcb_effects_reset(&r.effects);
    }
    for (const char *call = row->calls, *end; call; call = end ? end + 1 : NULL) {
        end = strchr(call, ';');
        one_call(&r, other, call, strcspn(call, ";"));
        add_said(&r, &all);
    }
    if (strcmp(hcb_buf_text(&all), row->said) != 0)
        fail_msg("%s with %s after %d calls: \"%s\", not \"%s\"", row->code, row->calls, repeat,
                 hcb_buf_text(&all), row->said);
    hcb_buf_release(&all);
    hotcb_env_free(other);
    rig_release(&r);
}

static void test_hot_fields_do_not_show(void **state)
{
    static const int repeats[] = {0, 1, 2, 100, 1020, 1021, 1022, 1023, 1024};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof repeats / sizeof *repeats; j++)
            check_row(&rows[i], repeats[j]);
}

/* Providers may set other keys than their own. Here z is 7 and makes x 2, y nil and n 3. */
static int set_others(void *user, hotcb_env *env, const char *key)
{
    (void)user;
    hotcb_env_int(env, "x", 2);
    hotcb_env_unset(env, "y");
    hotcb_env_num(env, "n", 3);
    return hotcb_env_int(env, key, 7);
}

/* Where x and y are 1, and n is no number. */
static const struct row others[] = {
    {"local x, y, n = env.x, env.y, env.n print(x, y, n == n, env.z, env.x, env.y, env.n)", NULL,
     "1 1 false 7 2 nil 3.0"},
    {"local x, y = env.x, env.y local t = {} for k, v in pairs(env) do t[k] = v end "
     "print(x, y, t.z, t.x, t.y, t.n)", NULL, "1 1 7 2 nil 3.0"},
    {"local x, y = env.x, env.y env.x = 'own' print(x, y, env.z, env.x, env.y)", NULL,
     "1 1 7 own nil"},
    {"local x, y = env.x, env.y rawset(env, 'x', 5) print(x, y, env.z, env.x)", NULL, "1 1 7 5"},
    {"local x = env.x local function f() return env.z, env.x end "
     "if coroutine then f = coroutine.wrap(f) end print(x, f())", NULL, "1 7 2"},
};

static void check_others(const struct row *row, int calls)
{
    char text[400];
    struct rig r;
    rig_init(&r);
    r.source.limits.coroutines = true;
    snprintf(text, sizeof text, "function handle(event, env) %s end", row->code);
    rig_must_open(&r, text);
    hotcb_env_lazy(r.env, "z", set_others, NULL);
    for (int i = 0; i < calls; i++) {
        hotcb_env_int(r.env, "x", 1);
        hotcb_env_int(r.env, "y", 1);
        hotcb_env_num(r.env, "n", (double)NAN);
        rig_expect(&r, row->said);
    }
    rig_release(&r);
}

static void test_providers_that_set_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        check_others(&others[i], 5);
}

/* Scripts, and what they say to the events a, b and a again. */
static const struct row handles[] = {
    {"return { handle = function(self, e) print(e, self.id) end }", NULL, "a it|b it|a it"},
    {"return setmetatable({ n = 1 }, { __index = { handle = function(self, e) print(e, self.n) end "
     "} })", NULL, "a 1|b 1|a 1"},
    {"local t = {} function t.handle(self, e) print(e, 1) self.handle = function(self, e) "
     "print(e, 2) end end return t", NULL, "a 1|b 2|a 2"},
    {"function handle(e) print(e, 1) handle = function(e) print(e, 2) end end", NULL,
     "a 1|b 2|a 2"},
    {"local n = 0 return { handle = function(self, e) n = n + 1 print(e) if n == 2 then "
     "self.handle = nil setmetatable(self, { __index = function() return function(_, e) "
     "print('far', e) end end }) end end }", NULL, "a|b|far a"},
};

static void test_how_handle_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++) {
        struct rig r;
        struct hcb_buf all = {0};
        rig_init(&r);
        rig_must_open(&r, handles[i].code);
        for (const char *const *e = (const char *const[]){"a", "b", "a", NULL}; *e; e++) {
            if (rig_handle(&r, *e) < 0)
                fail_msg("%s: %s", handles[i].code, r.fault.message);
            add_said(&r, &all);
        }
        assert_string_equal(hcb_buf_text(&all), handles[i].said);
        hcb_buf_release(&all);
        rig_release(&r);
    }
}

static void test_a_handle_that_is_gone(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "return { handle = function(self) self.handle = nil end }");
    assert_int_equal(rig_handle(&r, "a"), 0);
    assert_int_equal(rig_handle(&r, "a"), -1);
    rig_expect_fault(&r, HCB_RUNTIME, "handle is no longer there");
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hot_fields_do_not_show),
        cmocka_unit_test(test_providers_that_set_others),
        cmocka_unit_test(test_how_handle_is_found),
        cmocka_unit_test(test_a_handle_that_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
