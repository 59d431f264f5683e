-- Public cases 34, 36, 38: numbers keep every digit on their way in and out, and
-- whatever bytes a script hands over, each line that hotcb writes can be read.
local rig = require "support.rig"
local scripts = require "support.scripts"

local meant = scripts.meant
local function heard(r) return scripts.types_heard(r, "hb") end

local function with_types()
  local r = rig.new()
  r:script("hb.lua", scripts.types)
  r:load("hb")
  return r
end

-- How a number is spelt in JSON, its type and value; or nothing, where it is refused.
local numbers = {
  { "0", "integer", 0 },
  { "-0", "integer", 0 },
  { "9007199254740993", "integer", 9007199254740993 },
  { "-9007199254740993", "integer", -9007199254740993 },
  { "1234567890123456789", "integer", 1234567890123456789 },
  { "9223372036854775806", "integer", math.maxinteger - 1 },
  { "9223372036854775807", "integer", math.maxinteger },
  { "-9223372036854775807", "integer", -math.maxinteger },
  { "-9223372036854775808", "integer", math.mininteger },
  { "2147483648", "integer", 2147483648 },
  { "0.1", "float", 0.1 },
  { "1.0", "float", 1.0 },
  { "1e2", "float", 100.0 },
  { "9007199254740993.0", "float", 9007199254740992.0 },
  { "0.30000000000000004", "float", 0.1 + 0.2 },
  { "5e-324", "float", 5e-324 },
  { "1.7976931348623157e308", "float", 1.7976931348623157e308 },
  { "1e-999", "float", 0.0 },
  { "9223372036854775808" },
  { "-9223372036854775809" },
  { "18446744073709551615" },
  { ("9"):rep(400) },
  { "1e999" },
  { "-1e999" },
  { "01" },
  { "1." },
  { ".5" },
  { "+1" },
  { "0x10" },
  { "NaN" },
  { "Infinity" },
}

describe("case 34: a number in a command", function()
  after_each(rig.clean)

  it("keeps its digits: the case's file, line by line", function()
    local r = with_types()
    local expected = {
      "integer 9007199254740993", "integer 9223372036854775807", "integer -9223372036854775808",
      false, false, meant("float", 0.1),
    }
    local i, last = 0, nil
    for line in rig.file("json_int64.jsonl"):gmatch("[^\n]+\n") do
      i = i + 1
      r:send(line)
      r:apply()
      last = expected[i] or last
      assert.equal(last, heard(r).n)
      assert.equal(expected[i] and "applied" or "rejected", r:ledger { op = "set_params" }[i] and
        r:ledger { op = "set_params" }[i].decision or r:ledger()[i + 1].decision)
      local digits = last:match(" (.*)$")
      if i <= 5 then
        assert.truthy(r:read("hotcb.status.json"):find('"n":' .. digits .. "}", 1, true))
      end
    end
    assert.equal(6, i)
    assert.truthy(r:read("hotcb.status.json"):find('"n":0.1[,}]'))
    assert.matches("0%.1%f[^%d]", r:tool_alone("get", "hb").out)
  end)

  for _, row in ipairs(numbers) do
    it(("%s %s"):format(row[1]:sub(1, 30), row[2] and "" or "is refused"), function()
      local r = with_types()
      r:send('{"op":"set_params","id":"hb","params":{"n":' .. row[1] .. "}}\n")
      r:apply()
      local n = r:callback("hb").params.n
      assert.equal(row[2] and meant(row[2], row[3]) or nil, heard(r).n)
      assert.same({ row[2], row[3] }, { n and math.type(n), n })
      assert.equal(row[2] and "applied" or "rejected", r:ledger()[2].decision)
      if row[2] then assert.equal(row[3], r:ledger()[2].params.n) end
    end)
  end
end)

-- Values as hotcb.metrics.jsonl must hold them, by key.
local function logged(r)
  local by_key = {}
  for _, line in ipairs(r:metrics()) do by_key[line.key] = line.value end
  return by_key
end

describe("case 36: a scalar that a script logs", function()
  after_each(rig.clean)

  it("is bit-exact, and NaN and the infinities are tagged text: the case's script", function()
    local r = rig.new()
    r:script("log_nan.lua")
    r:step(41)
    r:load("log_nan")
    assert.same({
      nan = "NaN", pinf = "Infinity", ninf = "-Infinity", i53 = 2.0 ^ 53, big = 9007199254740993,
      third = 0.30000000000000004, tiny = 5e-324, one = 1.0, int = 1, step = 41,
    }, logged(r))
    assert.equal("integer", math.type(logged(r).big))
    assert.equal("float", math.type(logged(r).one))
    for _, line in ipairs(r:metrics()) do
      assert.same({ 41, "log_nan" }, { line.step, line.id })
    end
  end)

  it("as are 320 random doubles, from the host through a script into the file", function()
    local r = rig.new()
    r:script("copy.lua", [[
      function handle(event, env)
        for i = 1, 16 do hotcb.scalar("x" .. i, env["x" .. i] or -1.5) end
      end]])
    r:load("copy")
    math.randomseed(34)
    for _ = 1, 20 do
      local values = {}
      for i = 1, 16 do
        local bits = string.pack("<i8", math.random(0))
        local x = string.unpack("<d", bits)
        if x ~= x or x == math.huge or x == -math.huge then x = 0.1 end
        values[i] = x
        assert.equal("ok", r:ask(("num x%d %.17g"):format(i, x)))
      end
      r:apply()
      local found = logged(r)
      for i = 1, 16 do
        assert.equal(string.pack("<d", values[i]), string.pack("<d", found["x" .. i] + 0.0))
      end
    end
  end)

  it("from a host that has no finite number", function()
    local r = rig.new()
    r:script("loss.lua", 'function handle(e, env) hotcb.scalar("loss", env.loss) end\n')
    r:load("loss")
    for _, row in ipairs { { "nan", "NaN" }, { "inf", "Infinity" }, { "-inf", "-Infinity" },
                           { "-nan", "NaN" }, { "1e308", 1e308 }, { "-0.0", -0.0 } } do
      r:ask("num loss " .. row[1])
      r:apply()
      assert.equal(row[2], logged(r).loss)
    end
    assert.equal("on", r:callback("loss").state)
  end)
end)

