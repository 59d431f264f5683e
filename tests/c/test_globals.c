/* Which globals a text uses, by its words alone: each row is a script and what is found
 * in it, as "name=line" where it is set ("name=line^" outside of functions, too) and
 * "name:line" where it is only read. */
#include "scratch.h"
#include "base/buf.h"
#include "script/globals.h"
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct row {
    const char *text, *found;
} rows[] = {
    {"", ""},
    {"x = 1", "x=1^"},
    {"local x = 1 x = 2", ""},
    {"local x <const>, y <close> = 1, 2 return x + y", ""},
    {"function handle() end", "handle=1^"},
    {"local function f() end f()", ""},
    {"function T.f() end", "T:1"},
    {"local T = {} function T.a.b:c(d, ...) return self, d, e end", "e:1"},
    {"local T = {} function T.f() return self end", "self:1"},
    {"local f = function(a, b) return a, b, c end", "c:1"},
    {"for i, v in pairs(t) do i = v j = i end", "j=1^ pairs:1 t:1"},
    {"for i = 1, 2 do print(i) end", "print:1"},
    {"\n\nlocal function f()\n  n = n + 1\nend", "n=4"},
    {"local function f() n = 1 end\nn = 0", "n=1^"},
    {"a, b = 1, 2", "a=1^ b=1^"},
    {"local t t.a, b, t.c, d = 1", "b:1 d=1^"},
    {"local function f(t) a, b = t, t end", "a=1 b=1"},
    {"f(a, b) c = 1", "a:1 b:1 c=1^ f:1"},
    {"local t = { a = 1, b = c; d = e, [f] = 2, g }", "c:1 e:1 f:1 g:1"},
    {"local t = { f = function() x = 1; y = 2 end, z = 3 }", "x=1 y=1"},
    {"local t = { f = function(t) if t then x = 1 end end, y = 1 }", "x=1"},
    {"local t = { f = function(t) repeat x = 1 until t while t do y = 1 end end, z = 1 }",
     "x=1 y=1"},
    {"local t = {} t.x = 1 t.y.z = 2 t:m(q)", "q:1"},
    {"goto done do local a end ::done::", ""},
    {"if a == b then end", "a:1 b:1"},
    {"local s = 'a = 1' .. \"b = '\\\"c\" .. [[d = 1]] .. [==[e]]=1]==] .. f", "f:1"},
    {"-- a = 1\n--[[ b = 1\n]] c = 1 --[==[ d ]] ]==] e = 1", "c=3^ e=3^"},
    {"local s = 'x\\\ny' z = 1", "z=2^"},
    {"local s = [[\n\n]] z = 1", "z=3^"},
    {"local n = 0xep1 + 1e+5 + 0x1e+a .. 3 ..b", "a:1 b:1"},
    {"local n = 5 // x >> y ~= z", "x:1 y:1 z:1"},
    {"local _ENV = {} x = 1", ""},
    {"print(_ENV.x)", ""},
    {"return function() local a <const> = close return a end", "close:1"},
    {"x = function() end", "x=1^"},
    {"local t = { [1] = { x = 1 }, y = { { z = q } } }", "q:1"},
    {"local a = #b", "b:1"},
    {"local t = {f(), x = 1}", "f:1"},
    {"local 'unfinished", ""},
    {"[[", ""},
    {"--[[", ""},
    {"end end ) } until x", "x:1"},
};

static void describe(struct hcb_buf *b, const struct hcb_globals *globals)
{
    for (size_t i = 0; i < globals->n; i++) {
        const struct hcb_global *g = &globals->v[i];
        int line = g->set_line ? g->set_line : g->read_line;
        hcb_buf_printf(b, "%s%s%c%d%s", i ? " " : "", g->name, g->set_line ? '=' : ':', line,
                       g->at_top ? "^" : "");
    }
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hcb_globals globals = {0};
        struct hcb_buf found = {0};
        assert_true(hcb_globals_scan(rows[i].text, strlen(rows[i].text), &globals));
        describe(&found, &globals);
        if (strcmp(hcb_buf_text(&found), rows[i].found) != 0)
            fail_msg("%s: found \"%s\", not \"%s\"", rows[i].text, hcb_buf_text(&found),
                     rows[i].found);
        hcb_buf_release(&found);
        hcb_globals_release(&globals);
    }
}

static void test_locals(void **state)
{
    static const char text[] = "local b, a = 1 local function c(d) end for b = 1, 2 do end "
                               "local T = {} function T:m() end";
    static const char *const want[] = {"T", "a", "b", "c", "d", "self"};
    struct hcb_globals globals = {0};
    (void)state;
    assert_true(hcb_globals_scan(text, strlen(text), &globals));
    assert_int_equal(globals.locals_n, COUNT(want));
    for (size_t i = 0; i < COUNT(want); i++)
        assert_string_equal(globals.locals[i], want[i]);
    hcb_globals_release(&globals);
}

/* Whatever the text is, reading it ends, and within it. */
static void test_any_text(void **state)
{
    static const char marks[] = "a=,.{}()[]:\"'-~<>\n\\ 0x;endif";
    char text[64];
    unsigned seed = 1;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct hcb_globals globals = {0};
        size_t n = 0;
        for (; n < sizeof text - 1 && (seed = seed * 1103515245 + 12345, seed >> 16 & 31); n++)
            text[n] = marks[(seed >> 8) % (sizeof marks - 1)];
        assert_true(hcb_globals_scan(text, n, &globals));
        hcb_globals_release(&globals);
    }
}

static void test_deep_text(void **state)
{
    enum { DEPTH = 5000 };
    static char text[2 * DEPTH + 8];
    struct hcb_globals globals = {0};
    (void)state;
    memset(text, '{', DEPTH);
    memset(text + DEPTH, '}', DEPTH);
    strcpy(text + (size_t)2 * DEPTH, " x");
    assert_true(hcb_globals_scan(text, strlen(text), &globals));
    assert_int_equal(globals.n, 1);
    hcb_globals_release(&globals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_locals),
        cmocka_unit_test(test_any_text),
        cmocka_unit_test(test_deep_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
