/* Declared parameters: which declarations a script may make, and what becomes of the
 * values that people give. */
#include "script_rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A script that declares these rows. */
static const char *script_of(const char *rows)
{
    static char text[4096];
    snprintf(text, sizeof(text), "return { params = { %s }, handle = function() end }", rows);
    return text;
}

/* ---- declarations ---------------------------------------------------------- */

static const struct declaration_row {
    const char *rows;
    const char *want; /* a part of the declarations as JSON, or of the refusal */
} declaration_rows[] = {
    {"{ 'x', 50 }", "{\"name\":\"x\",\"type\":\"integer\",\"default\":50,\"min\":null,\"max\":null,"
                    "\"step\":null,\"log\":false,\"choices\":null,\"unit\":null,\"help\":null}"},
    {"{ 'x', 50.0 }", "\"type\":\"number\",\"default\":50.0"},
    {"{ 'x', true }", "\"type\":\"boolean\",\"default\":true"},
    {"{ 'x', '' }", "\"type\":\"string\",\"default\":\"\""},
    {"{ 'x', {} }", "\"type\":\"list\",\"default\":[]"},
    {"{ 'x', { 1, 'a' } }", "\"type\":\"list\",\"default\":[1,\"a\"]"},
    {"{ 'x', { a = 1 } }", "\"type\":\"any\",\"default\":{\"a\":1}"},
    {"{ 'x', type = 'integer' }", "\"type\":\"integer\",\"default\":null"},
    {"{ 'x', nil, type = 'any' }", "\"type\":\"any\",\"default\":null"},
    {"{ 'x', 5, type = 'number' }", "\"type\":\"number\",\"default\":5.0"},
    {"{ 'x', 5, type = 'string' }", "\"type\":\"string\",\"default\":\"5\""},
    {"{ 'x', 5.0, type = 'integer' }", "\"type\":\"integer\",\"default\":5"},
    {"{ 'x', 1, min = 1, max = 2.5, step = 1 }", "\"min\":1,\"max\":2.5,\"step\":1"},
    {"{ 'x', 1.0, max = math.huge, min = -math.huge }",
     "\"min\":\"-Infinity\",\"max\":\"Infinity\""},
    {"{ 'x', math.huge, max = math.huge }", "\"default\":\"Infinity\""},
    {"{ 'x', 'a', choices = { 'a', 'b' } }", "\"choices\":[\"a\",\"b\"]"},
    {"{ 'x', { 'a' }, choices = { 'a', 'b' } }", "\"type\":\"list\",\"default\":[\"a\"]"},
    {"{ 'x', 1, log = true, unit = 'steps', help = 'why' }",
     "\"log\":true,\"choices\":null,\"unit\":\"steps\",\"help\":\"why\""},
    {"{ 'x', math.mininteger }", "\"default\":-9223372036854775808"},
    {"{ 'b', 1 }, { 'a', 2 }", "\"b\""},
    {"", "[]"},

    {"{ 'x', 1, mni = 0 }", "it.lua: params[1] 'x': unknown field 'mni' - did you mean 'min'?"},
    {"{ 'x', 1, colour = 0 }", "params[1] 'x': unknown field 'colour'"},
    {"{ 'x', 1, ['2'] = 5 }", "params[1] 'x': unknown field '2'"},
    {"{ 'x', 1, ['=default'] = 5 }", "params[1] 'x': unknown field '?'"},
    {"{ 'x', 1, 2 }", "params[1]: a row is { name, default, field = value, ... }"},
    {"{ 'a', 1 }, { 'a', 2 }", "params[2] 'a': is declared twice"},
    {"{ 'a', 1 }, 'b'", "params[2]: a row is a table"},
    {"every = 50", "params is a list of rows: { { \"every\", 50 }, ... }"},
    {"{ 'a', 1 }, every = 50", "params is a list of rows"},
    {"{ 'a', 1 }, [3] = { 'b', 1 }", "params is a list of rows"},
    {"{ 1, 2 }", "params[1]: a row begins with the parameter's name"},
    {"{ default = 1 }", "params[1]: a row begins with the parameter's name"},
    {"{ '', 1 }", "params[1]: a row begins with the parameter's name"},
    {"{ 'a b', 1 }", "params[1]: a name is one printable word"},
    {"{ 'a=b', 1 }", "params[1]: a name is one printable word"},
    {"{ 'a,b', 1 }", "params[1]: a name is one printable word"},
    {"{ 'a\\0b', 1 }", "params[1]: a name is one printable word"},
    {"{ 'a\\27', 1 }", "params[1]: a name is one printable word"},
    {"{ '\\xff', 1 }", "params[1]: a name is one printable word"},
    {"{ ('n'):rep(65), 1 }", "params[1]: a name is one printable word of at most 64 bytes"},
    {"{ 'handle', 1 }", "params[1] 'handle': is a reserved name"},
    {"{ 'set_params', 1 }", "is a reserved name"},
    {"{ 'on_attach', 1 }", "is a reserved name"},
    {"{ 'close', 1 }", "is a reserved name"},
    {"{ 'save', 1 }", "is a reserved name"},
    {"{ 'restore', 1 }", "is a reserved name"},
    {"{ 'id', 1 }", "is a reserved name"},
    {"{ 'name', 1 }", "is a reserved name"},
    {"{ 'params', 1 }", "is a reserved name"},
    {"{ 'events', 1 }", "is a reserved name"},
    {"{ 'schedule', 1 }", "is a reserved name"},
    {"{ 'x' }", "params[1] 'x': has neither a default nor a 'type'"},
    {"{ 'x', 1, type = 'int' }",
     "params[1] 'x': 'type' is one of integer, number, boolean, string, list, any"},
    {"{ 'x', 1, min = '0' }", "params[1] 'x': 'min' must be a number"},
    {"{ 'x', 1, max = 0/0 }", "params[1] 'x': 'max' must be a number"},
    {"{ 'x', 1, step = true }", "params[1] 'x': 'step' must be a number"},
    {"{ 'x', 1, choices = 1 }", "params[1] 'x': 'choices' must be a list"},
    {"{ 'x', 1, choices = {} }", "params[1] 'x': 'choices' must be a list"},
    {"{ 'x', 1, log = 1 }", "params[1] 'x': 'log' must be true or false"},
    {"{ 'x', 1, unit = 1 }", "params[1] 'x': 'unit' must be text"},
    {"{ 'x', 1, help = {} }", "params[1] 'x': 'help' must be text"},
    {"{ 'x', print }", "params[1], default: a function, which is not plain data"},
    {"{ 'x', 0, min = 1 }", "params[1]: the default x=0: expected an integer >= 1"},
    {"{ 'x', 'c', choices = { 'a', 'b' } }", "the default x=c: expected one of a, b"},
    {"{ 'x', 1, choices = { 0/0, 2 } }", "the default x=1: expected one of"},
    {"{ 'x', 'a', type = 'integer' }", "the default x=a: expected an integer"},
    {"{ 'x', 1.5, type = 'integer' }", "the default x=1.5: expected an integer"},
    {"{ 'x', 0/0 }", "the default x=\"NaN\": expected a number"},
    {"{ 'x', 1/0 }", "the default x=\"Infinity\": expected a finite number"},
    {"{ 'x', { 1, 1/0 } }", "the default x=[1,\"Infinity\"]: expected a list"},
};

