/* hotcb.yaml: what each text means, what is said of bad ones, and which ops lead
 * from one configuration to another. */
#include "base/json.h"
#include "control/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A text, and the value as JSON with single quotes for double ones, or the whole
 * message less "f.yaml:". */
struct row {
    const char *text, *want;
};

typedef int parse_fn(const char *text, size_t n, const char *name, struct hcb_value *out,
                     struct hcb_err *err);

static void check(parse_fn *parse, const struct row *row)
{
    struct hcb_value v = {0};
    struct hcb_err err = {0};
    struct hcb_buf got = {0};
    int rc = parse(row->text, strlen(row->text), "f.yaml", &v, &err);
    assert_int_equal(rc, err.code);
    if (rc == 0)
        hcb_json_value(&got, &v);
    else
        hcb_buf_str(&got, strncmp(err.text, "f.yaml:", 7) == 0 ? err.text + 7 : err.text);
    for (char *p = got.data; rc == 0 && *p; p++)
        *p = *p == '"' ? '\'' : *p;
    if (strcmp(got.data, row->want) != 0)
        fail_msg("%s\n  gives %s\n  not   %s", row->text, got.data, row->want);
    if (rc < 0)
        assert_int_equal(v.type, HCB_NULL);
    hcb_buf_release(&got);
    hcb_value_release(&v);
}

static const struct row yaml_rows[] = {
    {"", "null"},
    {"# nothing\n", "null"},
    {"\xef\xbb\xbf", "null"},
    {"---\n", "null"},
    {"---\n...\n", "null"},
    {"a", "'a'"},
    {"a: 1", "{'a':1}"},
    {"\xef\xbb\xbf" "a: 1\r\nb: x\r\n", "{'a':1,'b':'x'}"},
    {"lr: 1e-4\nlr_b: 3E5\nlr_c: 1.0e-4\nbig: 1e+4\nseed: 010\nstart: 22:22\nplain: 12\nver: "
     "\"1.10\"",
     "{'lr':0.0001,'lr_b':300000.0,'lr_c':0.0001,'big':10000.0,'seed':'010','start':'22:22',"
     "'plain':12,'ver':'1.10'}"},
    {"[true, False, yes, NO, on, ~, null, '', 1.10.2, 0x10, 0o7, .5, '5', \"5\"]",
     "[true,false,'yes','NO','on',null,null,'','1.10.2','0x10','0o7',0.5,'5','5']"},
    {"a: |\n  x\n  y\nb: >\n  1\n  2\n", "{'a':'x\\ny\\n','b':'1 2\\n'}"},
    {"[!!str 12, !!str, !!int 12, !!int '12', !!float 1, !!float .5, !!bool 'true', !!null '', ! "
     "5]",
     "['12','',12,12,1.0,0.5,true,null,'5']"},
    {"!!map {a: !!seq [1]}", "{'a':[1]}"},
    {"123: 1\nyes: 2\n1.5: 3\n~: 4\ntrue: 5\n'': 6",
     "{'123':1,'yes':2,'1.5':3,'~':4,'true':5,'':6}"},
    {"a: &x {p: [1, 2]}\nb: *x\nc: [*x, &y 5, *y]",
     "{'a':{'p':[1,2]},'b':{'p':[1,2]},'c':[{'p':[1,2]},5,5]}"},
    {"a: &x 1\nb: *x\nc: &x 2\nd: *x", "{'a':1,'b':1,'c':2,'d':2}"},
    {"a: &x [1]\nb: &y [*x, *x]\nc: *y", "{'a':[1],'b':[[1],[1]],'c':[[1],[1]]}"},
    {"- &x\n- *x\n- &y ~\n- *y", "[null,null,null,null]"},
    {"[9223372036854775807, -9223372036854775808, .inf]",
     "[9223372036854775807,-9223372036854775808,'Infinity']"},
    {"h\xc3\xa9: \xe7\x95\x8c", "{'h\xc3\xa9':'\xe7\x95\x8c'}"},

    {"a: 1\nn: 9223372036854775808",
     "2: the integer 9223372036854775808 is beyond 64 bits: put it in quotes to make it text"},
    {"a: 1\nb: 2\n\na: 3", "4: the key 'a' stands here and on line 1: once only"},
    {"x: {a: 1, 'a': 2}", "1: the key 'a' stands here and on line 1: once only"},
    {"? [a]\n: 1", "1: a key must be a plain word, not a list, a map or an alias"},
    {"a: 1\n{b: 1}: 2", "2: a key must be a plain word, not a list, a map or an alias"},
    {"a: &x b\n*x : 2", "2: a key must be a plain word, not a list, a map or an alias"},
    {"&x a: 2", "1: a key takes no anchor and no tag"},
    {"!!str a: 2", "1: a key takes no anchor and no tag"},
    {"a: &x {b: 1}\nc:\n  <<: *x", "3: merging with << is not supported: write the keys out"},
    {"a: *x", "1: the alias *x names no anchor above it"},
    {"a: &x [1, *x]", "1: the alias *x stands inside of what it names"},
    {"a: 1\n---\nb: 2", "2: a second document ('---'): one is allowed"},
    {"a: !!python/object:os.system x", "1: the tag !!python/object:os.system is not understood: "
     "leave it out"},
    {"a: !foo x", "1: the tag !foo is not understood: leave it out"},
    {"a: !!set {x}", "1: the tag !!set is not understood: leave it out"},
    {"!!seq {x: 1}", "1: the tag !!seq is not understood: leave it out"},
    {"a: !!int x", "1: x does not fit its tag !!int"},
    {"a: !!bool yes", "1: yes does not fit its tag !!bool"},
    {"a: \"x\\0y\"", "1: a NUL character (\\0) in a text"},
    {"\"x\\0y\": 1", "1: a NUL character (\\0) in a text"},
    {"a: 1\nb: \xff", "2: not UTF-8 text: invalid leading UTF-8 octet"},
    {"\xff\xfe" "a", "1: not UTF-8 text: invalid leading UTF-8 octet"},
    {"a: 1\nb: \x01", "2: not UTF-8 text: control characters are not allowed"},
    {"a: [1, 2\nb: 3", "2: not valid YAML: a ',' is missing in a list, or the ']' at its end (it "
     "began on line 1)"},
    {"a:\n\tb: 1", "2: not valid YAML: a character that cannot stand here (a tab, '@', '`' or "
     "'%'): indent with spaces, and put quotes around text"},
    {"{a:, b: 1}", "1: not valid YAML: a ':' that no space follows: put quotes around text"},
    {"a: b: c", "1: not valid YAML: a ':' where no key can be: check how this line is indented, "
     "or put quotes around text"},
    {"a: 1\nb: \"x", "2: not valid YAML: a quote is opened here or above, and never closed"},
    {"a:\n  b: 1\n c: 2", "3: not valid YAML: this line is not indented like the keys around it "
     "(it began on line 1)"},
};

