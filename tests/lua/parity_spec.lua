-- hotcb.testing against the real host: the same declarations and values are taken or refused
-- by both, with the same sentence; the same names are there; the same steps are due.
local json = require "support.json"
local rig = require "support.rig"
local testing = require "hotcb.testing"

local root = os.getenv "HOTCB_TEST_SOURCE"

local every = "{ 'x', 50, min = 1, help = 'print once per N steps' }"
local whole, real = "{ 'x', 30 }", "{ 'x', 0.5, min = 0, max = 1.5 }"
local open, flag, text = "{ 'x', 0.5, max = math.huge }", "{ 'x', false }", "{ 'x', 'a' }"
local mode, rung = "{ 'x', 'l2', choices = { 'l2', 'max' } }", "{ 'x', 1, choices = { 1, 2, 4 } }"
local list, some = "{ 'x', { 'loss' } }", "{ 'x', { 'a' }, choices = { 'a', 'b' } }"
local near, any = "{ 'x', { 1 }, min = 0, max = 9 }", "{ 'x', 1, type = 'any' }"
local three = "{ 'every', 50, min = 1 }, { 'ema', 0.9 }, { 'x', 10 }"

-- The declaration, and values for x: in JSON, or, after a '=', as they are typed.
local value_rows = {
  { every, "5", "=5", "5.0", "=2E2", "=abc", "0", "true", "[1]", '{"a":1}', "=010", "5.5",
    "null", "=null", "=~", "=" .. ("é"):rep(60), '"a\\u001b\\tb\\u202e"' },
  { whole, "=30.5", "=1e-4", "9223372036854775807", "-9223372036854775808", "1e19", "=.inf",
    '"Infinity"', "-0.0" },
  { "{ 'x', 3, min = -2, max = 9 }", "10", "-3", "9" },
  { "{ 'x', 3, max = 9 }", "10" },
  { "{ 'x', 3, min = 0.5 }", "0", "1" },
  { "{ 'x', type = 'integer', max = 3 }", "1.5", "null", "2" },
  { "{ 'x', 1, max = 9223372036854775806 }", "9223372036854775807" },
  { real, "1", "=1e-4", "=.5", "1.6", "=-1", "=fast", '"Infinity"', "true", "1e-320", "=+.25" },
  { "{ 'x', 1.0, min = 1e-7, max = 123456789.125 }", "0", "1e300" },
  { "{ 'x', 1e15, min = 1e15, max = 1e22 }", "1", "1e16" },
  { open, "=.inf", "=inf", '"Infinity"', "=-.inf", '"NaN"' },
  { "{ 'x', 1.0, min = -math.huge }", "=-inf", "=inf" },
  { "{ 'x', 1.0, max = 1e308 }", "=.inf", "=-.inf" },
  { "{ 'x', 1.0, min = 0 }", "=.inf", "=inf", "=-inf", '"-Infinity"' },
  { flag, "true", "=TRUE", "=on", "=Off", "=yes", "=NO", '"false"', "=maybe", "1", "=" },
  { text, "=007", "=1.10", "=TRUE", "=1e-4", "=.inf", "=[debug]", "=", "5", "1.5", "false",
    '"a\\nb\\u00e9"', "=[1]", "{}", "=[x" },
  { mode, "=max", "=mx", '["max"]', "=MAX" },
  { rung, "4", "4.0", "3", "=2" },
  { "{ 'x', 1.0, choices = { 1, 2 } }", "2", "3" },
  { "{ 'x', 'a', choices = { 'a' }, help = 'which' }", "=b" },
  { list, "=loss,outputs.logits", "=1,2.5,true,007", "=loss,", "=", "=5", '=["a", 1]', "[]", "{}",
    '{"a":1}', "=1,.nan", "=.inf,1", "=1,99999999999999999999", "=a, b" },
  { some, "=b,a", "=b,c", '"a"' },
  { near, "[0,9]", "[0,10]", "[[1,2],3]" },
  { any, '{"a":[1,2,"b"]}', "=1.10", "=.inf", "=text", '[{"a":{}}]' },
}

local names_rows = { '{"ema":1,"every":2}', '{"evry":1}', '{"zzzzzz":1}', '{"":1}',
                     '{"a\\u001bb":1}', '{"every":0}', '{"every":3,"x":4.5}', '{"EVERY":1}' }

