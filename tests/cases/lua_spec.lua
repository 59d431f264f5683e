-- Public cases 39, 41, 43, 45, 47, 49: what a script may do to the loop that it is part
-- of, which is nothing. Beside each of them runs a callback that is well behaved, and
-- that one misses no step.
local json = require "support.json"
local rig = require "support.rig"
local scripts = require "support.scripts"
local shell = require "support.shell"

local BUDGET_MS = 50

-- Counts its calls, and uses the string methods that another script may have spoilt.
local neighbour = [[
local n = 0
function handle(event, env)
  n = n + 1
  hotcb.log("info", "neighbour %s", ("%d"):format(n):upper():rep(1))
end
]]

local function with_neighbour()
  local r = rig.new()
  r:script("neighbour.lua", neighbour)
  r:load("neighbour")
  return r
end

local function check_neighbour(r)
  local it = r:callback("neighbour")
  assert.same({ "on", r.host.next_step, 0 }, { it.state, it.calls, it.failures })
  assert.equal("neighbour " .. it.calls, r:said("neighbour"))
end

local function cpu_ms(r) return tonumber(r:ask("cpu")) / 1000 end

-- One apply, which may cost `times` budgets of CPU time: twice a budget is right.
local function apply_in_budget(r, times)
  local before = cpu_ms(r)
  r:apply()
  local took, bound = cpu_ms(r) - before, times * 2 * BUDGET_MS * rig.slack
  assert.is_true(took < bound, ("%.0f ms of CPU time, at most %d are right"):format(took, bound))
end

-- Loads `id`; where the chunk itself runs away, that is cut short, too.
local function load_in_budget(r, id, limits)
  r:send { op = "load", id = id, target = { kind = "lua_file", path = id .. ".lua" },
           limits = limits }
  apply_in_budget(r, 2)
end

-- The reason why `id` failed last, or was not loaded at all, and what was said.
local function failure(r, id)
  local callback = r:callback(id)
  if not callback then
    local line = r:ledger { op = "load", id = id }[1]
    return line.reason, line.error
  end
  local error = callback.error or {}
  return error.reason, error.message
end

local function is_one_of(value, list)
  for _, wanted in ipairs(list) do
    if value == wanted then return true end
  end
  return false
end

-- ---- case 39 -----------------------------------------------------------------------

-- The body of handle.
local loops = {
  { "while", "while true do end" },
  { "repeat", "repeat until false" },
  { "goto", "::again:: goto again" },
  { "for", "for i = 1, math.maxinteger do end" },
  { "for, with floats", "for x = 1.0, math.huge do end" },
  { "calls of its own", "local function f() return f() end f()" },
  { "pcall", "while true do pcall(function() while true do end end) end" },
  { "xpcall", "local function h() while true do end end while true do xpcall(error, h) end" },
  { "a metamethod", "local t = setmetatable({}, {__index = function() while true do end end})" ..
    " return t.x" },
  { "an iterator", "for _ in function() return 1 end do end" },
  { "a variable to be closed", "local x <close> = setmetatable({}, {__close = function()" ..
    " while true do end end}) while true do end" },
  { "a handler of errors", "xpcall(error, function() while true do end end)" },
  { "a comparison", "table.sort({3, 2, 1}, function() while true do end end)" },
  { "a replacement", "('a'):gsub('.', function() while true do end end)" },
  { "a text of an error", "error(setmetatable({}, {__tostring = function() while true do end" ..
    " end}))", { "runtime" } },
  { "log", "while true do hotcb.log('info', 'x') end", { "budget", "runtime", "memory" } },
  { "scalar", "while true do hotcb.scalar('x', 1) end", { "budget", "runtime", "memory" } },
  { "allocation", "local t = {} while true do t[#t + 1] = {} end", { "budget", "memory" } },
}

-- Other places than handle that a script runs in, as a whole script.
local places = {
  { "the chunk", "while true do end" },
  { "the chunk, in a coroutine", "coroutine.wrap(function() while true do end end)()" },
  { "on_attach", "return { on_attach = function() while true do end end," ..
    " handle = function() end }" },
}