static void test_yaml(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(yaml_rows); i++)
        check(hcb_yaml_parse, &yaml_rows[i]);
}

static void test_source_and_lines(void **state)
{
    static const char text[] = "a: 1.10\nb: '1.10'\nc: {d: TRUE,\n e: x}";
    struct hcb_value v = {0};
    (void)state;
    assert_int_equal(hcb_yaml_parse(text, sizeof(text) - 1, "f", &v, NULL), 0);
    assert_string_equal(hcb_map_get(&v, "a")->source, "1.10");
    assert_null(hcb_map_get(&v, "b")->source);
    const struct hcb_value *c = hcb_map_get(&v, "c");
    assert_string_equal(hcb_map_get(c, "d")->source, "TRUE");
    assert_int_equal(v.u.map.p[2].line, 3);
    assert_int_equal(c->u.map.p[1].line, 4);
    hcb_value_release(&v);
}

#define TARGET "    target: {kind: lua_file, path: hb.lua}\n"
#define PRE "callbacks:\n  hb:\n"

static const struct row config_rows[] = {
    {"", "null"},
    {"# version: 1\n", "null"},
    {"version: 1", "{}"},
    {"callbacks:", "{}"},
    {"callbacks: {}", "{}"},
    {PRE TARGET, "{'hb':{'target':{'kind':'lua_file','path':'hb.lua'}}}"},
    {"version: 1\n" PRE "    enabled: False\n" TARGET "    init: {every: 100}\n    params: {m: "
     "alive}\n"
     "    limits: {time_ms: 20, memory_mb: 16, errors: 3, coroutines: false}\n",
     "{'hb':{'enabled':false,'target':{'kind':'lua_file','path':'hb.lua'},'init':{'every':100},"
     "'params':{'m':'alive'},'limits':{'time_ms':20,'memory_mb':16,'errors':3,"
     "'coroutines':false}}}"},
    {"callbacks: {123: {target: {kind: module, path: m, symbol: S}, init: ~, params: ~, limits: }}",
     "{'123':{'target':{'kind':'module','path':'m','symbol':'S'},'init':null,'params':null,"
     "'limits':null}}"},
    {"callbacks:\n  a:\n    target: &t {kind: module, path: m}\n    init: &i {every: 1}\n"
     "  b: {target: *t, init: *i}\n",
     "{'a':{'target':{'kind':'module','path':'m'},'init':{'every':1}},"
     "'b':{'target':{'kind':'module','path':'m'},'init':{'every':1}}}"},
    {PRE TARGET "    params: {big: .inf}\n",
     "{'hb':{'target':{'kind':'lua_file','path':'hb.lua'},'params':{'big':'Infinity'}}}"},

    {"[]", " must be a map with the key 'callbacks', not a list"},
    {"text", " must be a map with the key 'callbacks', not text"},
    {"version: 2", "1: version: must be 1, not 2"},
    {"version: \"1\"", "1: version: must be 1, not \"1\""},
    {"\ncallback: {}", "2: callback: unknown key - did you mean 'callbacks'?"},
    {"zzz: 1", "1: zzz: unknown key (known: version, callbacks)"},
    {"callbacks: [hb]", "1: callbacks: must be a map by id, not a list"},
    {"callbacks: hb", "1: callbacks: must be a map by id, not hb"},
    {"callbacks:\n  hb:", "2: callbacks.hb: must be a map with a 'target', not null"},
    {"callbacks:\n  hb: []", "2: callbacks.hb: must be a map with a 'target', not a list"},
    {"callbacks:\n  a/b: {}", "2: callbacks: id \"a/b\" has a '/': use 1 to 120 bytes of UTF-8 "
     "without "
     "spaces, control characters, '/', '\\' or quotes, not beginning with '.' or '-'"},
    {PRE "    enabled: true\n", "2: callbacks.hb.target: missing, as in target: { kind: lua_file, "
     "path: x.lua }"},
    {"callbacks:\n  hb:\n\n    enable: false\n" TARGET,
     "4: callbacks.hb.enable: unknown key - did you mean 'enabled'?"},
    {"callbacks: {hb: {target: {kind: lua_file, path: hb.lua}, parms: {every: 5}}}",
     "1: callbacks.hb.parms: unknown key - did you mean 'params'?"},
    {PRE TARGET "    extra: 1\n",
     "4: callbacks.hb.extra: unknown key (known: enabled, target, init, params, limits)"},
    {PRE "    target: {kind: lua_file, path: hb.lua, extra: 1}\n",
     "3: callbacks.hb.target.extra: unknown key (known: kind, path, symbol)"},
    {PRE "    enabled: \"false\"\n" TARGET,
     "3: callbacks.hb.enabled: must be true or false, not \"false\""},
    {PRE "    enabled: 0\n" TARGET, "3: callbacks.hb.enabled: must be true or false, not 0"},
    {PRE "    enabled: maybe\n" TARGET, "3: callbacks.hb.enabled: must be true or false, not "
     "maybe"},
    {PRE "    enabled: no\n" TARGET, "3: callbacks.hb.enabled: must be true or false, not no"},
    {PRE "    enabled:\n" TARGET, "3: callbacks.hb.enabled: must be true or false, not null"},
    {PRE "    target: hb.lua\n", "3: callbacks.hb.target: must hold \"kind\" and \"path\", not be "
     "hb.lua"},
    {PRE "    target: {kind: lua_file}\n",
     "3: callbacks.hb.target: needs a \"path\": of the Lua file, or the module's name"},
    {PRE "    target:\n      path: x.py\n      kind: python_file\n",
     "5: callbacks.hb.target.kind: python_file cannot be loaded, since callbacks are Lua scripts: "
     "write it in Lua and load it with kind 'lua_file'"},
    {PRE "    target:\n      kind: lua\n      path: x\n",
     "4: callbacks.hb.target.kind: unknown kind 'lua' (known: lua_file, module)"},
    {PRE "    target:\n      kind: module\n      path: 5\n",
     "5: callbacks.hb.target.path: must be text, not 5"},
    {PRE TARGET "    params: 5\n", "4: callbacks.hb.params: must be a map of names and values, "
     "not 5"},
    {PRE TARGET "    init: [a]\n", "4: callbacks.hb.init: must be a map of names and values, not "
     "a list"},
    {PRE TARGET "    params:\n      a: 1\n      b: .nan\n",
     "6: callbacks.hb.params.b: NaN cannot be the value of a parameter"},
    {PRE TARGET "    init: {a: [1, {b: .NaN}]}\n",
     "4: callbacks.hb.init.a: NaN cannot be the value of a parameter"},
    {PRE TARGET "    limits:\n      errors: 3\n      time: 5\n",
     "6: callbacks.hb.limits.time: unknown limit (known: time_ms, memory_mb, errors, coroutines)"},
    {PRE TARGET "    limits: {time_ms: 0}\n",
     "4: callbacks.hb.limits.time_ms: must be a whole number from 1 to 3600000, not 0"},
    {PRE TARGET "    limits: 7\n", "4: callbacks.hb.limits: must be a map of names and values, "
     "not 7"},
};