-- Bytes that break careless writers, from a script into everything it can reach.
local nasty = {
  ["bytes that are not UTF-8"] = "a\255\254b",
  ["a newline and a command"] = 'x\ny\r\n{"op":"disable","id":"bad"}',
  ["control characters"] = "\1\7\27[31m\127",
  ["a NUL"] = "p\0q",
  ["Unicode's ends of line"] = "\u{2028}\u{2029}\u{85}",
  ["a surrogate"] = "\xED\xA0\x80",
  ["an overlong slash"] = "\xC0\xAF",
  ["a cut character"] = "abc\xE7\x95",
  ["beyond Unicode"] = "\xF5\x80\x80\x80",
  ["a million letters"] = ("y"):rep(1000000),
  ["format directives"] = "%s%n%d%%",
  ["quotes and backslashes"] = '"\\"\\\\u0000',
}

-- Takes env.x to every place that takes text, each in a call of its own.
local spread_lua = [[
function handle(event, env)
  local x = data()
  hotcb.log("info", "%s", x)
  hotcb.log("warn", x)
  env.log(x)
  print(x, x)
  pcall(hotcb.scalar, x, 1)
  pcall(hotcb.artifact, x, x)
  hotcb.artifact("raw.bin", x)
  if env.step == 3 then hotcb.stop(x) end
  if env.step == 4 then error(x) end
end
]]

-- A function data() that returns `bytes`, in ASCII; what is long repeats its beginning.
local function data_lua(bytes)
  local escaped = bytes:sub(1, 40):gsub(".", function(c) return ("\\x%02x"):format(c:byte()) end)
  return ('local function data() return ("%s"):rep(%d) end '):format(
    escaped, #bytes > 40 and #bytes // 40 or 1)
end

describe("case 38: text that is no text", function()
  after_each(rig.clean)

  it("is escaped, a line for each emit: the case's script", function()
    local r = rig.new()
    r:script("bad_strings.lua")
    r:load("bad", { target = { kind = "lua_file", path = "bad_strings.lua" } })
    assert.same({}, r:complaints())
    assert.equal(6, #r:log("\tbad\t"))
    assert.equal(1, #r:metrics())
    assert.equal("on", r:callback("bad").state)
    r:apply(3)
    assert.same({ "load bad applied" }, r:verdicts())
    assert.equal(24, #r:log("\tbad\t"))
  end)

  for name, bytes in pairs(nasty) do
    it(name, function()
      local r = rig.new()
      r:script("bad.lua", data_lua(bytes) .. spread_lua)
      r:step(1)
      r:load("bad")
      r:apply(4)
      local lines = r:ledger()
      assert.same({ "load bad applied", "stop bad applied", "fail bad applied" }, r:verdicts())
      assert.equal("FAILED", r:callback("bad").state)
      assert.not_equal("none", r:ask("stop?"))
      assert.is_true(r:callback("bad").enabled)
      assert.equal(bytes, r:read("artifacts/bad/raw.bin"))
      for _, line in ipairs(r:log("\tbad\t")) do assert.is_true(#line.text < 20000) end
      for _, line in ipairs(lines) do assert.is_true(#(line.error or "") < 20000) end
    end)
  end

  it("however much of it there is, drowns no stop() and no disable()", function()
    local r = rig.new()
    r:script("flood.lua", [[
function handle(event, env)
  for i = 1, 5000 do hotcb.log("info", "line %d", i) hotcb.scalar("x", i) end
  if env.step == 1 then hotcb.stop("enough") end
  if env.step == 2 then hotcb.disable() end
end]])
    r:load("flood")
    r:apply(4)
    assert.equal("enough", r:ask("stop?"))
    assert.equal("off", r:callback("flood").state)
    assert.equal(3, r:callback("flood").calls)
  end)

  it("in a parameter arrives as it was sent, and is shown escaped", function()
    local r = rig.new()
    r:script("hb.lua", scripts.types)
    r:load("hb")
    r:send('{"op":"set_params","id":"hb","params":' ..
           '{"a":"\\n\\u001b[31m\\u2028\\ud83d\\ude00","k\\nk":1}}\n')
    r:apply()
    assert.same({ a = "\n\27[31m\u{2028}😀", ["k\nk"] = 1 }, r:callback("hb").params)
    for _, words in ipairs { { "get", "hb" }, { "status" }, { "list" }, { "logs" } } do
      local answer = r:tool_alone(table.unpack(words))
      assert.equal(0, answer.code)
      assert.is_nil(answer.out:find("\27", 1, true))
    end
  end)
end)