local declaration_rows = {
  "{ 'x', 1, mni = 0 }", "{ 'x', 1, colour = 0 }", "{ 'x', 1, ['2'] = 5 }",
  "{ 'x', 1, ['=default'] = 5 }", "{ 'x', 1, 2 }", "{ 'a', 1 }, { 'a', 2 }", "{ 'a', 1 }, 'b'",
  "every = 50", "{ 'a', 1 }, every = 50", "{ 1, 2 }", "{ default = 1 }", "{ '', 1 }",
  "{ 'a b', 1 }", "{ 'a=b', 1 }", "{ 'a,b', 1 }", "{ 'a\\0b', 1 }", "{ '\\xff', 1 }",
  "{ ('n'):rep(65), 1 }", "{ 'handle', 1 }", "{ 'schedule', 1 }", "{ 'x' }",
  "{ 'x', 1, type = 'int' }", "{ 'x', 1, min = '0' }", "{ 'x', 1, max = 0/0 }",
  "{ 'x', 1, step = true }", "{ 'x', 1, choices = 1 }", "{ 'x', 1, choices = {} }",
  "{ 'x', 1, log = 1 }", "{ 'x', 1, unit = 1 }", "{ 'x', 1, help = {} }", "{ 'x', print }",
  "{ 'x', 0, min = 1 }", "{ 'x', 'c', choices = { 'a', 'b' } }", "{ 'x', 'a', type = 'integer' }",
  "{ 'x', 1.5, type = 'integer' }", "{ 'x', 0/0 }", "{ 'x', 1/0 }", "{ 'x', { 1, 1/0 } }",
  "{ 'x', { 1, nil, 3 } }", "{ 'x', { 1, a = 2 } }", "{ 'x', 5.0, type = 'integer' }",
  "{ 'x', 1e100, max = 1 }", "{ 'x', -0.0, min = 1 }", "{ 'x', 1, choices = { 0/0, 2 } }", "",
}

local function script_of(rows)
  return ("return { params = { %s }, handle = function() end }"):format(rows)
end

-- Values as JSON has them: infinities as text, nothing for nil.
local function as_json(v)
  if v == math.huge then return "Infinity" end
  if v == -math.huge then return "-Infinity" end
  if type(v) ~= "table" then return v end
  local copy = {}
  for key, item in pairs(v) do copy[key] = as_json(item) end
  return copy
end

-- JSON as a spec gives it to set(): a null is testing.null.
local function given(s)
  local function nulls(v)
    if v == json.null then return testing.null end
    if type(v) ~= "table" then return v end
    local copy = {}
    for key, item in pairs(v) do copy[key] = nulls(item) end
    return copy
  end
  return nulls(json.decode(s))
end