static void test_config(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(config_rows); i++)
        check(hcb_config_parse, &config_rows[i]);
}

/* ---- bounds ---- */

static void repeat(struct hcb_buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hcb_buf_str(b, s);
}

static void expect(struct hcb_buf *b, const char *want)
{
    struct hcb_value v = {0};
    struct hcb_err err = {0};
    assert_false(b->oom);
    int rc = hcb_yaml_parse(b->data, b->len, "f.yaml", &v, &err);
    assert_string_equal(rc < 0 ? err.text : "", want);
    hcb_value_release(&v);
    hcb_buf_release(b);
}

static void add_bomb(struct hcb_buf *b, char last)
{
    hcb_buf_str(b, "a: &a [\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\"]\n");
    for (char c = 'b'; c <= last; c++) {
        hcb_buf_printf(b, "%c: &%c [", c, c);
        for (int i = 0; i < 9; i++)
            hcb_buf_printf(b, "%s*%c", i ? "," : "", c - 1);
        hcb_buf_str(b, "]\n");
    }
}

static void test_bounds(void **state)
{
    struct hcb_buf b = {0};
    (void)state;
    hcb_buf_str(&b, "a: ");
    repeat(&b, "[", 20000);
    expect(&b, "f.yaml:1: more than 48 lists or maps within one another");
    repeat(&b, "[", 48);
    repeat(&b, "]", 48);
    expect(&b, "");
    repeat(&b, "- ", 49);
    expect(&b, "f.yaml:1: more than 48 lists or maps within one another");
    repeat(&b, "{a: ", 5000);
    expect(&b, "f.yaml:1: more than 48 lists or maps within one another");

    add_bomb(&b, 'i');
    expect(&b, "f.yaml:6: more than 200000 values, aliases expanded");
    add_bomb(&b, 'd'); /* a small honest one: 9 + 81 + 729 + 6561 texts */
    expect(&b, "");

    hcb_buf_str(&b, "a: &a \"");
    repeat(&b, "x", 100000);
    hcb_buf_str(&b, "\"\nb:\n");
    repeat(&b, "- *a\n", 84);
    expect(&b, "f.yaml:85: more than 8388608 bytes of text, aliases expanded");

    repeat(&b, "- &a x\n", 257);
    expect(&b, "f.yaml:257: more than 256 anchors");
    repeat(&b, "- &a x\n", 256);
    repeat(&b, "- *a\n", 1000);
    expect(&b, "");

    hcb_buf_str(&b, "- &a ");
    repeat(&b, "[", 30);
    repeat(&b, "]", 30);
    hcb_buf_str(&b, "\n- ");
    repeat(&b, "[", 17); /* 1 + 17 + 30 */
    hcb_buf_str(&b, "*a");
    repeat(&b, "]", 17);
    expect(&b, "");
    hcb_buf_str(&b, "- &a ");
    repeat(&b, "[", 30);
    repeat(&b, "]", 30);
    hcb_buf_str(&b, "\n- ");
    repeat(&b, "[", 18);
    hcb_buf_str(&b, "*a");
    expect(&b, "f.yaml:2: more than 48 lists or maps within one another, aliases expanded");

    repeat(&b, "- 1\n", 200001);
    expect(&b, "f.yaml:200000: more than 200000 values, aliases expanded");
}

