/* Commands as people write them: which are taken, and what is said of others. */
#include "base/json.h"
#include "control/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Single quotes stand for double ones, so that the rows can be read. */
static const struct row {
    const char *json;
    const char *want; /* as describe() has it, or a part of the message */
} rows[] = {
    {"{'op':'enable','id':'hb'}", "enable hb"},
    {" {'id':'hb' , 'op':'disable'} ", "disable hb"},
    {"{'op':'unload','id':'hb','cmd':'c-1','ts':1764465000.25}", "unload hb cmd=c-1"},
    {"{'op':'reload','id':'h\xc3\xa9" "artbeat\xe7\x95\x8c'}",
     "reload h\xc3\xa9" "artbeat\xe7\x95\x8c"},
    {"{'op':'set_params','id':'hb','params':{'every':5}}", "set_params hb params={'every':5}"},
    {"{'op':'set_params','id':'hb','params':{'n':9007199254740993,'x':0.1}}",
     "set_params hb params={'n':9007199254740993,'x':0.1}"},
    {"{'op':'set_params','id':'hb','params':{'n':-9223372036854775808,'m':9223372036854775807}}",
     "{'n':-9223372036854775808,'m':9223372036854775807}"},
    {"{'op':'set_params','id':'hb','params':{}}", "set_params hb params={}"},
    {"{'op':'set_params','id':'hb','params':{'lr':0.5,'b':true},'text':{'lr':'.5','b':'TRUE'}}",
     "set_params hb params={'lr':0.5,'b':true} lr~.5 b~TRUE"},
    {"{'op':'set_limits','id':'hb','limits':{'time_ms':20}}",
     "set_limits hb limits={'time_ms':20}"},
    {"{'op':'load','id':'hb','target':{'kind':'lua_file','path':'hb.lua'}}",
     "load hb lua_file hb.lua"},
    {"{'op':'load','id':'hb','target':{'kind':'module','path':'hotcb.callbacks.heartbeat',"
     "'symbol':'HeartbeatCallback'},'init':{'every':100},'params':{'m':'x'},"
     "'limits':{'errors':3},'enabled':false,'text':{'every':'1e2'}}",
     "load hb module hotcb.callbacks.heartbeat HeartbeatCallback off init={'every':100} "
     "params={'m':'x'} limits={'errors':3} every~1e2"},
    {"{'op':'load','id':'hb','target':{'kind':'lua_file','path':'a','symbol':null},'init':null,"
     "'params':null,'limits':null,'enabled':true}",
     "load hb lua_file a on"},

    {"", "not valid JSON"},
    {"{'op':'enable','id':", "not valid JSON"},
    {"{'op':'enable','id':'hb'}{'op':'disable','id':'hb'}", "not valid JSON"},
    {"{'op':'set_params','id':'hb','params':{'every':4}} trailing junk", "not valid JSON"},
    {"{'op':'set_params','id':'hb','params':{'n':18446744073709551615}}", "beyond 64 bits"},
    {"{'op':'set_params','id':'hb','params':{'n':1e999}}", "too large"},
    {"{'op':'set_params','id':'hb','params':{'n':NaN}}", "not valid JSON"},
    {"{'op':'enable','id':'hb','id':'hb2'}", "stands twice"},
    {"[]", "a command must be an object, as in {\"op\":\"enable\",\"id\":\"x\"}, not a list"},
    {"'enable'", "not \"enable\""},
    {"{}", "\"op\" is missing"},
    {"{'op':7}", "\"op\" must be text, not 7"},
    {"{'op':'enabel','id':'hb'}", "unknown op 'enabel' - did you mean 'enable'?: the ops are "
     "load,"},
    {"{'op':'frobnicate','id':'hb'}", "unknown op 'frobnicate': the ops are"},
    {"{'op':'set','id':'hb'}", "set_params, set_limits"},
    {"{'op':'config','id':'hb'}", "unknown op 'config'"},
    {"{'op':'fail','id':'hb'}", "unknown op 'fail'"},
    {"{'op':'stop','id':'hb'}", "unknown op 'stop'"},
    {"{'op':'enable'}", "\"id\" is missing"},
    {"{'op':'enable','id':5}", "\"id\" must be text, not 5"},
    {"{'op':'enable','id':null}", "\"id\" must be text, not null"},
    {"{'op':'enable','id':{}}", "\"id\" must be text, not an object"},
    {"{'op':'enable','id':''}", "is empty"},
    {"{'op':'enable','id':'../x'}", "begins with '.'"},
    {"{'op':'enable','id':'a b'}", "has a space"},
    {"{'op':'enable','id':'hb','cmd':5}", "\"cmd\" must be text, not 5"},
    {"{'op':'set_params','id':'hb','parms':{'every':5}}",
     "unknown key 'parms' - did you mean 'params'?"},
    {"{'op':'enable','id':'hb','zzz':1}", "unknown key 'zzz' (known: op, id, cmd, ts)"},
    {"{'op':'enable','id':'hb','params':{}}", "\"params\" does not go with the op 'enable'"},
    {"{'op':'set_params','id':'hb','params':{},'enabled':true}", "\"enabled\" does not go with"},
    {"{'op':'set_params','id':'hb'}", "\"params\" is missing"},
    {"{'op':'set_params','id':'hb','params':null}", "\"params\" is missing"},
    {"{'op':'set_params','id':'hb','params':[1]}", "\"params\" must be an object, not a list"},
    {"{'op':'set_params','id':'hb','params':'x'}", "\"params\" must be an object, not \"x\""},
    {"{'op':'set_params','id':'hb','params':{'a':1},'text':{'b':'1'}}",
     "\"text\" names 'b', which has no value here"},
    {"{'op':'set_params','id':'hb','params':{'a':1},'text':{'a':1}}", "must hold text only"},
    {"{'op':'set_params','id':'hb','params':{'a':1},'text':'a'}", "\"text\" must be an object"},
    {"{'op':'set_limits','id':'hb'}", "\"limits\" is missing"},
    {"{'op':'set_limits','id':'hb','limits':5}", "\"limits\" must be an object, not 5"},
    {"{'op':'load','id':'hb'}", "\"target\" is missing"},
    {"{'op':'load','id':'hb','target':'hb.lua'}", "\"target\" must be an object, not \"hb.lua\""},
    {"{'op':'load','id':'hb','target':{}}", "target: needs a \"kind\""},
    {"{'op':'load','id':'hb','target':{'kind':'module'}}", "target: needs a \"path\""},
    {"{'op':'load','id':'hb','target':{'kind':'module','path':''}}", "target.path: is empty"},
    {"{'op':'load','id':'hb','target':{'kind':'module','path':5}}",
     "target.path: must be text, not 5"},
    {"{'op':'load','id':'hb','target':{'kind':5,'path':'x'}}",
     "target.kind: must be 'lua_file' or 'module', not 5"},
    {"{'op':'load','id':'hb','target':{'kind':'lua_fiel','path':'x'}}",
     "target.kind: unknown kind 'lua_fiel' - did you mean 'lua_file'?"},
    {"{'op':'load','id':'hb','target':{'kind':'python_file','path':'x.py'}}", "write it in Lua"},
    {"{'op':'load','id':'hb','target':{'kind':'module','path':'x','symbl':'Y'}}",
     "target.symbl: unknown key - did you mean 'symbol'?"},
    {"{'op':'load','id':'hb','target':{'kind':'module','path':'x'},'enabled':'false'}",
     "\"enabled\" must be true or false, not \"false\""},
    {"{'op':'load','id':'hb','target':{'kind':'module','path':'x'},'enabled':null}",
     "must be true or false, not null"},
    {"{'op':'load','id':'hb','target':{'kind':'module','path':'x'},'init':[]}",
     "\"init\" must be an object, not a list"},
};

