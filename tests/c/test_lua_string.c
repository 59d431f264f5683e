/* The string and utf8 functions of the sandbox beside Lua's own: the same answers and the
 * same errors on random patterns and texts, and an end to each form that would burn time. */
#include "library_rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define LUA(...) #__VA_ARGS__

/* ---- parts of patterns and texts ------------------------------------------------ */

/* Lua strings; a random pattern is a few of them in a row, repeatable ones with a suffix. */
static const char *const single_rows =
    "singles = { 'a', 'b', 'x', ' ', '1', '_', '.', '.', '%a', '%d', '%s', '%w', '%p', '%A',"
    " '%D', '%W', '%S', '%u', '%l', '%x', '%c', '%g', '%z', '%Z', '%.', '%%', '%]', '%y',"
    " '\\0', '\\255', '%\\0', '[ab]', '[^a]', '[a-c]', '[^a-c1]', '[%a_]', '[%w%s]', '[^%s]',"
    " '[]]', '[^]]', '[%]]', '[a-]', '[-a]', '[a%-b]', '[a-%d]', '[%d-a]', '[.%.]', '[%^a]',"
    " '[a^]', '[\\0-a]', '[b-a]', '[%-%z]', ')', ']', '-', '*', '+', '?', '^', '$' }\n"
    "suffixes = { '', '', '', '*', '+', '-', '?' }\n";
static const char *const other_rows =
    "others = { '(', '(', ')', ')', '()', '()', '(a)', '(.-)', '(%w+)', '(b*)', '((.)(.))',"
    " '%b()', '%bab', '%b\\0a', '%baa', '%f[a]', '%f[^a]', '%f[%w]', '%f[%z]', '%f[\\0]',"
    " '%1', '%1', '%2', '^', '$', '%3', '%0', '%9' }\n"
    "broken = { '%', '[a', '[', '[^', '[]', '[^]', '[%', '[a%', '%f', '%fa', '%f[', '%b',"
    " '%bx', '(', ')', '%1' }\n";
static const char *const text_rows =
    "letters = { 'a', 'a', 'a', 'b', 'b', 'c', 'x', ' ', '1', '_', '(', ')', '.', '%', '-',"
    " ']', 'A', '\\0', '\\255', '\\n' }\n"
    "inits = { 0, 1, 2, 3, 5, 9, 30, -1, -2, -5, -30, math.maxinteger, math.mininteger }\n"
    "replacements = { '', 'x', '%0', '<%0>', '%1', '[%1%2]', '%%', '%2%1', '%', '%x', '%\\0',"
    " 'a%', '\\0', 7, 1.5, -0.0, true }\n"
    "answers = { 'A', '', false, 3, 1.5, {}, true }\n";

static const char make_rows[] =
    "function text(most)\n"
    "  local t = {}\n"
    "  for i = 1, math.random(0, most) do t[i] = pick(letters) end\n"
    "  return stock.table.concat(t)\n"
    "end\n"
    "function pattern()\n"
    "  local t = { math.random(8) == 1 and '^' or '' }\n"
    "  for i = 1, math.random(0, 6) do\n"
    "    local n = math.random(100)\n"
    "    t[i + 1] = n <= 60 and pick(singles) .. pick(suffixes) or n <= 97 and pick(others)\n"
    "      or pick(broken)\n"
    "  end\n"
    "  if math.random(6) == 1 then t[#t + 1] = '$' end\n"
    "  return stock.table.concat(t)\n"
    "end\n"
    "function maybe(list) if math.random(2) == 1 then return pick(list) end end\n";

static void open_with_parts(struct library_rig *r)
{
    library_open(r, 3600000, 256);
    library_must_run(r, single_rows);
    library_must_run(r, other_rows);
    library_must_run(r, text_rows);
    library_must_run(r, make_rows);
}

static void run_with_parts(const char *chunk)
{
    struct library_rig r;
    open_with_parts(&r);
    library_must_run(&r, chunk);
    library_close(&r);
}

/* ---- the same as Lua's ----------------------------------------------------------- */