/* Large files of every shape take time in proportion to their size: this test is
 * over at once or, if something is quadratic, not within the time a run has. */
static void test_large(void **state)
{
    struct hcb_buf b = {0};
    struct hcb_value v = {0};
    struct hcb_err err = {0};
    (void)state;
    for (int i = 0; i < 99000; i++)
        hcb_buf_printf(&b, "k%d: %d\n", i, i);
    expect(&b, "");
    hcb_buf_str(&b, "{");
    for (int i = 0; i < 99000; i++)
        hcb_buf_printf(&b, "k%d: {}, ", i);
    hcb_buf_str(&b, "}");
    expect(&b, "");
    hcb_buf_str(&b, "a: ");
    repeat(&b, "x y ", 1000000);
    expect(&b, "");
    hcb_buf_str(&b, "a: |\n");
    repeat(&b, "  x\n", 1000000);
    expect(&b, "");
    repeat(&b, "#\n", 2000000);
    expect(&b, "");

    for (int i = 0; i < 99000; i++)
        hcb_buf_printf(&b, "%%TAG !a%d! x\n", i);
    hcb_buf_str(&b, "---\na: 1\n");
    expect(&b, "f.yaml: more than 99 %TAG lines");

    repeat(&b, "#", HCB_CONFIG_BYTES + 1);
    assert_int_equal(hcb_config_parse(b.data, b.len, "f.yaml", &v, &err), HOTCB_EFORMAT);
    assert_string_equal(err.text, "f.yaml: larger than 4194304 bytes");
    hcb_buf_release(&b);
}

