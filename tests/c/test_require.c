/* require: which text a name stands for, what is loaded once, what is refused; and
 * which files that makes worth watching. */
#include "controller/modules.h"
#include "files.h"
#include "script_rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct world {
    struct rig rig;
    struct hcb_places places;
    struct hcb_loading loading;
};

static char search_path[400];

static void world_init(struct world *w)
{
    memset(w, 0, sizeof(*w));
    rig_init(&w->rig);
    mkdir(scratch("beside"), 0777);
    mkdir(scratch("beside/lib"), 0777);
    mkdir(scratch("one"), 0777);
    mkdir(scratch("two"), 0777);
    snprintf(search_path, sizeof(search_path), "%s::%s", scratch("one"), scratch("two"));
    w->places.cwd = scratch_dir;
    w->places.search_path = search_path;
    w->loading.places = &w->places;
    w->loading.dir = strdup(scratch("beside"));
    w->rig.source.find = hcb_loading_find;
    w->rig.source.find_user = &w->loading;
    scratch_write(scratch("beside/util.lua"), "return { name = 'beside', args = select('#', ...), "
                                              "first = ... }");
    scratch_write(scratch("beside/lib/deep.lua"), "return require 'util'.name .. ' deep'");
    scratch_write(scratch("one/util.lua"), "return { name = 'one' }");
    scratch_write(scratch("one/only_one.lua"), "return 'one'");
    scratch_write(scratch("two/only_one.lua"), "return 'two'");
    scratch_write(scratch("two/only_two.lua"), "return 'two'");
    scratch_write(scratch("beside/nothing.lua"), "loads = (loads or 0) + 1");
    scratch_write(scratch("beside/no.lua"), "return false");
    scratch_write(scratch("beside/me.lua"), "return require 'me'");
    scratch_write(scratch("beside/a.lua"), "return require 'b'");
    scratch_write(scratch("beside/b.lua"), "return require 'a'");
    scratch_write(scratch("beside/raises.lua"), "\nerror('not today')");
    scratch_write(scratch("beside/broken.lua"), "return {\n");
    scratch_write(scratch("beside/empty.lua"), "");
    scratch_write(scratch("beside/bom.lua"), "\xef\xbb\xbf#!/usr/bin/lua\nreturn 'bom'");
    scratch_put(scratch("beside/code.lua"), O_TRUNC, "\x1bLua\x54", 5);
    scratch_put(scratch("beside/nul.lua"), O_TRUNC, "return 1\0", 9);
    mkdir(scratch("beside/folder.lua"), 0777);
}

static void world_release(struct world *w)
{
    rig_release(&w->rig);
    hcb_loading_release(&w->loading);
}

static const struct require_row {
    const char *code; /* of a chunk that defines handle */
    const char *want; /* what it logs, or a part of the refusal */
    enum hcb_reason reason;
} require_rows[] = {
    {"print(require('util').name)", "beside", HCB_FINE},
    {"local u = require 'util' print(u.args, u.first)", "1 util", HCB_FINE},
    {"print(require 'lib.deep')", "beside deep", HCB_FINE},
    {"print(require 'only_one', require 'only_two')", "one two", HCB_FINE},
    {"print(require 'util' == require 'util')", "true", HCB_FINE},
    {"print(require 'nothing', require 'nothing', loads)", "true true 1", HCB_FINE},
    {"print(require 'no', require 'no', require 'empty', require 'bom')", "true true true bom",
     HCB_FINE},
    {"print(type(require 'hotcb.callbacks.heartbeat'.handle))", "function", HCB_FINE},
    {"x = pcall(require, 'none') print(x)", "false", HCB_FINE},

    {"require 'none'", "it.lua:1: require 'none': no such module (looked in the shipped helpers, "
                       "beside the script and along HOTCB_PATH)", HCB_RUNTIME},
    {"require 'me'", "require 'me': it requires itself", HCB_RUNTIME},
    {"require 'a'", "require 'a': it requires itself", HCB_RUNTIME},
    {"pcall(require, 'raises') require 'raises'", "or failed when it was required before",
     HCB_RUNTIME},
    {"require 'raises'", "beside/raises.lua:2: not today", HCB_RUNTIME},
    {"require 'broken'", "beside/broken.lua:2: unexpected symbol near <eof>", HCB_SYNTAX},
    {"require 'code'", "beside/code.lua: precompiled Lua is not accepted", HCB_SYNTAX},
    {"require 'nul'", "beside/nul.lua: holds a NUL byte", HCB_SYNTAX},
    {"require 'folder'", "is a directory, not a file", HCB_RUNTIME},
    {"require()", "bad argument #1 to 'require'", HCB_RUNTIME},
    {"require {}", "bad argument #1 to 'require'", HCB_RUNTIME},
    {"require ''", "require '': a name is words with points between them", HCB_RUNTIME},
    {"require '../one/util'", "a name is words", HCB_RUNTIME},
    {"require '..one.util'", "a name is words", HCB_RUNTIME},
    {"require '/etc/passwd'", "a name is words", HCB_RUNTIME},
    {"require 'a..b'", "a name is words", HCB_RUNTIME},
    {"require 'a.'", "a name is words", HCB_RUNTIME},
    {"require 'a b'", "a name is words", HCB_RUNTIME},
    {"require('lib' .. '\\0' .. 'x')", "no such module", HCB_RUNTIME},
    {"require(('x'):rep(300))", "a name is words", HCB_RUNTIME},
    {"require 'hotcb.callbacks.nope'", "no such module", HCB_RUNTIME},
};