static void test_declarations(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(declaration_rows); i++) {
        const struct declaration_row *row = &declaration_rows[i];
        struct rig r;
        struct hcb_buf got = {0};
        rig_init(&r);
        if (rig_open(&r, script_of(row->rows)) == 0)
            hcb_params_json(&got, hcb_script_params(r.script));
        else
            hcb_buf_str(&got, r.fault.message);
        assert_int_equal(r.fault.reason, r.script ? HCB_FINE : HCB_SYNTAX);
        if (!strstr(hcb_buf_text(&got), row->want))
            fail_msg("%s: %s, not %s", row->rows, hcb_buf_text(&got), row->want);
        hcb_buf_release(&got);
        rig_release(&r);
    }
}

/* What a script declares stands outside its memory and in every status. */
static void test_declarations_have_bounds(void **state)
{
    static const struct { const char *text, *says; } rows[] = {
        {"local p = {} for i = 1, 257 do p[i] = { 'p' .. i, i } end "
         "return { params = p, handle = print }", "params has more than 256 rows"},
        {"local big, p = ('x'):rep(100000), {} for i = 1, 20 do p[i] = { 'p' .. i, 1, help = big } "
         "end return { params = p, handle = print }", "too much text"},
        {"local row = { 'x', 1 } for i = 1, 10000 do row['f' .. i] = 1 end "
         "return { params = { row }, handle = print }", "unknown field 'f"},
        {"local t = {} for i = 1, 40 do t = { t, t } end "
         "return { params = { { 'x', t } }, handle = print }", "too many entries"},
        {"local t = {} t.t = t return { params = { { 'x', t } }, handle = print }", "nested"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rig r;
        rig_init(&r);
        assert_int_equal(rig_open(&r, rows[i].text), -1);
        rig_expect_fault(&r, HCB_SYNTAX, rows[i].says);
        rig_release(&r);
    }
}

/* ---- values ---------------------------------------------------------------- */

#define EVERY "{ 'x', 50, min = 1, help = 'print once per N steps' }"
#define WHOLE "{ 'x', 30 }"
#define REAL "{ 'x', 0.5, min = 0, max = 1.5 }"
#define OPEN "{ 'x', 0.5, max = math.huge }"
#define FLAG "{ 'x', false }"
#define TEXT "{ 'x', 'a' }"
#define MODE "{ 'x', 'l2', choices = { 'l2', 'max' } }"
#define RUNG "{ 'x', 1, choices = { 1, 2, 4 } }"
#define LIST "{ 'x', { 'loss' } }"
#define SOME "{ 'x', { 'a' }, choices = { 'a', 'b' } }"
#define NEAR "{ 'x', { 1 }, min = 0, max = 9 }"
#define ANY "{ 'x', 1, type = 'any' }"

static const struct value_row {
    const char *declared;
    const char *given; /* JSON; or, after a '=', as it is typed on the command line */
    const char *want;  /* the value as JSON, or the refusal */
} value_rows[] = {
    /* integers */
    {EVERY, "5", "5"},
    {EVERY, "=5", "5"},
    {EVERY, "5.0", "5"},
    {EVERY, "=2E2", "200"},
    {EVERY, "=abc", "x=abc: expected an integer >= 1 - print once per N steps"},
    {EVERY, "0", "x=0: expected an integer >= 1 - print once per N steps"},
    {EVERY, "true", "x=true: expected an integer >= 1 - print once per N steps"},
    {EVERY, "[1]", "x=[1]: expected an integer >= 1 - print once per N steps"},
    {EVERY, "{\"a\":1}", "x={\"a\":1}: expected an integer >= 1 - print once per N steps"},
    {EVERY, "=010", "x=010: expected an integer >= 1 - print once per N steps"},
    {EVERY, "5.5", "x=5.5: declared as an integer (default 50); write 50.0 in the script to allow "
                   "fractions"},
    {WHOLE, "=30.5", "x=30.5: declared as an integer (default 30); write 30.0 in the script to "
                     "allow fractions"},
    {WHOLE, "=1e-4", "x=1e-4: declared as an integer (default 30)"},
    {WHOLE, "9223372036854775807", "9223372036854775807"},
    {WHOLE, "-9223372036854775808", "-9223372036854775808"},
    {WHOLE, "9007199254740993", "9007199254740993"},
    {WHOLE, "-9.223372036854775808e18", "-9223372036854775808"},
    {WHOLE, "1e19", "x=1e19: expected an integer"},
    {WHOLE, "=.inf", "x=.inf: expected an integer"},
    {WHOLE, "\"Infinity\"", "x=Infinity: expected an integer"},
    {"{ 'x', 3, min = -2, max = 9 }", "10", "x=10: expected an integer from -2 to 9"},
    {"{ 'x', 3, max = 9 }", "10", "x=10: expected an integer <= 9"},
    {"{ 'x', 3, min = 0.5 }", "0", "x=0: expected an integer >= 0.5"},
    {"{ 'x', 3, max = math.huge }", "9223372036854775807", "9223372036854775807"},
    {"{ 'x', type = 'integer', max = 3 }", "1.5", "x=1.5: expected an integer <= 3"},
    {"{ 'x', 1, max = 9223372036854775806 }", "9223372036854775807",
     "x=9223372036854775807: expected an integer <= 9223372036854775806"},
    /* numbers */
    {REAL, "1", "1.0"},
    {REAL, "=1e-4", "0.0001"},
    {REAL, "=.5", "0.5"},
    {REAL, "1.6", "x=1.6: expected a number from 0 to 1.5"},
    {REAL, "=-1", "x=-1: expected a number from 0 to 1.5"},
    {REAL, "=fast", "x=fast: expected a number from 0 to 1.5"},
    {REAL, "=.nan", "x=.nan: expected a number from 0 to 1.5"},
    {REAL, "\"Infinity\"", "x=Infinity: expected a number from 0 to 1.5"},
    {REAL, "true", "x=true: expected a number from 0 to 1.5"},
    {OPEN, "=.inf", "\"Infinity\""},
    {OPEN, "=inf", "\"Infinity\""},
    {OPEN, "\"Infinity\"", "\"Infinity\""},
    {OPEN, "=-.inf", "x=-.inf: expected a finite number"},
    {OPEN, "\"-Infinity\"", "x=-Infinity: expected a finite number"},
    {OPEN, "=.nan", "x=.nan: expected a number"},
    {OPEN, "\"NaN\"", "x=NaN: expected a number"},
    {"{ 'x', 1.0, min = -math.huge }", "=-inf", "\"-Infinity\""},
    {"{ 'x', 1.0, min = 0 }", "=inf", "x=inf: expected a finite number >= 0"},
    {"{ 'x', 1.0, max = 1e308 }", "=.inf", "x=.inf: expected a number <= 1e308"},
    /* booleans */
    {FLAG, "true", "true"},
    {FLAG, "=TRUE", "true"},
    {FLAG, "=on", "true"},
    {FLAG, "=Off", "false"},
    {FLAG, "=yes", "true"},
    {FLAG, "=NO", "false"},
    {FLAG, "\"false\"", "false"},
    {FLAG, "=maybe", "x=maybe: expected true or false"},
    {FLAG, "1", "x=1: expected true or false"},
    {FLAG, "=", "x=: expected true or false"},
    /* strings keep what was typed */
    {TEXT, "=007", "\"007\""},
    {TEXT, "=1.10", "\"1.10\""},
    {TEXT, "=TRUE", "\"TRUE\""},
    {TEXT, "=1e-4", "\"1e-4\""},
    {TEXT, "=.inf", "\".inf\""},
    {TEXT, "=[debug]", "\"[debug]\""},
    {TEXT, "=", "\"\""},
    {TEXT, "5", "\"5\""},
    {TEXT, "false", "\"false\""},
    {TEXT, "\"a\\nb\\u00e9\"", "\"a\\nb\xc3\xa9\""},
    {TEXT, "=[1]", "x=[1]: expected text"},
    {TEXT, "{}", "x={}: expected text"},
    /* choices */
    {MODE, "=max", "\"max\""},
    {MODE, "=mx", "x=mx: expected one of l2, max"},
    {MODE, "[\"max\"]", "x=[\"max\"]: expected one of l2, max"},
    {RUNG, "4", "4"},
    {RUNG, "4.0", "4"},
    {RUNG, "3", "x=3: expected one of 1, 2, 4"},
    {"{ 'x', 1.0, choices = { 1, 2 } }", "2", "2.0"},
    {"{ 'x', 'a', choices = { 'a' }, help = 'which' }", "=b", "x=b: expected one of a - which"},
    /* lists */
    {LIST, "=loss,outputs.logits", "[\"loss\",\"outputs.logits\"]"},
    {LIST, "=1,2.5,true,007", "[1,2.5,true,\"007\"]"},
    {LIST, "=loss", "[\"loss\"]"},
    {LIST, "=loss,", "[\"loss\"]"},
    {LIST, "=", "[]"},
    {LIST, "=5", "[5]"},
    {LIST, "=[\"a\", 1]", "[\"a\",1]"},
    {LIST, "[]", "[]"},
    {LIST, "{}", "[]"},
    {LIST, "{\"a\":1}", "x={\"a\":1}: expected a list"},
    {LIST, "=1,99999999999999999999", "x: the integer 99999999999999999999 is beyond 64 bits"},
    {LIST, "=1,.nan", "x=1,.nan: expected a list"},
    {LIST, "=.inf,1", "x=.inf,1: expected a list"},
    {SOME, "=b,a", "[\"b\",\"a\"]"},
    {SOME, "=b,c", "x=b,c: expected one of a, b"},
    {NEAR, "[0,9]", "[0,9]"},
    {NEAR, "[0,10]", "x=[0,10]: expected a list from 0 to 9"},
    /* anything */
    {ANY, "{\"a\":[1,null,\"b\"]}", "{\"a\":[1,null,\"b\"]}"},
    {ANY, "=1.10", "1.1"},
    {ANY, "=.inf", "x=.inf: expected a value"},
    {ANY, "=text", "\"text\""},
    /* null goes back */
    {EVERY, "null", "50"},
    {EVERY, "=null", "50"},
    {EVERY, "=~", "50"},
    {TEXT, "null", "\"a\""},
    {"{ 'x', type = 'string' }", "null", "null"},
};

/* {"x": given} */
static void given_map(const char *given, struct hcb_value *map)
{
    hcb_value_map(map);
    struct hcb_value *v = hcb_map_put(map, "x");
    assert_non_null(v);
    if (*given == '=')
        assert_int_equal(hcb_scalar_from_arg(given + 1, v, NULL), 0);
    else
        rig_parse(given, v);
}

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(value_rows); i++) {
        const struct value_row *row = &value_rows[i];
        struct hcb_value map = {0};
        struct rig r;
        rig_init(&r);
        rig_must_open(&r, script_of(row->declared));
        char before[256], want[512];
        snprintf(before, sizeof(before), "%s", rig_values(&r));
        given_map(row->given, &map);
        bool taken = hcb_script_set(r.script, &map, &r.err) == 0;
        const char *got = taken ? rig_values(&r) : r.err.text;
        snprintf(want, sizeof(want), taken ? "{\"x\":%s}" : "%s", row->want);
        if (taken ? strcmp(got, want) != 0 : strncmp(got, want, strlen(want)) != 0)
            fail_msg("%s <- %s: %s, not %s", row->declared, row->given, got, want);
        if (!taken) { /* and nothing has changed */
            assert_int_equal(r.err.code, HOTCB_EREFUSED);
            assert_string_equal(rig_values(&r), before);
        }
        hcb_value_release(&map);
        rig_release(&r);
    }
}

