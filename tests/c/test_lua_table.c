/* The table functions of the sandbox beside Lua's own: the same answers, errors and order
 * of accesses; sort, which compares in an order of its own, by what must hold after it; and
 * an end to each form that would burn time. */
#include "library_rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define LUA(...) #__VA_ARGS__

/* Which argument of remove is out of bounds, versions of Lua 5.4 say differently.
 *
 * make() gives two equal arguments and a function that says what was done to each: tables
 * with holes, with a wrong length, proxies that note each access, and what is no table. */
static const char make_rows[] = LUA(
    elements = { 1, 2, 3.5, 'a', 'b', '', 'long text', false, {}, 7, 'x', 'y', 9 }
    lengths = { 0, 1, 3, 5, -1, 1.5, 'x', '3', {}, math.maxinteger, math.mininteger }
    positions = { 0, 1, 2, 3, 4, 5, -1, 10, 1.5, '2', 'x', math.maxinteger, math.mininteger,
                  math.maxinteger - 1, math.maxinteger - 3, math.mininteger + 3 }
    function place()
        local n = math.random(10)
        if n > 2 then return math.random(0, 9) end
        return n == 1 and pick(positions) or nil
    end
    function content()
        local t = {}
        for i = 1, math.random(0, 8) do
            t[i] = math.random(5) > 1 and pick(elements) or (math.random(3) > 1 and i or nil)
        end
        return t
    end
    local function copy(t)
        local r = {}
        for k, v in pairs(t) do r[k] = v end
        return r
    end
    function dump(t)
        local r = {}
        for k, v in pairs(t) do r[#r + 1] = tostring(k) .. '=' .. tostring(v) end
        stock.table.sort(r)
        return stock.table.concat(r, ' ')
    end
    local function proxy(t, log, without)
        local meta = {
            __index = function(_, k) log[#log + 1] = 'get ' .. tostring(k) return t[k] end,
            __newindex = function(_, k, v)
                log[#log + 1] = 'set ' .. tostring(k)
                if #log > 60 then error('enough', 0) end
                t[k] = v
            end,
            __len = function() log[#log + 1] = 'len' return t.n or #t end,
        }
        if without then meta[without] = nil end
        return setmetatable({}, meta)
    end
    local kinds = {
        function(t) return t end,
        function(t) return t end,
        function(t, log) return proxy(t, log) end,
        function(t, log, length) t.n = length return proxy(t, log) end,
        function(t, log, length)
            if length == math.maxinteger then length = 12 end
            return setmetatable(t, { __len = function() return length end })
        end,
        function(t, log) return proxy(t, log, '__index') end,
        function(t, log) return proxy(t, log, '__newindex') end,
        function(t, log) return proxy(t, log, '__len') end,
        function() return pick { 5, 'text', true } end,
    }
    function make()
        local kind, t, length = pick(kinds), content(), pick(lengths)
        local logs, inner = { {}, {} }, { copy(t), copy(t) }
        math.randomseed(length == 3 and 3 or 4)
        local a = kind(inner[1], logs[1], length)
        math.randomseed(length == 3 and 3 or 4)
        local b = kind(inner[2], logs[2], length)
        return a, b, function(i)
            return stock.table.concat(logs[i], '; ') .. ' | ' .. dump(inner[i])
        end
    end
    function compare(what, ours, theirs, seed, ...)
        math.randomseed(seed)
        local a, b, says = make()
        local x, y = outcome(ours, a, ...), outcome(theirs, b, ...)
        for _, r in ipairs { x, y } do
            if what == 'remove' and not r[1] then r[2] = r[2]:gsub('#[12]', '#n') end
            for i = 1, r.n do
                if r[i] == a or r[i] == b then r[i] = 'the table' end
            end
        end
        if not same(x, y) or says(1) ~= says(2) then
            error(what .. '(' .. show(stock.table.pack(...)) .. ') ' .. seed .. ': ' .. show(x) ..
                  ' ' .. says(1) .. ' not ' .. show(y) .. ' ' .. says(2), 0)
        end
        return x
    end
);

static void run_with_tables(const char *chunk)
{
    struct library_rig r;
    library_open(&r, 3600000, 256);
    library_must_run(&r, make_rows);
    library_must_run(&r, chunk);
    library_close(&r);
}

static void test_insert_and_remove(void **state)
{
    (void)state;
    run_with_tables(LUA(
        local good = 0
        for seed = 1, 20000 do
            math.randomseed(seed)
            local at, value = place(), pick(elements)
            compare('insert', table.insert, stock.table.insert, seed, value)
            compare('insert', table.insert, stock.table.insert, seed, at, value)
            local r = compare('remove', table.remove, stock.table.remove, seed, at)
            compare('remove', table.remove, stock.table.remove, seed)
            if r[1] then good = good + 1 end
        end
        assert(good > 4000 and good < 18000, good)
        compare('insert', table.insert, stock.table.insert, 1)
        compare('insert', table.insert, stock.table.insert, 1, 1, 2, 3)
    ));
}

static void test_move(void **state)
{
    (void)state;
    run_with_tables(LUA(
        for seed = 1, 30000 do
            math.randomseed(seed)
            local first, last, to = place(), place(), place()
            local wide = (tonumber(last) or 0) - (tonumber(first) or 0)
            if wide < 100 then
                local other = math.random(3) == 1 and {} or nil
                local twin = other and {}
                compare('move', table.move, stock.table.move, seed, first, last, to)
                local a = compare('move', table.move, stock.table.move, seed, first, last, to, 7)
                local x = outcome(table.move, { 1, 2, 3, 4, 5 }, first, last, to, other)
                local y = outcome(stock.table.move, { 1, 2, 3, 4, 5 }, first, last, to, twin)
                assert(x[1] == y[1] and (x[1] or x[2] == y[2]), show(x) .. ' not ' .. show(y))
                if x[1] then assert(dump(x[2]) == dump(y[2]), dump(x[2])) end
            end
        end
        local equal = setmetatable({ 1, 2, 3 }, { __eq = function() return true end })
        local t = setmetatable({ 1, 2, 3 }, getmetatable(equal))
        assert(dump(table.move(t, 1, 3, 2, equal)) == dump { 1, 1, 2, 3 })
    ));
}

static void test_concat_and_unpack(void **state)
{
    (void)state;
    run_with_tables(LUA(
        for seed = 1, 30000 do
            math.randomseed(seed)
            local from, to, sep = place(), place(), pick { '', ',', ', ', 5, {}, false }
            local wide = (tonumber(to) or 0) - (tonumber(from) or 1)
            if wide < 100 then
                compare('concat', table.concat, stock.table.concat, seed, sep or nil, from, to)
                compare('concat', table.concat, stock.table.concat, seed)
                compare('unpack', table.unpack, stock.table.unpack, seed, from, to)
                compare('unpack', table.unpack, stock.table.unpack, seed)
            end
        end
        local many = {}
        for i = 1, 5000 do many[i] = i % 3 == 0 and i or ('x'):rep(i % 50) end
        assert(table.concat(many, '--') == stock.table.concat(many, '--'))
        assert(select('#', table.unpack(many, 1, 4096)) == 4096)
        for _, to in ipairs { 4097, 5000, 1 << 31, math.maxinteger } do
            local ok, why = pcall(table.unpack, many, 1, to)
            assert(not ok and why:find('too many results to unpack', 1, true), why)
        end
        assert(not pcall(table.unpack, many, math.mininteger, math.maxinteger))
        assert(table.unpack({}, math.maxinteger, math.maxinteger) == nil)
    ));
}

/* ---- sort -------------------------------------------------------------------------- */

static const char sort_rows[] = LUA(
    orders = {
        function(i) return i end,
        function(i, n) return n - i end,
        function() return 1 end,
        function(i) return i % 2 end,
        function(i, n) return i < n / 2 and i or n - i end,
        function(i) return i * 7919 % 30011 end,
        function() return math.random(1000000) end,
        function() return math.random(3) end,
        function() return math.random() end,
        function(i) return i % 17 end,
        function(i, n) return i == n and 0 or i end,
        function() return ('x'):rep(math.random(3)) .. math.random(99) end,
    }
    function fill(n, order)
        local t = {}
        for i = 1, n do t[i] = order(i, n) end
        return t
    end
    function counted(t)
        local r = {}
        for _, v in ipairs(t) do r[v] = (r[v] or 0) + 1 end
        return r
    end
    function assert_permutation(t, before, n)
        local now = counted(t)
        for k, c in pairs(before) do assert(now[k] == c, 'lost one') end
        for k, c in pairs(now) do assert(before[k] == c, 'one too many') end
        local entries = 0
        for _ in pairs(t) do entries = entries + 1 end
        assert(#t == n and entries == n)
    end
);

static void run_with_orders(const char *chunk)
{
    struct library_rig r;
    library_open(&r, 3600000, 256);
    library_must_run(&r, sort_rows);
    library_must_run(&r, chunk);
    library_close(&r);
}

static void test_sort(void **state)
{
    (void)state;
    run_with_orders(LUA(
        local sizes = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 64, 100, 101, 257, 1000 }
        for round = 1, 4 do
            for _, n in ipairs(sizes) do
                for _, order in ipairs(orders) do
                    local t = fill(n, order)
                    local before, calls = counted(t), 0
                    if round > 1 then
                        table.sort(t, function(a, b) calls = calls + 1 return a > b end)
                    else
                        table.sort(t)
                    end
                    assert_permutation(t, before, n)
                    for i = 2, n do
                        assert(round > 1 and t[i - 1] >= t[i] or round == 1 and t[i - 1] <= t[i])
                    end
                    assert(calls <= 4 * n * math.max(1, math.log(n, 2)) + 8, calls)
                end
            end
        end
    ));
}

/* The comparator makes up its order as it is asked, so that quicksort parts badly. */
static void test_sort_against_an_adversary(void **state)
{
    (void)state;
    run_with_orders(LUA(
        for _, n in ipairs { 100, 1000, 10000 } do
            local t, value, solid, candidate, calls = {}, {}, 0, 0, 0
            for i = 1, n do t[i] = i value[i] = n + 1 end
            table.sort(t, function(a, b)
                calls = calls + 1
                if value[a] == n + 1 and value[b] == n + 1 then
                    solid = solid + 1
                    value[a == candidate and a or b] = solid
                end
                if value[a] == n + 1 then candidate = a
                elseif value[b] == n + 1 then candidate = b end
                return value[a] < value[b]
            end)
            for i = 2, n do assert(value[t[i - 1]] <= value[t[i]]) end
            assert(calls < 5 * n * math.log(n, 2), n .. ': ' .. calls)
        end
    ));
}

/* No order at all: an error or not, but an end, all elements, and nothing from outside. */
static void test_sort_without_order(void **state)
{
    (void)state;
    run_with_orders(LUA(
        local liars = {
            function() return true end,
            function() return false end,
            function() return math.random(2) == 1 end,
            function(a, b) return a <= b end,
            function(a, b) return a ~= b end,
            function(a, b) return (a * b) % 7 < 3 end,
            function(a, b) return (a + 2 * b) % 3 == 0 end,
        }
        local refused = 0
        for round = 1, 60 do
            for _, less in ipairs(liars) do
                local n, calls, lowest, highest = math.random(0, 300), 0, 1, 0
                local inner = fill(n, function() return math.random(1000) end)
                local before = counted(inner)
                local t = round % 2 == 0 and inner or setmetatable({}, {
                    __index = function(_, i)
                        assert(i >= 1 and i <= n, i)
                        return inner[i]
                    end,
                    __newindex = function(_, i, v)
                        assert(i >= 1 and i <= n, i)
                        inner[i] = v
                    end,
                    __len = function() return n end,
                })
                local ok, why = pcall(table.sort, t, function(a, b)
                    calls = calls + 1
                    return less(a, b)
                end)
                if not ok then
                    refused = refused + 1
                    assert(why:find('invalid order function for sorting', 1, true), why)
                end
                assert_permutation(inner, before, n)
                assert(calls <= 5 * n * math.max(1, math.log(n, 2)) + 8, calls)
            end
        end
        assert(refused > 0)
    ));
}

static void test_edges_of_sort(void **state)
{
    (void)state;
    run_with_orders(LUA(
        local function fake(n) return setmetatable({}, { __len = function() return n end }) end
        for _, row in ipairs {
            {}, { 5 }, { {}, 5 }, { { 1, 2 }, 5 }, { { 1 }, 5 }, { { 1, 'x' } }, { { {}, {} } },
            { fake(1 << 31) }, { fake(math.maxinteger) }, { fake(-5) }, { fake(1.5) }, { fake(3) },
            { { 3, 2, 1 }, error }, { { 3, 2, 1, 5, 4 }, error },
        } do
            local x, y = outcome(table.sort, stock.table.unpack(row)),
                         outcome(stock.table.sort, stock.table.unpack(row))
            assert(x[1] == y[1] and (x[2] == y[2] or row[2] == error),
                   show(x) .. ' not ' .. show(y))
        end
        local nan = 0 / 0
        pcall(table.sort, { nan, 1, nan, 3, nan, 2, nan, 5, 4, nan })
    ));
}

/* ---- an end to everything ------------------------------------------------------------ */

static const struct hostile_row call_rows[] = {
    {"local t = setmetatable({}, { __index = type }) table.concat(t, '', 1, math.maxinteger)",
     "budget memory runtime"},
    {"local t = setmetatable({}, { __index = { x = 1 } }) pcall(table.concat, t) "
     "table.concat(setmetatable({}, { __index = string.len }), '', 1, 1 << 60)",
     "budget memory runtime"},
    {"local t = setmetatable({}, { __index = math.type }) table.concat(t, '', 1, 1 << 60)",
     "budget memory runtime"},
    {"local t = setmetatable({}, { __len = rawlen, __index = tostring }) "
     "table.concat(t, '', 1, 1 << 60)", "budget memory runtime"},
    {"local t = setmetatable({}, { __len = function() return 1 << 61 end }) "
     "table.insert(t, 1, nil)", "budget"},
    {"local t = setmetatable({}, { __len = function() return 1 << 61 end }) "
     "table.remove(t, 1)", "budget"},
    {"table.move({}, 1, math.maxinteger - 1, 2)", "budget"},
    {"table.move({}, 1, math.maxinteger - 1, 2, {})", "budget"},
    {"table.move({}, -1 << 60, 1 << 60, -1 << 61)", "budget"},
    {"local t = setmetatable({}, { __len = function() return (1 << 31) - 2 end, "
     "__index = math.abs, __newindex = rawequal }) table.sort(t)", "budget runtime"},
    {"local t = setmetatable({}, { __len = function() return (1 << 31) - 2 end }) "
     "table.sort(t, rawequal)", "budget"},
    {"local a, t = ('a'):rep(500000), {} local x, y = a .. 'x', a .. 'y' "
     "for i = 1, 20000 do t[i] = (i * 7919 % 3 == 0) and x or y end table.sort(t)", "budget"},
    {"table.unpack({}, 1, 900000)", "runtime"},
};

static const struct hostile_row loop_rows[] = {
    {"local t = {} for i = 1, 30000 do t[i] = (i * 7919) % 30011 end for i = 1, 1e6 do "
     "table.sort(t, math.ult) for j = 1, 30000 do t[j] = (j * 7919) % 30011 end end", "budget"},
    {"while true do pcall(table.unpack, {}, 1, 900000) end", "budget memory runtime"},
    {"local t = {} while true do table.insert(t, 1, 0) end", "budget memory"},
    {"local function f(...) return select('#', ...) end while true do pcall(function() return "
     "f(table.unpack({}, 1, 200000)) end) end", "budget memory runtime"},
    {"local t = setmetatable({}, { __index = function() return 1 end, __newindex = function() "
     "end, __len = function() return (1 << 31) - 2 end }) table.sort(t)", "budget"},
    {"local src = setmetatable({}, { __index = string.format }) "
     "local t = setmetatable({}, { __index = function() return '' end }) "
     "table.concat(t, '', 1, 1 << 60)", "budget memory runtime"},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_insert_and_remove),
        cmocka_unit_test(test_move),
        cmocka_unit_test(test_concat_and_unpack),
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_sort_against_an_adversary),
        cmocka_unit_test(test_sort_without_order),
        cmocka_unit_test(test_edges_of_sort),
        cmocka_unit_test(test_hostile_calls),
        cmocka_unit_test(test_hostile_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