static void test_require(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(require_rows); i++) {
        const struct require_row *row = &require_rows[i];
        char text[400];
        struct world w;
        world_init(&w);
        snprintf(text, sizeof(text), "%s function handle() end", row->code);
        int rc = rig_open(&w.rig, text);
        if (row->reason == HCB_FINE) {
            if (rc < 0)
                fail_msg("%s: %s", row->code, w.rig.fault.message);
            assert_string_equal(rig_asked(&w.rig), row->want);
        } else {
            assert_int_equal(rc, -1);
            rig_expect_fault(&w.rig, row->reason, row->want);
        }
        world_release(&w);
    }
}

/* Also later, from handle, and with another finder then. */
static void test_require_later(void **state)
{
    struct world w;
    struct hcb_loading other = {0};
    (void)state;
    world_init(&w);
    rig_must_open(&w.rig, "function handle(event) print(require(event)) end");
    other.places = &w.places;
    other.dir = strdup(scratch("beside"));
    hcb_script_finder(w.rig.script, hcb_loading_find, &other);
    assert_int_equal(rig_handle(&w.rig, "only_two"), 0);
    assert_int_equal(rig_handle(&w.rig, "only_two"), 0);
    assert_int_equal(rig_handle(&w.rig, "broken"), -1);
    rig_expect_fault(&w.rig, HCB_SYNTAX, "broken.lua:2:");
    assert_string_equal(rig_asked(&w.rig), "two|two");
    assert_int_equal(w.loading.watches.n, 0);
    assert_int_equal(other.watches.n, 4); /* two places of only_two in vain, two found */
    hcb_loading_release(&other);
    world_release(&w);
}

/* No finder at all: only an error. */
static void test_require_without_finder(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    assert_int_equal(rig_open(&r, "require 'x'"), -1);
    rig_expect_fault(&r, HCB_RUNTIME, "no such module");
    rig_release(&r);
}

/* What was looked for and not found is watched, too: it may come. */
static void test_watches(void **state)
{
    static const char *const paths[] = {"beside/only_two.lua", "one/only_two.lua",
                                        "two/only_two.lua", "beside/lib/deep.lua",
                                        "beside/util.lua"};
    struct world w;
    struct hcb_buf content = {0};
    struct hcb_glance glance = {.bytes = 1};
    (void)state;
    world_init(&w);
    rig_must_open(&w.rig, "require 'only_two' require 'lib.deep' "
                          "require 'hotcb.callbacks.heartbeat' function handle() end");
    assert_int_equal(w.loading.watches.n, COUNT(paths));
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct hcb_watch *watch = &w.loading.watches.v[i];
        assert_string_equal(watch->path, scratch(paths[i]));
        assert_int_equal(hcb_watch_check(watch, &glance, &content, NULL), HCB_WATCH_SAME);
    }
    scratch_write(scratch(paths[0]), "return 5");
    assert_int_equal(hcb_watch_check(&w.loading.watches.v[0], &glance, &content, NULL),
                     HCB_WATCH_CHANGED);
    hcb_buf_release(&content);
    world_release(&w);
}

/* ---- targets --------------------------------------------------------------- */

static const struct target_row {
    enum hcb_target_kind kind;
    const char *path; /* of a file, below the scratch folder */
    const char *want; /* its name in messages, or a part of the refusal */
    int code;
} target_rows[] = {
    {HCB_TARGET_FILE, "beside/util.lua", "@beside/util.lua", 0},
    {HCB_TARGET_FILE, "beside/none.lua", "beside/none.lua", HOTCB_ENOENT},
    {HCB_TARGET_FILE, "beside/empty.lua", "beside/empty.lua: is empty", HOTCB_EFORMAT},
    {HCB_TARGET_FILE, "beside", "is a directory", HOTCB_EIO},
    {HCB_TARGET_MODULE, "hotcb.callbacks.heartbeat", "@hotcb.callbacks.heartbeat", 0},
    {HCB_TARGET_MODULE, "hotcb.callbacks.hartbeat",
     "no shipped module 'hotcb.callbacks.hartbeat' - did you mean 'hotcb.callbacks.heartbeat'?; "
     "for a script of your own use a file", HOTCB_ENOENT},
    {HCB_TARGET_MODULE, "hotcb.callbacks.nosuch",
     "no shipped module 'hotcb.callbacks.nosuch'; for a script of your own use a file",
     HOTCB_ENOENT},
    {HCB_TARGET_MODULE, "zzz", "no shipped module 'zzz'; for a script of your own use a file",
     HOTCB_ENOENT},
};

static void test_targets(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(target_rows); i++) {
        const struct target_row *row = &target_rows[i];
        struct world w;
        struct hcb_module m = {0};
        struct hcb_err err = {0};
        world_init(&w);
        const char *path = row->kind == HCB_TARGET_FILE ? scratch(row->path) : row->path;
        struct hcb_target target = {.kind = row->kind, .path = (char *)(uintptr_t)path};
        assert_int_equal(hcb_loading_target(&w.loading, &target, &m, &err), row->code);
        const char *got = row->code == 0 ? m.chunkname : err.text;
        if (!strstr(got, row->want))
            fail_msg("%s: %s, not %s", row->path, got, row->want);
        hcb_module_release(&m);
        world_release(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(test_require), WITH_SCRATCH(test_require_later),
        cmocka_unit_test(test_require_without_finder), WITH_SCRATCH(test_watches),
        WITH_SCRATCH(test_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