static void test_find_and_match(void **state)
{
    (void)state;
    run_with_parts(LUA(
        local found, failed = 0, 0
        for i = 1, 40000 do
            local s, p, init = text(16), pattern(), maybe(inits)
            local r = check('find', string.find, stock.string.find, s, p, init)
            check('match', string.match, stock.string.match, s, p, init)
            check('find', string.find, stock.string.find, s, text(2), init, maybe { true })
            if r[2] then found = found + 1 end
            if not r[1] then failed = failed + 1 end
        end
        assert(found > 4000 and failed > 1000, found .. ' ' .. failed)
    ));
}

static void test_gmatch(void **state)
{
    (void)state;
    run_with_parts(LUA(
        local function all(gmatch, ...)
            local r = {}
            local next = gmatch(...)
            for i = 1, 40 do
                local m = stock.table.pack(next())
                r[i] = show(m)
                if m.n == 0 or m[1] == nil then break end
            end
            return stock.table.concat(r, '; ')
        end
        for i = 1, 20000 do
            local s, p, init = text(16), pattern(), maybe(inits)
            local a, b = outcome(all, string.gmatch, s, p, init),
                         outcome(all, stock.string.gmatch, s, p, init)
            assert(same(a, b), stock.string.format('%q %q %s: %s, not %s', s, p, init, show(a),
                                                   show(b)))
        end
    ));
}