static void add_part(struct hcb_buf *b, const char *name, const struct hcb_value *v)
{
    struct hcb_buf json = {0};
    if (v->type == HCB_NULL)
        return;
    hcb_json_value(&json, v);
    hcb_buf_printf(b, " %s=%s", name, hcb_buf_text(&json));
    hcb_buf_release(&json);
}

/* The values whose spelling is not the one that JSON gives them. */
static void add_sources(struct hcb_buf *b, const struct hcb_value *map)
{
    for (size_t i = 0; map->type == HCB_MAP && i < map->u.map.n; i++) {
        const struct hcb_pair *p = &map->u.map.p[i];
        struct hcb_buf json = {0};
        hcb_json_value(&json, &p->value);
        if (p->value.source && strcmp(p->value.source, hcb_buf_text(&json)) != 0)
            hcb_buf_printf(b, " %s~%s", p->key, p->value.source);
        hcb_buf_release(&json);
    }
}

static void describe(struct hcb_buf *b, const struct hcb_op *op)
{
    hcb_buf_printf(b, "%s %s", hcb_op_name(op->kind), op->id ? op->id : "-");
    if (op->target.path)
        hcb_buf_printf(b, " %s %s", hcb_target_kind_name(op->target.kind), op->target.path);
    if (op->target.symbol)
        hcb_buf_printf(b, " %s", op->target.symbol);
    if (op->enabled != HCB_UNSET)
        hcb_buf_str(b, op->enabled == HCB_YES ? " on" : " off");
    add_part(b, "init", &op->init);
    add_part(b, "params", &op->params);
    add_part(b, "limits", &op->limits);
    add_sources(b, &op->init);
    add_sources(b, &op->params);
    if (op->cmd)
        hcb_buf_printf(b, " cmd=%s", op->cmd);
}