/* ---- diffs ---- */

#define T "target: {kind: lua_file, path: cb/hb.lua}"

static const struct diff_row {
    const char *before, *after;
    const char *want; /* an op a line, as describe() has it */
} diff_rows[] = {
    {"", "callbacks: {a: {" T "}}", "load a lua_file /d/cb/hb.lua on line=1\n"},
    {"", "callbacks:\n  a: {" T ", enabled: false, init: {x: 1}, params: {y: 2}, limits: {errors: "
     "3}}\n"
     "  b: {target: {kind: module, path: m, symbol: S}, enabled: true}",
     "load a lua_file /d/cb/hb.lua off init={'x':1} params={'y':2} limits={'errors':3} line=2\n"
     "load b module m S on line=3\n"},
    {"", "callbacks: {a: {target: {kind: lua_file, path: /abs/x.lua}}}",
     "load a lua_file /abs/x.lua on line=1\n"},
    {"", "callbacks: {}", ""},
    {"callbacks: {a: {" T "}}", "", ""},
    {"callbacks: {a: {" T "}}", "# a comment\ncallbacks:\n  a:\n    " T "\n", ""},
    {"callbacks: {a: {" T "}}", "callbacks: {a: {" T ", enabled: true}}", ""},
    {"callbacks: {a: {" T "}}", "callbacks: {a: {" T ", params: {}, init: ~, limits: {}}}", ""},
    {"callbacks: {a: {" T "}}", "callbacks: {a: {" T ",\n enabled: false}}", "disable a line=2\n"},
    {"callbacks: {a: {" T ", enabled: false}}", "\ncallbacks: {a: {" T "}}", "enable a line=2\n"},
    {"callbacks: {a: {" T ", enabled: false}}", "callbacks: {a: {" T ", enabled: true}}",
     "enable a line=1\n"},
    {"callbacks: {a: {" T ", params: {every: 10}}}", "callbacks: {a: {" T ", params: {every: 20}}}",
     "set_params a params={'every':20} line=1\n"},
    {"callbacks: {a: {" T ", params: {x: 1, y: 2, z: 3}}}",
     "callbacks:\n  a:\n    " T "\n    params:\n      z: 3\n      x: 1\n      y: 5\n      w: [1]\n",
     "set_params a params={'y':5,'w':[1]} line=7\n"},
    {"callbacks: {a: {" T ", params: {x: 1, y: 2}}}", "callbacks: {a: {" T ", params: {y: 2}}}",
     "set_params a params={'x':null} line=1\n"},
    {"callbacks: {a: {" T ", params: {x: 1, y: 2}}}", "callbacks: {a: {" T "}}",
     "set_params a params={'x':null,'y':null} line=1\n"},
    {"callbacks: {a: {" T ", params: {x: 1}}}", "callbacks: {a: {" T ", params: {x: 1.0}}}",
     "set_params a params={'x':1.0} line=1\n"},
    {"callbacks: {a: {" T ", params: {x: 1.1}}}", "callbacks: {a: {" T ", params: {x: 1.10}}}",
     "set_params a params={'x':1.1} line=1\n"},
    {"callbacks: {a: {" T ", params: {x: [1.1]}}}", "callbacks: {a: {" T ", params: {x: [1.10]}}}",
     "set_params a params={'x':[1.1]} line=1\n"},
    {"callbacks: {a: {" T ", params: {x: 1.1, y: 2}}}",
     "callbacks: {a: {" T ", params: {y: 2, x: 1.10}}}",
     "set_params a params={'x':1.1} line=1\n"},
    {"callbacks: {a: {" T ", params: {x: 1.1}}}", "callbacks: {a: {params: {x: 1.10}, " T "}}",
     "set_params a params={'x':1.1} line=1\n"},
    {"callbacks: {a: {" T ", params: {x: {p: 1.1, q: 1}}}}",
     "callbacks: {a: {" T ", params: {x: {q: 1, p: 1.10}}}}",
     "set_params a params={'x':{'q':1,'p':1.1}} line=1\n"},
    {"callbacks: {a: {" T ", params: {x: 1.1, y: 2}}}",
     "callbacks: {a: {params: {y: 2, x: 1.1}, " T "}}", ""},
    {"callbacks: {a: {" T ", params: {x: word}}}",
     "callbacks: {a: {" T ", params: {x: 'word'}}}", ""},
    {"callbacks: {a: {" T ", params: {x: '1'}}}", "callbacks: {a: {" T ", params: {x: 1}}}",
     "set_params a params={'x':1} line=1\n"},
    {"callbacks: {a: {" T ", limits: {time_ms: 5, errors: 2}}}",
     "callbacks: {a: {" T ", limits: {time_ms: 6}}}",
     "set_limits a limits={'time_ms':6,'errors':null} line=1\n"},
    {"callbacks: {a: {" T ", params: {x: 1}, enabled: false}}",
     "callbacks: {a: {" T ", params: {x: 2}, limits: {errors: 5}}}",
     "set_limits a limits={'errors':5} line=1\nset_params a params={'x':2} line=1\n"
     "enable a line=1\n"},
    {"callbacks: {a: {" T ", params: {x: 1}}}",
     "callbacks: {a: {" T ", init: {q: 1}, params: {x: 1}}}",
     "load a lua_file /d/cb/hb.lua init={'q':1} params={'x':1} line=1\n"},
    {"callbacks: {a: {" T "}}", "callbacks: {a: {target: {kind: lua_file, path: new.lua}}}",
     "load a lua_file /d/new.lua line=1\n"},
    {"callbacks: {a: {" T ", enabled: false}}",
     "callbacks: {a: {target: {kind: module, path: cb/hb.lua}}}",
     "load a module cb/hb.lua on line=1\n"},
    {"callbacks: {a: {" T "}}",
     "callbacks: {a: {target: {kind: lua_file, path: cb/hb.lua, symbol: S}, enabled: false}}",
     "load a lua_file /d/cb/hb.lua S off line=1\n"},
    {"callbacks: {a: {" T "}, b: {" T "}, c: {" T "}}", "callbacks: {d: {" T "}, b: {" T "}}",
     "disable a\ndisable c\nload d lua_file /d/cb/hb.lua on line=1\n"},
    {"callbacks: {a: {" T "}}", "callbacks:", "disable a\n"},
};