-- Each case: what the script declares, how the value is given, and both sides of it.
local function cases()
  local all = {}
  for _, row in ipairs(value_rows) do
    for i = 2, #row do
      local typed = row[i]:match("^=(.*)$")
      all[#all + 1] = { rows = row[1], typed = typed and "x=" .. typed,
                        json = not typed and ('{"x":%s}'):format(row[i]) }
    end
  end
  for _, map in ipairs(names_rows) do all[#all + 1] = { rows = three, json = map } end
  return all
end

describe("hotcb.testing", function()
  after_each(rig.clean)

  it("takes and refuses values as the host does, with its sentences", function()
    local r, all = rig.new(), cases()
    for i, case in ipairs(all) do
      case.id = "c" .. i
      r:script(case.id .. ".lua", script_of(case.rows))
      r:send { op = "load", id = case.id, target = { kind = "lua_file", path = case.id .. ".lua" } }
    end
    r:apply(3)
    for _, case in ipairs(all) do
      if case.typed then
        assert.equal(0, r:tool_alone("set", case.id, case.typed, "--no-wait").code)
      else
        r:send(('{"op":"set_params","id":"%s","params":%s}\n'):format(case.id, case.json))
      end
    end
    r:apply(3)
    local now = r:callbacks()
    for _, case in ipairs(all) do
      local line = r:ledger { op = "set_params", id = case.id }[1]
      local cb = testing.script(script_of(case.rows))
      local _, why = cb:set(case.typed or given(case.json))
      local what = case.rows .. " <- " .. (case.typed or case.json)
      assert.equal(line.error, why, what)
      assert.same(now[case.id].params, as_json(cb.params), what)
    end
  end)

  it("takes and refuses declarations as `hotcb check` does", function()
    local r = rig.new { host = false }
    for _, rows in ipairs(declaration_rows) do
      r:write(r.folder .. "/script.lua", script_of(rows))
      local report = json.decode(r:tool_alone("check", "script.lua", "--json").out)
      local ok, why = pcall(testing.script, script_of(rows))
      assert.equal(report.ok, ok, rows)
      if not ok then assert.equal(report.error, why, rows) end
    end
  end)

  it("calls at the same steps", function()
    local r = rig.new()
    local source = "return { params = { { 'every', 7 } }, schedule = 'every', handle = function("
      .. "self, event, env) print(event, env.step) end }"
    r:script("due.lua", source)
    r:load("due")
    local cb = testing.script(source)
    cb:step(0)
    local step = 0
    for i = 1, 120 do
      step = i % 40 == 0 and step - 30 or step + (i * i) % 5
      if i == 60 then
        r:send { op = "set_params", id = "due", params = { every = 4 } }
        cb:set { every = 4 }
      end
      local event = i % 3 == 0 and "val_step_end" or "train_step_end"
      r:step(("%d"):format(step))
      r:apply(1, event)
      cb:emit(event, { step = step })
    end
    local said = {}
    for _, line in ipairs(r:log("\tdue\t")) do said[#said + 1] = line.text end
    assert.same(said, cb.lines)
    assert.is_true(#said > 20)
  end)
end)

-- Each global's name, and each name in a global table, sorted.
local list_names = [[
local names = {}
for name, value in pairs(_G) do
  names[#names + 1] = name
  for field in pairs(type(value) == "table" and value ~= _G and value or {}) do
    names[#names + 1] = name .. "." .. field
  end
end
table.sort(names)
function handle() for _, name in ipairs(names) do print(name) end end
]]

local function set_of(names)
  local set = {}
  for _, name in ipairs(names) do set[name] = true end
  return set
end

describe("the names that scripts have", function()
  after_each(rig.clean)

  local function names_in_host()
    local r, names = rig.new(), {}
    r:script("names.lua", list_names)
    r:load("names")
    for _, line in ipairs(r:log("\tnames\t")) do names[#names + 1] = line.text end
    return names
  end

  it("are those of hotcb.testing", function()
    local cb = testing.script(list_names)
    cb:step(0)
    assert.same(names_in_host(), cb.lines)
  end)

  it("are those of .luacheckrc, but for what Lua 5.4 has given up", function()
    local config = setmetatable({ stds = {}, files = {} }, { __index = _G })
    assert(loadfile(root .. "/.luacheckrc", "t", config))()
    local listed = {}
    for key, value in pairs(config.stds.hotcb.read_globals) do
      listed[#listed + 1] = type(key) == "string" and key or value
      for field in pairs(type(value) == "table" and value.fields or {}) do
        listed[#listed + 1] = key .. "." .. field
      end
    end
    local here, given_up = set_of(names_in_host()), set_of {
      "math.atan2", "math.cosh", "math.frexp", "math.ldexp", "math.log10", "math.pow", "math.sinh",
      "math.tanh",
    }
    for _, name in ipairs(listed) do
      assert.is_true(here[name], name)
      here[name] = nil
    end
    for name in pairs(here) do assert.is_true(given_up[name], name) end
  end)

  it("are those of hotcb.d.lua", function()
    local known = {}
    local d = setmetatable({}, { __newindex = function(_, name, value)
      known[name] = value
    end, __index = known })
    assert(loadfile(root .. "/lua/hotcb.d.lua", "t", d))()
    for field in pairs(known.hotcb) do known["hotcb." .. field] = true end
    local here = set_of(names_in_host())
    for name in pairs(known) do assert.is_true(here[name], name) end
    for name in pairs(here) do
      local library = name:match("^(%w+)")
      local built_in = set_of { "string", "table", "math", "utf8" }
      assert.is_true(built_in[library] or known[name] ~= nil, name)
    end
  end)
end)