static char *with_quotes(const char *s)
{
    char *copy = strdup(s);
    for (char *p = copy; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    return copy;
}

/* A message has both kinds of quotes, a description only double ones. */
static bool matches(const char *got, const char *want)
{
    char *quoted = with_quotes(want);
    bool ok = strcmp(got, quoted) == 0 || strstr(got, want) || strstr(got, quoted);
    free(quoted);
    return ok;
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *json = with_quotes(rows[i].json);
        struct hcb_op op;
        struct hcb_err err = {0};
        struct hcb_buf got = {0};
        int rc = hcb_op_parse(json, strlen(json), &op, &err);
        assert_int_equal(rc, err.code);
        if (rc < 0)
            hcb_buf_str(&got, err.text);
        else
            describe(&got, &op);
        if (!matches(hcb_buf_text(&got), rows[i].want))
            fail_msg("%s: %s, not %s", json, hcb_buf_text(&got), rows[i].want);
        assert_int_equal(op.offset, -1);
        hcb_buf_release(&got);
        hcb_op_release(&op);
        free(json);
    }
}

/* What a refused line leaves for the ledger. */
static const struct row left[] = {
    {"{'op':'enable','id':'hb','cmd':'c1','x':1}", "enable hb cmd=c1"},
    {"{'op':'enabel','id':'hb','cmd':'c1'}", "? hb cmd=c1"},
    {"{'op':'load','id':'hb','cmd':'c1','target':{'kind':'python_file','path':'x'}}",
     "load hb cmd=c1"},
    {"{'op':'enable','id':5,'cmd':'c1'}", "enable - cmd=c1"},
    {"{'op':'enable','id':'hb','cmd':5}", "enable hb"},
    {"{'op':'enable','id':'a/b'}", "enable -"},
    {"[]", "? -"},
    {"{'op'", "? -"},
};

static void test_left_of_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        char *json = with_quotes(left[i].json);
        struct hcb_op op;
        struct hcb_buf got = {0};
        assert_true(hcb_op_parse(json, strlen(json), &op, NULL) < 0);
        describe(&got, &op);
        assert_string_equal(hcb_buf_text(&got), left[i].want);
        hcb_buf_release(&got);
        hcb_op_release(&op);
        free(json);
    }
}

static void test_python_file_is_refused(void **state)
{
    const char json[] = "{\"op\":\"load\",\"id\":\"a\",\"target\":{\"kind\":\"python_file\"}}";
    struct hcb_op op;
    (void)state;
    assert_int_equal(hcb_op_parse(json, strlen(json), &op, NULL), HOTCB_EREFUSED);
    hcb_op_release(&op);
}

/* Lists in lists of a parameter: fewer than JSON takes, since ledger, status and
 * state write the value inside of larger records. */
static void test_depth(void **state)
{
    (void)state;
    for (int depth = 31; depth <= 33; depth++) {
        struct hcb_buf b = {0};
        struct hcb_op op;
        struct hcb_err err = {0};
        hcb_buf_str(&b, "{\"op\":\"set_params\",\"id\":\"a\",\"params\":{\"x\":");
        for (int i = 0; i < depth; i++)
            hcb_buf_char(&b, '[');
        for (int i = 0; i < depth; i++)
            hcb_buf_char(&b, ']');
        hcb_buf_str(&b, "}}");
        int rc = hcb_op_parse(b.data, b.len, &op, &err);
        assert_int_equal(rc, depth <= 32 ? 0 : HOTCB_EFORMAT);
        if (rc < 0)
            assert_string_equal(err.text,
                                "params.x: more than 32 lists or maps within one another");
        hcb_op_release(&op);
        hcb_buf_release(&b);
    }
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(hcb_op_name(HCB_OP_LOAD), "load");
    assert_string_equal(hcb_op_name(HCB_OP_STOP), "stop");
    assert_string_equal(hcb_op_name(HCB_OP_NONE), "?");
    assert_string_equal(hcb_origin_name(HCB_FROM_COMMAND), "command");
    assert_string_equal(hcb_origin_name(HCB_FROM_RUN), "run");
    assert_string_equal(hcb_target_kind_name(HCB_TARGET_FILE), "lua_file");
    assert_string_equal(hcb_target_kind_name(HCB_TARGET_MODULE), "module");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),  cmocka_unit_test(test_left_of_refused),
        cmocka_unit_test(test_depth), cmocka_unit_test(test_python_file_is_refused),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