describe("case 39: an endless loop", function()
  after_each(rig.clean)

  it("costs its budget once, and then nothing: the case's script", function()
    local r = with_neighbour()
    r:script("hb.lua", rig.file("inf_loop.lua"))
    load_in_budget(r, "hb")
    for _ = 1, 10 do apply_in_budget(r, 1) end
    local hb = r:callback("hb")
    assert.same({ "FAILED", 1, 1 }, { hb.state, hb.calls, hb.failures })
    assert.same({ "budget", 1 }, { hb.error.reason, hb.error.count })
    assert.matches("hb%.lua:%d+: ", hb.error.message)
    assert.matches("limits%.time_ms", hb.error.message)
    assert.equal("budget", r:ledger { op = "fail", id = "hb" }[1].reason)
    for _, callback in ipairs(r:status().callbacks) do
      if callback.id == "hb" then assert.equal("budget", callback.error.reason) end
    end
    check_neighbour(r)
  end)

  it("is given as many attempts as limits.errors says", function()
    local r = with_neighbour()
    r:script("hb.lua", rig.file("inf_loop.lua"))
    load_in_budget(r, "hb", { errors = 3 })
    for _ = 1, 10 do apply_in_budget(r, 1) end
    local hb = r:callback("hb")
    assert.same({ "FAILED", 3, 3 }, { hb.state, hb.calls, hb.failures })
    assert.equal(1, #r:ledger { op = "fail", id = "hb" })
    check_neighbour(r)
  end)

  it("ends when the file is mended", function()
    local r = with_neighbour()
    r:script("hb.lua", rig.file("inf_loop.lua"))
    load_in_budget(r, "hb")
    r:apply(3)
    r:script("hb.lua", rig.file("hb.lua"))
    r:apply(3)
    local hb = r:callback("hb")
    assert.same({ "on", 0 }, { hb.state, hb.failures - 1 })
    check_neighbour(r)
  end)

  for _, row in ipairs(loops) do
    it("by " .. row[1], function()
      local r = with_neighbour()
      r:script("hb.lua", "function handle(event, env) " .. row[2] .. " end\n")
      load_in_budget(r, "hb", { errors = 2 })
      for _ = 1, 3 do apply_in_budget(r, 1) end
      local reason, message = failure(r, "hb")
      assert.is_true(is_one_of(reason, row[3] or { "budget" }), ("%s: %s"):format(reason, message))
      assert.equal("FAILED", r:callback("hb").state)
      check_neighbour(r)
    end)
  end

  for _, row in ipairs(places) do
    it("in " .. row[1], function()
      local r = with_neighbour()
      r:script("hb.lua", row[2] .. "\n")
      load_in_budget(r, "hb", { coroutines = true })
      for _ = 1, 3 do apply_in_budget(r, 1) end
      assert.equal("budget", (failure(r, "hb")))
      check_neighbour(r)
    end)
  end
end)

-- ---- case 41 -----------------------------------------------------------------------

-- Whole scripts that loop in a coroutine.
local coroutines = {
  { "the case's script", rig.file("co_preload.lua") },
  { "the case's script, a step later", rig.file("co_preload.lua"), 1 },
  { "made in handle", "function handle() coroutine.wrap(function() while true do end end)() end" },
  { "one in another", [[
local function nest(n)
  if n == 0 then while true do end end
  coroutine.wrap(nest)(n - 1)
end
function handle() nest(50) end]] },
  { "with its errors caught", [[
function handle()
  while true do
    pcall(coroutine.wrap(function() while true do end end))
    coroutine.resume(coroutine.create(function() while true do end end))
  end
end]] },
  { "many, each of a short life", [[
function handle()
  while true do coroutine.wrap(function() for i = 1, 100 do end end)() end
end]], nil, { "budget", "memory" } },
  { "a tree of them", [[
local function grow() coroutine.wrap(grow)() coroutine.wrap(grow)() end
function handle() while true do pcall(grow) end end]], nil, { "budget", "memory" } },
  { "between yields", [[
local co = coroutine.wrap(function() while true do coroutine.yield() end end)
function handle() while true do co() end end]] },
  { "in a variable to be closed", [[
function handle()
  local co = coroutine.create(function()
    local x <close> = setmetatable({}, {__close = function() while true do end end})
    coroutine.yield()
  end)
  coroutine.resume(co)
  coroutine.close(co)
  while true do end
end]] },
  { "that sorts", [[
function handle()
  coroutine.wrap(function()
    while true do table.sort({3, 2, 1}, function(a, b) return a < b end) end
  end)()
end]] },
}

describe("case 41: an endless loop in a coroutine", function()
  after_each(rig.clean)

  for _, row in ipairs(coroutines) do
    it("is stopped: " .. row[1], function()
      local r = with_neighbour()
      r:script("hb.lua", row[2] .. "\n")
      if row[3] then r:step(row[3]) end
      r.host.next_step = 1 -- counted in applies, for the neighbour
      load_in_budget(r, "hb", { coroutines = true, errors = 0 })
      for _ = 1, 3 do apply_in_budget(r, 1) end
      local reason, message = failure(r, "hb")
      assert.is_true(is_one_of(reason, row[4] or { "budget" }), ("%s: %s"):format(reason, message))
      assert.equal(r:callback("hb").calls, r:callback("hb").failures)
      check_neighbour(r)
    end)
  end

  it("has none unless limits.coroutines says so", function()
    local r = with_neighbour()
    r:script("hb.lua", rig.file("co_preload.lua"))
    load_in_budget(r, "hb")
    local reason, message = failure(r, "hb")
    assert.equal("runtime", reason)
    assert.matches("hb%.lua:2: .*coroutine", message)
    check_neighbour(r)
  end)
end)

-- ---- case 43 -----------------------------------------------------------------------

-- The body of handle, one long call of a library; how it may end, "budget" if not said.
-- "" is for a call that is bounded so well that it succeeds.
local limited = { "budget", "runtime", "memory", "" }
local calls = {
  { "a pattern with b$", "return (('a'):rep(2000)):find('.-.-.-b$')" },
  { "match", "return (('a'):rep(2000)):match('.-.-.-b$')" },
  { "gsub", "return (('a'):rep(2000)):gsub('.-.-.-b$', '')" },
  { "gmatch", "for _ in (('a'):rep(2000)):gmatch('.-.-.-b$') do end" },
  { "nested repetitions", "return (('a'):rep(300000)):find('a*a*a*a*b')" },
  { "a back reference", "return (('a'):rep(20000)):find('(.-)(.-)%1%2b')" },
  { "balanced", "return (('('):rep(200000)):gsub('%b()', '')" },
  { "a frontier", "return (('a'):rep(200000)):find('%f[b]..-b')", { "budget", "" } },
  { "plain find", "local a = ('a'):rep(5e5) return (a .. a):find(a .. 'b', 1, true)",
    { "budget", "" } },
  { "table.move", "table.move({}, 1, 1e9, 2, {})", limited },
  { "table.move, to the last integer", "table.move({}, 1, math.maxinteger - 1, 2)", limited },
  { "table.insert", "table.insert(setmetatable({}, {__len = function() return 1 << 40 end}), 1, 1)",
    limited },
  { "table.remove", "table.remove(setmetatable({}, {__len = function() return 1 << 40 end}), 1)",
    limited },
  { "table.concat", "table.concat(setmetatable({}, {__index = function() return '' end}), ''," ..
    " 1, 1 << 40)", limited },
  { "table.unpack", "while true do table.unpack({}, 1, 4000) end" },
  { "table.unpack, at once", "table.unpack({}, 1, 1e7)", { "runtime", "memory" } },
  { "sort of long texts", "local h, t = ('a'):rep(30000), {} for i = 1, 200 do" ..
    " t[i] = h .. (i * 7919 % 211) end while true do table.sort(t) table.sort(t," ..
    " function(a, b) return a > b end) end", { "budget", "memory" } },
  { "sort by a liar", "local t = {} for i = 1, 1e5 do t[i] = i end" ..
    " table.sort(t, function() return true end)", { "budget", "runtime" } },
  { "rep of nothing", "(''):rep(1 << 62)", limited },
  { "rep of nothing, parted by nothing", "(''):rep(1 << 62, '')", limited },
  { "rep", "('x'):rep(1 << 40)", { "runtime", "memory" } },
  { "format %q", "local s = ('\\0\\n\"'):rep(60000) while true do string.format('%q', s) end",
    { "budget", "memory" } },
  { "format %99.99f", "while true do string.format('%99.99f', 1e300) end" },
  { "comparison of long texts", "local a = ('a'):rep(5e5) local b, c = a .. 'b', a .. 'c'" ..
    " while true do local x = b < c end" },
  { "concat of long texts", "local a = ('a'):rep(5e5) while true do local x = a .. a end",
    { "budget", "memory" } },
  { "utf8.len", "local a = ('a'):rep(9e5) while true do utf8.len(a) end" },
  { "utf8.codepoint", "while true do utf8.codepoint(('a'):rep(4000), 1, -1) end",
    { "budget", "runtime", "memory" } },
  { "byte", "while true do (('a'):rep(4000)):byte(1, -1) end", { "budget", "runtime", "memory" } },
  { "reverse", "local a = ('a'):rep(9e5) while true do a:reverse() end", { "budget", "memory" } },
  { "pack", "while true do string.pack(('d'):rep(9000), 1) end", { "runtime", "budget" } },
  { "json.encode", "local t = {} for i = 1, 1e4 do t[i] = i end" ..
    " while true do hotcb.json.encode(t) end", { "budget", "memory" } },
  { "json.decode", "local s = '[' .. ('1,'):rep(1e4) .. '1]'" ..
    " while true do hotcb.json.decode(s) end", { "budget", "memory" } },
  { "next over a hole", "local t = {} for i = 1, 1e5 do t[i] = i end" ..
    " for i = 1, 1e5 - 1 do t[i] = nil end while true do next(t) end" },
}

describe("case 43: one call of a library that does not end", function()
  after_each(rig.clean)

  it("is stopped: the case's script", function()
    local r = with_neighbour()
    r:script("hb.lua", rig.file("pattern_hang.lua"))
    load_in_budget(r, "hb")
    for _ = 1, 3 do apply_in_budget(r, 1) end
    assert.equal("budget", (failure(r, "hb")))
    assert.equal("FAILED", r:callback("hb").state)
    check_neighbour(r)
  end)

  for _, row in ipairs(calls) do
    it("is stopped: " .. row[1], function()
      local r = with_neighbour()
      r:script("hb.lua", "function handle(event, env) " .. row[2] .. " end\n")
      load_in_budget(r, "hb", { errors = 0 })
      for _ = 1, 2 do apply_in_budget(r, 1) end
      local reason, message = failure(r, "hb")
      assert.is_true(is_one_of(reason or "", row[3] or { "budget" }),
                     ("%s: %s"):format(reason, message))
      check_neighbour(r)
    end)
  end
end)

-- ---- case 45 -----------------------------------------------------------------------

-- Expressions that must be nil, or fail, in a sandbox.
local reaches = {
  "os", "io", "package", "debug", "load", "loadstring", "loadfile", "dofile", "collectgarbage",
  "string.dump", "coroutine", "require 'os'", "require 'io'", "require 'debug'", "arg", "jit",
  "require '../hb'", "require '/etc/hostname'", "_G.os", "_ENV.io", "rawget(_G, 'load')",
  "setmetatable({}, {__gc = function() end})", "getmetatable('').__index",
  "string.rep.x", "setmetatable('', {})", "hotcb.open",
}

local probe_names = { "exit", "exec", "popen", "open", "rm", "req", "pkg", "dbg", "dofile",
                      "bytecode", "dump", "strmeta", "locale", "hook" }

local function check_confined(r)
  assert.is_false(shell.exists(r.dir .. "/ESCAPED") or shell.exists(r.folder .. "/ESCAPED"))
  assert.is_true(shell.exists(r.dir .. "/hotcb.yaml"))
  assert.is_false(r.host:gone())
  check_neighbour(r)
end

-- A chunk of byte code, behind what makes some loaders take it for text.
local bytecodes = {
  { "as luac made it", function(bytes) return bytes end },
  { "after a byte order mark", function(bytes) return "\xef\xbb\xbf" .. bytes end },
  { "after a first line with #", function(bytes) return "#!/usr/bin/lua\n" .. bytes end },
  { "cut short", function(bytes) return bytes:sub(1, 40) end },
  { "its mark alone", function() return "\27Lua" end },
}

describe("case 45: what reaches outside", function()
  after_each(rig.clean)

  it("is not there: the case's script", function()
    local r = with_neighbour()
    r:script("hb.lua", rig.file("escape.lua"))
    load_in_budget(r, "hb")
    r:apply(2)
    assert.equal("on", r:callback("hb").state)
    for _, name in ipairs(probe_names) do
      assert.equal(3, #r:log("probe " .. name .. " ok=false"), name)
    end
    check_confined(r)
  end)

  it("nor is it in a second script, after the first changed its own globals", function()
    local r = with_neighbour()
    r:script("a.lua", [[
string.format, string.upper, string.rep, tostring, hotcb.log = nil, nil, nil, nil, nil
_G.pcall, _ENV.error = nil, nil
function handle() end
]])
    load_in_budget(r, "a")
    r:script("b.lua", neighbour)
    load_in_budget(r, "b")
    r:apply(2)
    assert.equal("on", r:callback("b").state)
    assert.equal(r:callback("b").calls, #r:log("\tb\tneighbour"))
    check_confined(r)
  end)

  it("by any name", function()
    local r = with_neighbour()
    local lines = { "function handle()" }
    for i, text in ipairs(reaches) do
      lines[#lines + 1] = ("  do local ok, v = pcall(function() return %s end) "):format(text) ..
        ("if ok and v ~= nil then hotcb.log('info', 'reached %d') end end"):format(i)
    end
    lines[#lines + 1] = "end\n"
    r:script("hb.lua", table.concat(lines, "\n"))
    load_in_budget(r, "hb")
    assert.same({ "on", 0 }, { r:callback("hb").state, r:callback("hb").failures })
    for _, line in ipairs(r:log("reached")) do
      local i = tonumber(line.text:match("reached (%d+)"))
      assert(not i, ("reached: %s"):format(reaches[i]))
    end
    check_confined(r)
  end)

  for _, row in ipairs(bytecodes) do
    it("is no byte code, " .. row[1], function()
      local r = with_neighbour()
      r:write("bytecode.luac", row[2](rig.file("bytecode.luac")))
      r:send { op = "load", id = "hb", target = { kind = "lua_file", path = "bytecode.luac" } }
      r:apply(2)
      local line = r:ledger { op = "load", id = "hb" }[1]
      assert.equal("rejected", line.decision)
      assert.matches("bytecode%.luac", line.error)
      assert.matches("byte ?code", line.error:lower())
      check_confined(r)
    end)
  end
end)

-- ---- case 47 -----------------------------------------------------------------------

local comma_script = [[
function set_params(p)
  for k, v in pairs(p) do hotcb.log("info", "%s = %s %s", k, math.type(v) or type(v), v) end
end
function handle(event, env)
  hotcb.log("info", "half %s %s %.2f %s", tonumber("3.2"), tonumber("3,2"), 0.25, 1 / 8 .. "")
  hotcb.scalar("quarter", 0.25)
end
]]

local comma_yaml = [[
callbacks:
  hb:
    target: {kind: lua_file, path: hb.lua}
    params: {x: 1.5}
]]

-- Locales with a decimal comma, made here as the machine may have none. The name of the
-- host's own is what `locale` answers.
local function comma_locales()
  local folder = rig.scratch()
  shell.must(("localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8"):format(folder))
  return folder
end

local has_localedef = os.execute("command -v localedef >/dev/null && test -e " ..
                                 "/usr/share/i18n/locales/de_DE") == true

local function comma_it(name, run)
  if has_localedef then it(name, run) else pending(name .. " (no localedef)") end
end

describe("case 47: a host whose numbers have a comma", function()
  after_each(rig.clean)

  local function start()
    local folder = comma_locales()
    local r = rig.new { env = { LOCPATH = folder } }
    r:script("neighbour.lua", neighbour)
    r:load("neighbour")
    assert.equal("0,5 de_DE.UTF-8", r:ask("locale de_DE.UTF-8"))
    r:script("hb.lua", comma_script)
    return r, { LC_ALL = "de_DE.UTF-8", LOCPATH = folder }
  end

  comma_it("is no concern of scripts, files and the tool", function()
    local r, variables = start()
    r:yaml(comma_yaml)
    r:apply(2)
    local answer = r:tool_with({ env = variables }, "set", "hb", "lr=0.5")
    assert.equal(0, answer.code, answer.err)
    r:apply()
    assert.equal("0,5 de_DE.UTF-8", r:ask("locale"))
    assert.same({ x = "float 1.5", lr = "float 0.5" }, scripts.types_heard(r, "hb"))
    assert.equal("half 3.2 nil 0.25 0.125", r:said("hb"))
    assert.same({ lr = 0.5, x = 1.5 }, r:callback("hb").params)
    assert.same({ lr = 0.5 }, r:ledger { op = "set_params", origin = "command" }[1].params)
    for _, line in ipairs(r:metrics()) do assert.equal(0.25, line.value) end
    r:status()
    answer = r:tool_with({ env = variables }, "get", "hb")
    assert.matches("x=1%.5 +lr=0%.5", answer.out)
    answer = r:tool_with({ env = variables }, "--json", "status")
    assert.truthy(json.decode(answer.out))
    answer = r:tool_with({ env = variables }, "status")
    assert.is_nil(answer.out:match("%d,%d"))
    check_neighbour(r)
  end)

  comma_it("has its locale again after a runaway was stopped", function()
    local r = start()
    r:script("hb.lua", "function handle() while true do string.format('%99.99f', 0.5) end end\n")
    load_in_budget(r, "hb", { errors = 0 })
    for _ = 1, 4 do
      apply_in_budget(r, 1)
      assert.equal("0,5 de_DE.UTF-8", r:ask("locale"))
    end
    assert.equal("budget", (failure(r, "hb")))
    assert.equal(5, r:callback("hb").failures)
    check_neighbour(r)
  end)
end)

-- ---- case 49 -----------------------------------------------------------------------

-- What is raised, and a pattern of what is said of it.
local raised = {
  { "nil", "error(nil)", "nil" },
  { "nothing", "error()", "nil" },
  { "a table", "error({code = 1})", "table" },
  { "a table with an error in its __tostring",
    "error(setmetatable({}, {__tostring = function() error('inner') end}))", "table" },
  { "a table with a number for a __tostring",
    "error(setmetatable({}, {__tostring = function() return 5 end}))", "table" },
  { "a table whose __tostring is no function", "error(setmetatable({}, {__tostring = 1}))",
    "table" },
  { "a table that says its name", "error(setmetatable({}, {__name = ('n'):rep(1e5)}))", "table" },
  { "a format", "error('%s%n%d')", "%%s%%n%%d" },
  { "formats without end", "error(('%s'):rep(1e5))", "%%s%%s" },
  { "control characters", "error('a\\0b\\27[31mc\\nd\\re')", "a" },
  { "bytes that are no UTF-8", "error('a\\xff\\xfe\\xed\\xa0\\x80b')", "a" },
  { "a number", "error(42)", "number" },
  { "a float", "error(0.5)", "number" },
  { "a boolean", "error(false)", "boolean" },
  { "a function", "error(print)", "function" },
  { "nothing of text", "error('', 0)", "" },
  { "a long text", "error(('E'):rep(500000))", "EEEE" },
  { "a long text without end", "error(('\\xc3\\xa9'):rep(300000))", "\xc3\xa9" },
  { "a deep recursion", "local function f() return 1 + f() end f()", "" },
  { "a deep recursion through C", "local function f() return (('a'):gsub('.', f)) end f()", "" },
  { "by assert", "assert(nil)", "" },
  { "by assert, a table", "assert(false, {})", "table" },
  { "again, by pcall", "error(select(2, pcall(error, {})))", "table" },
  { "in a handler of errors", "xpcall(error, function() error({}) end) error({})", "table" },
  { "an error of a library", "('x'):rep(-1, {})", "rep" },
  { "a concatenation", "return {} .. 'x'", "concatenate" },
  { "in a nested name", "local a = {b = {}} a.b.c.d = 1", "index" },
}

-- Contained, with some text and a traceback, cut to a few KiB.
local function check_error(hb, wanted)
  assert.is_true(is_one_of(hb.error.reason, { "runtime", "memory", "budget" }), hb.error.reason)
  assert.is_true(#hb.error.message > 0 and #hb.error.message <= 4096, hb.error.message)
  assert.is_true(#(hb.error.traceback or "") <= 4096)
  if hb.error.reason == "runtime" then
    assert.matches("hb%.lua:%d+: ", hb.error.message)
    assert.matches("hb%.lua:%d+: in ", hb.error.traceback)
    if wanted then assert.matches(wanted, hb.error.message) end
  end
end

describe("case 49: an error value", function()
  after_each(rig.clean)

  it("of each kind is contained: the case's script", function()
    local r = with_neighbour()
    r:script("hb.lua", rig.file("errobj.lua"))
    load_in_budget(r, "hb", { errors = 0 })
    for step = r.host.next_step, r.host.next_step + 7 do
      apply_in_budget(r, 1)
      local hb = r:callback("hb")
      assert.equal("on", hb.state)
      assert.equal(step + 0, hb.failures)
      check_error(hb)
    end
    assert.is_true(#r:read("hotcb.log") < 100 * 1024)
    check_neighbour(r)
  end)

  for _, row in ipairs(raised) do
    it("is told of: " .. row[1], function()
      local r = with_neighbour()
      r:script("hb.lua", "function handle(event, env)\n  " .. row[2] .. "\nend\n")
      load_in_budget(r, "hb", { errors = 0 })
      apply_in_budget(r, 1)
      local hb = r:callback("hb")
      assert.same({ "on", 2 }, { hb.state, hb.failures })
      check_error(hb, row[3])
      assert.is_true(#r:read("hotcb.log") < 20 * 1024)
      check_neighbour(r)
    end)
  end
end)