static void add_part(struct hcb_buf *b, const char *name, const struct hcb_value *v)
{
    struct hcb_buf json = {0};
    if (v->type == HCB_NULL)
        return;
    hcb_json_value(&json, v);
    for (char *p = json.data; *p; p++)
        *p = *p == '"' ? '\'' : *p;
    hcb_buf_printf(b, " %s=%s", name, json.data);
    hcb_buf_release(&json);
}

static void describe(struct hcb_buf *b, const struct hcb_op *op)
{
    assert_int_equal(op->origin, HCB_FROM_YAML);
    assert_int_equal(op->offset, -1);
    assert_int_equal(op->desired, op->kind == HCB_OP_LOAD);
    hcb_buf_printf(b, "%s %s", hcb_op_name(op->kind), op->id);
    if (op->target.path)
        hcb_buf_printf(b, " %s %s", hcb_target_kind_name(op->target.kind), op->target.path);
    if (op->target.symbol)
        hcb_buf_printf(b, " %s", op->target.symbol);
    if (op->enabled != HCB_UNSET)
        hcb_buf_str(b, op->enabled == HCB_YES ? " on" : " off");
    add_part(b, "init", &op->init);
    add_part(b, "params", &op->params);
    add_part(b, "limits", &op->limits);
    if (op->line > 0)
        hcb_buf_printf(b, " line=%d", (int)op->line);
    hcb_buf_char(b, '\n');
}