/* A long value is cut in the sentence, at a character. */
static void test_long_values_are_cut(void **state)
{
    struct rig r;
    struct hcb_value map = {0};
    char given[400] = "=";
    (void)state;
    for (int i = 0; i < 100; i++)
        strcat(given, "\xc3\xa9");
    rig_init(&r);
    rig_must_open(&r, script_of(EVERY));
    given_map(given, &map);
    assert_int_equal(hcb_script_set(r.script, &map, &r.err), HOTCB_EREFUSED);
    assert_true(strlen(r.err.text) < 200);
    assert_non_null(strstr(r.err.text, "\xc3\xa9...: expected an integer"));
    hcb_value_release(&map);
    rig_release(&r);
}

/* ---- several at once ------------------------------------------------------- */

#define THREE "{ 'every', 50, min = 1 }, { 'ema', 0.9 }, { 'max_loss', 10 }"

static const struct names_row {
    const char *given, *want;
} names_rows[] = {
    {"{}", "{\"every\":50,\"ema\":0.9,\"max_loss\":10}"},
    {"{\"ema\":1,\"every\":2}", "{\"every\":2,\"ema\":1.0,\"max_loss\":10}"},
    {"{\"evry\":1}",
     "unknown parameter 'evry' - did you mean 'every'? (has: every, ema, max_loss)"},
    {"{\"zzzzzz\":1}", "unknown parameter 'zzzzzz' (has: every, ema, max_loss)"},
    {"{\"\":1}", "unknown parameter '' (has: every, ema, max_loss)"},
    {"{\"a\\u001bb\":1}", "unknown parameter 'a\\x1bb' (has: every, ema, max_loss)"},
    {"{\"every\":2,\"ema\":\"x\"}", "ema=x: expected a number"},
    {"{\"every\":2,\"max_loss\":3,\"nope\":1}", "unknown parameter 'nope'"},
};