static void test_gsub(void **state)
{
    (void)state;
    run_with_parts(LUA(
        local function by_function(...)
            local n = 0
            for i = 1, select('#', ...) do n = n + #tostring((select(i, ...))) end
            return answers[n % 5 + 1]
        end
        local by_index = setmetatable({}, { __index = function(_, k)
            return answers[#tostring(k) % #answers + 1] end })
        local by_table = { a = 'A', b = false, [''] = '-', [1] = 'one', aa = 2, x = {} }
        local most = { 0, 1, 2, -1, 100, 1.5, '1' }
        local kinds = { by_function, by_table, by_index }
        for i = 1, 60000 do
            local s, p = text(16), pattern()
            local by = pick(replacements)
            if i % 3 == 0 then by = pick(kinds) end
            check('gsub', string.gsub, stock.string.gsub, s, p, by, maybe(most))
        end
        local long = ('ab '):rep(3000)
        for _, p in ipairs { 'a', '%w+', 'b( )', '', '()', 'z', '.' } do
            for _, by in ipairs { '', '<%0>', '%1', by_function, ('%1'):rep(50) } do
                check('gsub', string.gsub, stock.string.gsub, long, p, by)
            end
        end
    ));
}

/* What is called wrongly, is at a limit, or is no string. */
static void test_edges_of_patterns(void **state)
{
    (void)state;
    run_with_parts(LUA(
        for _, name in ipairs { 'find', 'match', 'gmatch', 'gsub' } do
            local a, b = string[name], stock.string[name]
            for _, row in ipairs {
                {}, { 'a' }, { {}, 'a' }, { 'a', {} }, { 'a', 'a', {} }, { 'a', 'a', 1.5 },
                { 12, 1, nil }, { 12, 1, 2 }, { 'a', 'a', 'x' }, { 'a', 'a', 'x', {} },
                { 'a', 'a', true, {} }, { 'a', 'a', '1' }, { 'a', 'a', 0, 1 },
            } do
                local x, y = outcome(a, table.unpack(row)), outcome(b, table.unpack(row))
                if name == 'gmatch' and x[1] then x, y = { n = 0 }, { n = 0 } end
                assert(same(x, y), show(x) .. ' not ' .. show(y))
            end
        end
        for _, n in ipairs { 1, 31, 32, 33, 198, 199, 200, 201, 300 } do
            for _, item in ipairs { '()', '(a)', 'a?', 'a*', 'a-', '(', 'a', '(a*)', '%f[a]' } do
                for _, s in ipairs { '', ('a'):rep(n), ('a'):rep(n - 1) .. 'b' } do
                    check('match', string.match, stock.string.match, s, item:rep(n))
                    check('find', string.find, stock.string.find, s, item:rep(n))
                end
            end
        end
    ));
}

static void test_long_plain_find(void **state)
{
    (void)state;
    run_with_parts(LUA(
        for i = 1, 3000 do
            local s = ('ab'):rep(math.random(0, 1500)) .. pick { 'aab', 'b', '', '\0a' } ..
                      ('ba'):rep(math.random(0, 1500))
            local word = ('ab'):rep(math.random(0, 1200)) .. pick { '', 'a', 'b', 'aab' }
            check('find', string.find, stock.string.find, s, word, math.random(-10, 10), true)
        end
    ));
}

static void test_rep_and_case(void **state)
{
    (void)state;
    run_with_parts(LUA(
        local counts = { 0, 1, 2, 3, 7, 100, 70000, -1, math.mininteger, '3', 1.5 }
        for i = 1, 400 do
            local s, n = text(5), pick(counts)
            check('rep', string.rep, stock.string.rep, s, n, math.random(2) == 1 and text(3) or nil)
            check('upper', string.upper, stock.string.upper, text(30))
            check('lower', string.lower, stock.string.lower, text(30):rep(9000))
            check('upper', string.upper, stock.string.upper, text(30):rep(9000))
        end
        check('rep', string.rep, stock.string.rep)
        check('rep', string.rep, stock.string.rep, 'x')
        check('rep', string.rep, stock.string.rep, {}, 1)
        check('rep', string.rep, stock.string.rep, 'x', 1 << 62)
        check('upper', string.upper, stock.string.upper, 5)
        check('upper', string.upper, stock.string.upper)
        assert((''):rep(1 << 62) == '' and (''):rep(math.maxinteger, '') == '')
        local _, why = pcall(string.rep, 'ab', 1 << 30)
        assert(why:find('resulting string too large', 1, true))
    ));
}

static void test_format(void **state)
{
    (void)state;
    run_with_parts(LUA(
        local long = '"\\\n\r\0\0010\001x\127\128\25512' .. ('ab\0001'):rep(400)
        local plain, named = ('x'):rep(3000), setmetatable({}, { __tostring = function()
            return ('y'):rep(2000) end })
        local formats = { '%s', '%q', '%5s', '%.3s', '%-8.5s', '%20.99s', '%d', '%5.1f', '%%', '%x',
            'text ', '%i', '%g', '%c', '%a', '%5q', '%.', '%', '%y', '%5%', '%0100d', '%.100s',
            '%#x', '%+d', '%.20q', '%p' }
        local values = { 'x', long, plain, long .. long, 1, -2.5, true, named, 'a\0b', '', 1e308 }
        for i = 1, 30000 do
            local f, args = {}, {}
            for k = 1, math.random(0, 5) do f[k] = pick(formats) end
            for k = 1, math.random(0, 6) do args[k] = pick(values) end
            check('format', string.format, stock.string.format, table.concat(f), table.unpack(args))
        end
        check('format', string.format, stock.string.format)
        check('format', string.format, stock.string.format, {})
        check('format', string.format, stock.string.format, 12, 3)
        check('format', string.format, stock.string.format, ('%d'):rep(3000), table.unpack(
              table.move({ 1 }, 1, 1, 3000, table.pack(('1'):rep(3000):byte(1, -1)))))
        local ok, why = pcall(string.format, ('%99.99f'):rep(2000), table.unpack({}, 1, 2000))
        assert(not ok and why:find('too many values to format', 1, true), why)
        ok, why = pcall(string.format, ('x'):rep(2 << 20))
        assert(not ok and why:find('format too long', 1, true), why)
    ));
}

static void test_pack(void **state)
{
    (void)state;
    run_with_parts(LUA(
        for _, f in ipairs { 'i4', 'z', '<i2>i2', 's1', '', 'i17', '!3', 'c', 'Xi4', 'y' } do
            check('pack', string.pack, stock.string.pack, f, 1, 2)
            check('packsize', string.packsize, stock.string.packsize, f)
            check('unpack', string.unpack, stock.string.unpack, f, 'abcd\0efgh')
        end
        check('pack', string.pack, stock.string.pack)
        check('unpack', string.unpack, stock.string.unpack, {}, '')
        local ok, why = pcall(string.pack, ('x'):rep(20000))
        assert(not ok and why:find('format too long', 1, true), why)
    ));
}

static void test_utf8(void **state)
{
    (void)state;
    run_with_parts(LUA(
        local parts = { 'a', 'b', '\0', '\u{7F}', '\u{80}', '\u{7FF}', '\u{800}', '\u{FFFF}',
            '\u{10000}', '\u{10FFFF}', '\u{110000}', '\u{1FFFFF}', '\u{3FFFFFF}', '\u{7FFFFFFF}',
            '\u{D800}', '\x80', '\xBF', '\xC0\x80', '\xC1\xBF', '\xE0\x80\x80', '\xFE', '\xFF',
            '\xF8\x80\x80\x80\x80', '\xFC\x80\x80\x80\x80\x80', '\xFE\x80\x80\x80\x80\x80\x80',
            '\xC3', '\xE2\x82', '\xED\xA0\x80' }
        local codes = { 0, 65, 127, 128, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF, 0x110000,
            0x3FFFFFF, 0x4000000, 0x7FFFFFFF, 0x80000000, -1, 1.5, 'x', '65', math.mininteger }
        local extra = { 100, math.maxinteger, math.mininteger, 1.5, 'x' }
        local function place() return maybe(extra) or math.random(-9, 9) end
        for i = 1, 40000 do
            local t, c = {}, {}
            for k = 1, math.random(0, 6) do t[k] = pick(parts) end
            for k = 1, math.random(0, 4) do c[k] = pick(codes) end
            local s = stock.table.concat(t)
            check('len', utf8.len, stock.utf8.len, s, place(), place(), i % 3 == 0)
            check('len', utf8.len, stock.utf8.len, s, nil, nil, i % 2 == 0)
            check('offset', utf8.offset, stock.utf8.offset, s, place(), place())
            check('offset', utf8.offset, stock.utf8.offset, s, place())
            check('char', utf8.char, stock.utf8.char, table.unpack(c))
        end
        local s = ('a\u{7FF}\u{20AC}'):rep(5000)
        for _, n in ipairs { 0, 1, -1, 7000, -7000, 14999, 15000, 15001, 15002, -15000, -15001 } do
            check('offset', utf8.offset, stock.utf8.offset, s, n)
        end
        check('len', utf8.len, stock.utf8.len, s)
        check('len', utf8.len, stock.utf8.len, s .. '\xff')
    ));
}

/* ---- an end to everything ---------------------------------------------------------- */

/* One call each, so that nothing but that call can notice that time is up. */
static const struct hostile_row call_rows[] = {
    {"local s = ('a'):rep(3000) s:find('(a+)(a+)%1%2b')", "budget"},
    {"local s = ('('):rep(400000) s:find('%b()x')", "budget"},
    {"local s = ('a'):rep(3000) string.match(s, ('.-'):rep(8) .. 'z')", "budget"},
    {"local s = ('a'):rep(60) string.match(s, ('a?'):rep(60) .. ('a'):rep(60) .. 'b')", "budget"},
    {"local s = ('a'):rep(2000) string.find(s, ('a*'):rep(12) .. 'b')", "budget"},
    {"local s = ('a'):rep(200000) string.match(s, ('a'):rep(100000) .. 'b')", "budget"},
    {"local s = ('a'):rep(200000) string.match(s, '[' .. ('b'):rep(100000) .. ']')", "budget"},
    {"local s = ('a'):rep(200000) string.match(s, '[' .. ('b'):rep(100000) .. ']*x')", "budget"},
    {"local s = ('a'):rep(200000) string.match(s, '%f[' .. ('b'):rep(100000) .. ']')", "budget"},
    {"local s = ('a'):rep(200000) string.match(s, '.-[' .. ('b'):rep(100000) .. ']')", "budget"},
    {"local s = ('a'):rep(200000) string.match(s, '(.-)%1b')", "budget"},
    {"local s = ('a'):rep(200000) string.gsub(s, '.-b', '')", "budget"},
    {"local s = ('a'):rep(200000) for _ in string.gmatch(s, '.-b') do end", "budget"},
    {"local s = ('a'):rep(400000) string.gsub(s, '(b?)', ('%1'):rep(100000))", "budget"},
    {"local s = ('a'):rep(4000000) string.gsub(s, 'a', math.type)", "budget runtime"},
    {"local s = ('a'):rep(4000000) string.gsub(s, 'a', string.len)", "budget memory"},
    {"string.rep('', 1 << 62)", "ok"},
    {"(''):rep(math.maxinteger, '')", "ok"},
    {"string.rep('x', 1 << 40)", "runtime"},
    {"string.rep('x', 1 << 30)", "memory"},
    {"local ok = pcall(string.format, '%100d', 1) assert(not ok) "
     "for i = 1, 200 do local s = string.format('%99d %99.99f', i, 1e308) end", "ok budget"},
    {"string.format(('%99.99f'):rep(50000), table.unpack({}, 1, 4000))", "runtime"},
    {"local s = ('x'):rep(4000000) local t = {} for i = 1, 4000 do t[i] = s end "
     "string.format(('%.1s'):rep(4000), table.unpack(t))", "budget"},
    {"string.pack(('i16'):rep(6000), 1)", "runtime"},
    {"string.unpack(('!16b'):rep(20000), ('x'):rep(900000))", "runtime"},
    {"for _, f in ipairs {'c2147483647c2147483647', 's17', 'i17', '!3', ('c1'):rep(100)} do "
     "pcall(string.packsize, f) end", "ok"},
};

/* These go on for ever, or nearly, between calls. */
static const struct hostile_row loop_rows[] = {
    {"local n = 400000 local s = ('a'):rep(n) local q = ('a'):rep(n // 2) .. 'b' "
     "for i = 1, 50 do string.find(s, q, 1, true) end", "budget"},
    {"local s = ('a'):rep(20000) while true do s = s:gsub('a', '%0%0%0%0') end",
     "budget memory runtime"},
    {"while true do pcall(string.format, '%q', ('\\1'):rep(200000)) end", "budget memory"},
    {"local s = ('aB'):rep(400000) while true do s:reverse():upper():lower() end", "budget"},
    {"while true do pcall(string.pack, ('i16'):rep(5000), 1) pcall(string.unpack, "
     "('!16b'):rep(20000), ('x'):rep(900000)) end", "budget memory runtime"},
    {"local s = ('a'):rep(900000) while true do pcall(utf8.codepoint, s, 1, -1) end",
     "budget memory runtime"},
    {"local s = ('\\u{7FF}'):rep(400000) while true do utf8.len(s) end", "budget"},
    {"local s = ('\\u{7FF}'):rep(400000) while true do utf8.offset(s, 400000) end", "budget"},
    {"local s = ('\\u{7FF}'):rep(400000) while true do utf8.offset(s, -400000) end", "budget"},
    {"local s = ('a'):rep(200000) while true do utf8.char(s:byte(1, -1)) end", "budget memory"},
    {"local s = ('a'):rep(200000) while true do string.char(s:byte(1, -1)) end", "budget memory"},
    {"local a = ('a'):rep(400000) while true do local b = a .. a end", "budget memory"},
    {"local a = ('a'):rep(900000) local x, y = a .. 'x', a .. 'y' while true do "
     "local less = x < y end", "budget memory"},
    {"xpcall(error, function() string.match(('a'):rep(3000), ('.-'):rep(8) .. 'z') end)", "budget"},
};

static void test_hostile_calls(void **state)
{
    (void)state;
    library_hostiles(call_rows, COUNT(call_rows), library_chunk_unhooked);
}

static void test_hostile_loops(void **state)
{
    (void)state;
    library_hostiles(loop_rows, COUNT(loop_rows), library_chunk);
}

/* Short of memory at many points, nothing but the stop happens. */
static void test_short_of_memory(void **state)
{
    struct library_rig r;
    char text[600];
    (void)state;
    for (int kib = 600; kib < 1000; kib += 8) {
        library_open(&r, 60000, 1);
        snprintf(text, sizeof text,
                 "local keep = {} for i = 1, %d do keep[i] = ('%%03d'):format(i):rep(340) end "
                 "local s = ('ab '):rep(500) local t = { s:gsub('%%w+', '<%%0%%0>'), "
                 "s:gsub('%%w', string.upper), s:upper(), string.format('%%q', s) } "
                 "for a, b in s:gmatch('(a)(b)') do t[#t + 1] = a .. #t end "
                 "table.sort(t, function(a, b) return tostring(a) < tostring(b) end) "
                 "s = table.concat(t)", kib);
        if (library_run(&r, text) < 0)
            assert_int_equal(r.fault.reason, HCB_MEMORY);
        library_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find_and_match),
        cmocka_unit_test(test_gmatch),
        cmocka_unit_test(test_gsub),
        cmocka_unit_test(test_edges_of_patterns),
        cmocka_unit_test(test_long_plain_find),
        cmocka_unit_test(test_rep_and_case),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_pack),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_hostile_calls),
        cmocka_unit_test(test_hostile_loops),
        cmocka_unit_test(test_short_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