static void parse_good(const char *text, struct hcb_value *v)
{
    struct hcb_err err = {0};
    if (hcb_config_parse(text, strlen(text), "f.yaml", v, &err) < 0)
        fail_msg("%s", err.text);
}

static void test_diff(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(diff_rows); i++) {
        const struct diff_row *row = &diff_rows[i];
        struct hcb_value before = {0}, after = {0};
        struct hcb_ops ops = {0};
        struct hcb_buf got = {0};
        parse_good(row->before, &before);
        parse_good(row->after, &after);
        assert_int_equal(hcb_config_diff(&before, &after, "/d", &ops, NULL), 0);
        for (size_t j = 0; j < ops.n; j++)
            describe(&got, &ops.v[j]);
        if (strcmp(hcb_buf_text(&got), row->want) != 0)
            fail_msg("%s -> %s\n  gives %s\n  not   %s", row->before, row->after,
                     hcb_buf_text(&got), row->want);
        hcb_ops_release(&ops);
        assert_int_equal(hcb_config_diff(&after, &after, "/d", &ops, NULL), 0);
        assert_int_equal(ops.n, 0);
        hcb_buf_release(&got);
        hcb_value_release(&before);
        hcb_value_release(&after);
    }
}

/* ---- many entries ---- */

#define MANY 1000

/* Callbacks c0, c1, ... whose place in the file is i * stride; one has another value. */
static void parse_many(size_t n, size_t stride, size_t other, struct hcb_value *v)
{
    struct hcb_buf text = {0};
    hcb_buf_str(&text, "callbacks:\n");
    for (size_t i = 0; i < n; i++) {
        size_t k = i * stride % n;
        hcb_buf_printf(&text, "  c%zu: {" T ", params: {x: %d}}\n", k, k == other);
    }
    parse_good(hcb_buf_text(&text), v);
    hcb_buf_release(&text);
}

/* In the order of the file the next one is at hand; else an index is made, once. */
static void test_search(void **state)
{
    static const size_t strides[] = {1, 7, MANY - 1};
    (void)state;
    for (size_t i = 0; i < COUNT(strides); i++) {
        struct hcb_value v = {0}, order = {0};
        parse_many(MANY, 1, 0, &v);
        parse_many(MANY, strides[i], 0, &order);
        struct hcb_map_search search = {.map = &v};
        for (size_t k = 0; k < MANY; k++) {
            const char *key = order.u.map.p[k].key;
            assert_ptr_equal(hcb_map_search(&search, key), hcb_map_pair(&v, key));
        }
        assert_int_equal(search.sorted != NULL, strides[i] != 1);
        assert_null(hcb_map_search(&search, "none"));
        assert_null(hcb_map_search(&search, ""));
        hcb_map_search_end(&search);
        hcb_value_release(&v);
        hcb_value_release(&order);
    }
}

/* One value is other and the last callback is gone, in whatever order the rest stands. */
static void test_diff_many(void **state)
{
    static const size_t strides[] = {1, 7, MANY - 2};
    (void)state;
    for (size_t i = 0; i < COUNT(strides); i++) {
        struct hcb_value before = {0}, after = {0};
        struct hcb_ops ops = {0};
        parse_many(MANY, 1, MANY, &before);
        parse_many(MANY - 1, strides[i], 500, &after);
        assert_int_equal(hcb_config_diff(&before, &after, "/d", &ops, NULL), 0);
        assert_int_equal(ops.n, 2);
        assert_int_equal(ops.v[0].kind, HCB_OP_DISABLE);
        assert_string_equal(ops.v[0].id, "c999");
        assert_int_equal(ops.v[1].kind, HCB_OP_SET);
        assert_string_equal(ops.v[1].id, "c500");
        hcb_ops_release(&ops);
        hcb_value_release(&before);
        hcb_value_release(&after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_yaml),   cmocka_unit_test(test_source_and_lines),
        cmocka_unit_test(test_config), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_large),  cmocka_unit_test(test_diff),
        cmocka_unit_test(test_search), cmocka_unit_test(test_diff_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