static void test_all_or_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(names_rows); i++) {
        struct rig r;
        rig_init(&r);
        rig_must_open(&r, script_of(THREE));
        bool taken = rig_set(&r, names_rows[i].given) == 0;
        const char *got = taken ? rig_values(&r) : r.err.text;
        if (strncmp(got, names_rows[i].want, strlen(names_rows[i].want)) != 0)
            fail_msg("%s: %s, not %s", names_rows[i].given, got, names_rows[i].want);
        if (!taken)
            assert_string_equal(rig_values(&r), names_rows[0].want);
        rig_release(&r);
    }
    struct rig r;
    rig_init(&r);
    rig_must_open(&r, script_of(""));
    assert_int_equal(rig_set(&r, "{\"x\":1}"), HOTCB_EREFUSED);
    assert_string_equal(r.err.text, "unknown parameter 'x' (has: none)");
    rig_release(&r);
}

/* null goes back to what the load said, not to what the script says. */
static void test_initial_values(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    rig_parse("{\"every\":7,\"ema\":null}", &r.init);
    rig_parse("{\"every\":8}", &r.set);
    rig_must_open(&r, script_of(THREE));
    assert_string_equal(rig_values(&r), "{\"every\":8,\"ema\":0.9,\"max_loss\":10}");
    assert_int_equal(rig_set(&r, "{\"every\":null}"), 0);
    assert_string_equal(rig_values(&r), "{\"every\":7,\"ema\":0.9,\"max_loss\":10}");
    rig_parse("{\"every\":0}", &r.init);
    assert_int_equal(rig_open(&r, script_of(THREE)), -1);
    rig_expect_fault(&r, HCB_RUNTIME, "every=0: expected an integer >= 1");
    rig_parse("{}", &r.init);
    rig_parse("{\"evry\":1}", &r.set);
    assert_int_equal(rig_open(&r, script_of(THREE)), -1);
    rig_expect_fault(&r, HCB_RUNTIME, "unknown parameter 'evry'");
    rig_release(&r);
}

/* On a reload, what does not fit any more is left out and named. */
static void test_lenient(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    r.source.lenient = true;
    rig_parse("{\"every\":7,\"gone\":1}", &r.init);
    rig_parse("{\"every\":0,\"ema\":0.5,\"lost\":2}", &r.set);
    rig_must_open(&r, script_of(THREE));
    assert_string_equal(rig_values(&r), "{\"every\":7,\"ema\":0.5,\"max_loss\":10}");
    assert_string_equal(hcb_script_dropped(r.script), "gone, every, lost");
    rig_release(&r);
}

/* What Lua sees has the type that was declared. */
static void test_types_in_lua(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    rig_must_open(&r,
        "local T = { params = { { 'i', 1 }, { 'd', 1.0 }, { 'b', true }, { 's', 'x' },"
        " { 'l', {} }, { 'n', type = 'any' } } }"
        "function T:handle() print(math.type(self.i), math.type(self.d), self.b, self.s, #self.l,"
        " self.n, self.id) end return T");
    rig_expect(&r, "integer float true x 0 nil it");
    assert_int_equal(rig_set(&r, "{\"i\":9007199254740993,\"d\":2,\"b\":\"off\",\"s\":3,"
                                 "\"l\":[1,2],\"n\":{\"a\":1}}"), 0);
    rig_must_open(&r,
        "local T = { params = { { 'i', 1 }, { 'l', {} } } }"
        "function T:handle() print(self.i == 9223372036854775807, self.l[2], #self.l) end "
        "return T");
    assert_int_equal(rig_set(&r, "{\"i\":9223372036854775807,\"l\":\"a,b,c\"}"), 0);
    rig_expect(&r, "true b 3");
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_declarations),
        cmocka_unit_test(test_declarations_have_bounds),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_long_values_are_cut),
        cmocka_unit_test(test_all_or_nothing),
        cmocka_unit_test(test_initial_values),
        cmocka_unit_test(test_lenient),
        cmocka_unit_test(test_types_in_lua),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
