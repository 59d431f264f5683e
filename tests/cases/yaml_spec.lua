-- Public cases 24, 27, 28, 30, 32: what hotcb.yaml means, and that a file which
-- means nothing changes nothing.
local rig = require "support.rig"
local scripts = require "support.scripts"

local meant = scripts.meant
local function heard(r) return scripts.types_heard(r, "hb") end

local hb_yaml = "callbacks:\n  hb:\n    target: {kind: lua_file, path: hb.lua}\n"

-- A plain scalar, its type and its value, from hotcb.yaml and from the command line
-- alike. What is text stands for itself.
local scalars = {
  { "12", "integer", 12 },
  { "-7", "integer", -7 },
  { "+3", "integer", 3 },
  { "0", "integer", 0 },
  { "9007199254740993", "integer", 9007199254740993 },
  { "9223372036854775807", "integer", math.maxinteger },
  { "-9223372036854775808", "integer", math.mininteger },
  { "1e-4", "float", 1e-4 },
  { "1.0e-4", "float", 1e-4 },
  { "3E5", "float", 3e5 },
  { "1e+4", "float", 1e4 },
  { "2E5", "float", 2e5 },
  { ".5", "float", 0.5 },
  { "3.", "float", 3.0 },
  { "1.0", "float", 1.0 },
  { "1.10", "float", 1.1 },
  { "-3e-2", "float", -0.03 },
  { "true", "boolean", true },
  { "FALSE", "boolean", false },
  { "010", "string" },
  { "007", "string" },
  { "0x10", "string" },
  { "0o17", "string" },
  { "1_000", "string" },
  { "22:22", "string" },
  { "1.10.2", "string" },
  { "2001-12-14", "string" },
  { "yes", "string" },
  { "NO", "string" },
  { "on", "string" },
  { "y", "string" },
  { "nan", "string" },
  { "inf", "string" },
  { "1e", "string" },
  { "e5", "string" },
  { "hello", "string" },
}

describe("case 24: a scalar", function()
  after_each(rig.clean)

  it("has the type that it looks like: the case's file", function()
    local r = rig.new()
    r:script("hb.lua", scripts.types)
    r:yaml(rig.file("yaml_numbers.yaml"))
    r:apply()
    assert.same({
      lr = meant("float", 1e-4), lr_b = meant("float", 3e5), lr_c = meant("float", 1e-4),
      big = meant("float", 1e4), seed = "string 010", start = "string 22:22",
      plain = "integer 12", ver = "string 1.10",
    }, heard(r))
  end)

  it("is the same from hotcb.yaml and from the command line", function()
    local r = rig.new()
    r:script("hb.lua", scripts.types)
    local yaml, words, expected = { hb_yaml .. "    params:\n" }, {}, {}
    for i, row in ipairs(scalars) do
      local value = row[3]
      if value == nil then value = row[1] end
      yaml[#yaml + 1] = ("      y%d: %s\n"):format(i, row[1])
      words[#words + 1] = ("c%d=%s"):format(i, row[1])
      expected["y" .. i], expected["c" .. i] = meant(row[2], value), meant(row[2], value)
    end
    r:yaml(table.concat(yaml))
    r:apply()
    local answer = r:tool("set", "hb", table.unpack(words))
    assert.same({ 0, "" }, { answer.code, answer.err })
    assert.same(expected, heard(r))
  end)

  it("that is no number there is, is refused", function()
    for _, text in ipairs { "9223372036854775808", ".nan", ".inf", "-.inf", "1e999" } do
      local r = rig.new()
      r:script("hb.lua", scripts.types)
      r:yaml(hb_yaml)
      r:apply()
      r:yaml(hb_yaml .. "    params: {x: " .. text .. "}\n")
      r:apply()
      assert.equal(1, #r:ledger { decision = "rejected" }, text)
      assert.equal(1, r:tool("set", "hb", "x=" .. text).code, text)
      assert.is_nil(r:callback("hb").params.x)
      assert.same({}, heard(r))
      rig.clean()
    end
  end)
end)

local function nested(open, close, n) return "a: " .. open:rep(n) .. close:rep(n) .. "\n" end

local function blocks(n)
  local lines = {}
  for i = 1, n do lines[i] = (" "):rep(i - 1) .. "a:" end
  return table.concat(lines, "\n") .. "\n"
end

-- Files that would cost much more than they weigh.
local bombs = {
  ["the case's aliases"] = function() return rig.file("yaml_alias_bomb.yaml") end,
  ["20,000 brackets"] = function() return nested("[", "", 20000) end,
  ["20,000 brackets, closed"] = function() return nested("[", "]", 20000) end,
  ["20,000 braces"] = function() return nested("{a: ", "}", 20000) end,
  ["300 blocks in each other"] = function() return blocks(300) end,
  ["20,000 dashes"] = function() return ("- "):rep(20000) .. "x\n" end,
  ["an alias of itself"] = function() return "callbacks: &a\n  hb: *a\n" end,
  ["aliases as keys' values"] = function()
    local lines = { "a0: &a0 {x: 1}" }
    for i = 1, 40 do
      lines[#lines + 1] = ("a%d: &a%d {l: *a%d, r: *a%d}"):format(i, i, i - 1, i - 1)
    end
    return table.concat(lines, "\n") .. "\ncallbacks: {hb: {params: {x: *a40}}}\n"
  end,
  ["300,000 small values"] = function() return "a: [" .. ("1,"):rep(300000) .. "1]\n" end,
  ["5 MB of text"] = function() return "# " .. ("x"):rep(5 << 20) .. "\n" end,
}

-- Microseconds of CPU time so far, and the most KiB of memory there ever were.
local function cost(r)
  return tonumber(r:ask("cpu")), tonumber(r:ask("heap"):match("(%d+)$"))
end

describe("case 27: a file that would eat memory or the stack", function()
  after_each(rig.clean)

  for name, make in pairs(bombs) do
    it("is refused, for little: " .. name, function()
      local r = rig.new()
      r:script("hb.lua")
      r:yaml(hb_yaml)
      r:apply()
      local from = r:log_length()
      local cpu, peak = cost(r)
      r:yaml(make())
      r:apply()
      local cpu_after, peak_after = cost(r)
      -- A twentieth of a second at most, on a usual machine; some are slow.
      assert.is_true(cpu_after - cpu < 2000000 * rig.slack, "CPU time " .. cpu_after - cpu)
      assert.is_true(peak_after - peak < 16384 * rig.slack, "KiB " .. peak_after - peak)
      assert.equal("hb v1 train_step_end calls=2", r:said("hb"))
      r:apply(5)
      assert.equal(1, #r:complaints(from))
      assert.matches("hotcb%.yaml", r:complaints(from)[1])
      assert.truthy(r:status().config.error)
      assert.equal("on", r:callback("hb").state)
    end)
  end

  it("and small honest anchors work", function()
    local r = rig.new()
    r:script("hb.lua")
    r:yaml([[
callbacks:
  hb: &one
    target: &t {kind: lua_file, path: hb.lua}
    params: &p {every: 5, names: [a, b]}
  hb2: {target: *t, params: *p}
  hb3: *one
]])
    r:apply()
    assert.same({}, r:complaints())
    for _, id in ipairs { "hb", "hb2", "hb3" } do
      assert.same({ every = 5, names = { "a", "b" } }, r:callback(id).params)
      assert.equal("on", r:callback(id).state)
    end
  end)
end)

local no_booleans = { '"false"', "'true'", "0", "1", "maybe", "no", "yes", "off", "Nope", "[]",
                      "{}", "[false]", "1.0", '""', "falsee" }

describe("case 28: enabled that is no boolean", function()
  after_each(rig.clean)

  it("enables nothing: the case's file, mended entry by entry", function()
    local r = rig.new()
    r:script("hb.lua")
    local file = rig.file("yaml_enabled_string.yaml")
    local mends = { { '"false"', 3 }, { "0", 6 }, { "maybe", 9 } }
    for _, mend in ipairs(mends) do
      r:yaml(file)
      r:apply()
      assert.same({}, r:status().callbacks)
      local why = r:status().config.error
      assert.matches("hotcb%.yaml:" .. mend[2] .. ": ", why)
      assert.matches("enabled", why)
      if mend[1] == "maybe" then assert.matches("maybe", why) end
      file = file:gsub("enabled: " .. mend[1] .. "\n", "enabled: false\n")
    end
    r:yaml(file)
    r:apply()
    for _, id in ipairs { "hb", "a2", "a3" } do assert.equal("off", r:callback(id).state) end
    assert.is_nil(r:status().config.error)
    assert.is_nil(r:said("hb"))
  end)

  for _, spelling in ipairs(no_booleans) do
    it("in hotcb.yaml: " .. spelling, function()
      local r = rig.new()
      r:script("hb.lua")
      r:yaml(hb_yaml .. "    enabled: false\n")
      r:apply()
      r:yaml(hb_yaml .. "    enabled: " .. spelling .. "\n")
      r:apply(3)
      assert.equal("off", r:callback("hb").state)
      assert.matches("hotcb%.yaml:4: .*enabled", r:status().config.error)
      assert.equal(1, #r:complaints())
      assert.is_nil(r:said("hb"))
    end)
  end

  it("in a command", function()
    local r = rig.new()
    r:script("hb.lua")
    for i, value in ipairs { '"false"', "0", "1", '"yes"', "[]", "null" } do
      r:send(('{"op":"load","id":"hb","target":{"kind":"lua_file","path":"hb.lua"},"enabled":%s}\n')
        :format(value))
      r:apply()
      assert.equal("rejected", r:ledger()[i].decision, value)
    end
    assert.same({}, r:callbacks())
  end)
end)

-- Edits of hotcb.yaml that change no key. (The case's file is what they edit.)
local idle_edits = {
  ["a comment at the end"] = function(text) return text .. "# a comment\n" end,
  ["a comment at the beginning"] = function(text) return "# a comment\n\n" .. text end,
  ["other quotes"] = function(text) return text:gsub("path: hb.lua", 'path: "hb.lua"') end,
  ["another layout"] = function()
    return "callbacks: {hb: {params: {every: 10},\n  target: {path: hb.lua, kind: lua_file}, " ..
      "enabled: true}}\n"
  end,
  ["a new key of another callback"] = function(text)
    return text .. "  other:\n    target: {kind: lua_file, path: hb.lua}\n"
  end,
  ["nothing but the time"] = function(text) return text end,
  ["CRLF"] = function(text) return text:gsub("\n", "\r\n") end,
  ["version: 1"] = function(text) return "version: 1\n" .. text end,
  ["a mistake, and its mending"] = function(text, r)
    r:yaml("callbacks: [\n")
    r:apply()
    return text
  end,
  ["emptied, and back"] = function(text, r)
    r:yaml("")
    r:apply()
    return text
  end,
  ["removed, and back"] = function(text, r)
    r:sh("rm hotcb.yaml")
    r:apply()
    return text
  end,
}

describe("case 30: an unrelated change in the YAML", function()
  after_each(rig.clean)

  local function steered()
    local r = rig.new()
    r:script("hb.lua")
    r:yaml(rig.file("yaml_cli_wins.yaml"))
    r:apply()
    assert.equal(0, r:tool("disable", "hb").code)
    assert.equal(0, r:tool("set", "hb", "every=3").code)
    return r
  end

  local function state(r) return { r:callback("hb").state, r:callback("hb").params.every } end

  for name, edit in pairs(idle_edits) do
    it("undoes no command: " .. name, function()
      local r = steered()
      local text = rig.file("yaml_cli_wins.yaml")
      local edited = edit(text, r)
      r:yaml(edited)
      r:apply()
      assert.same({ "off", 3 }, state(r))
      r:yaml((edited:gsub("every: 10", "every: 20")))
      r:apply()
      assert.same({ "off", 20 }, state(r))
      r:yaml((edited:gsub("every: 10", "every: 20"):gsub("enabled: true", "enabled: false")))
      r:apply()
      r:yaml((edited:gsub("every: 10", "every: 20")))
      r:apply()
      assert.same({ "on", 20 }, state(r))
    end)
  end

  it("a removed parameter goes back to its first value, a removed callback is off", function()
    local r = rig.new()
    r:script("hb.lua", [[
return { params = { { "every", 50 }, { "n", 1 } }, handle = function() end }]])
    r:yaml(hb_yaml .. "    init: {every: 7}\n    params: {every: 8, n: 9}\n")
    r:apply()
    assert.same({ every = 8, n = 9 }, r:callback("hb").params)
    r:yaml(hb_yaml .. "    init: {every: 7}\n")
    r:apply()
    assert.same({ every = 7, n = 1 }, r:callback("hb").params)
    r:yaml("callbacks: {}\n")
    r:apply()
    assert.equal("off", r:callback("hb").state)
  end)

  it("YAML first, then the commands of the same look", function()
    local r = steered()
    r:yaml((rig.file("yaml_cli_wins.yaml"):gsub("every: 10", "every: 20")))
    r:send { op = "set_params", id = "hb", params = { every = 4 } }
    r:apply()
    assert.equal(4, r:callback("hb").params.every)
    local lines = r:ledger()
    assert.same({ "yaml", "command" }, { lines[#lines - 1].origin, lines[#lines].origin })
  end)
end)

-- A file with one mistake, the line it stands in, and what must be said of it.
local mistakes = {
  { "callbacks:\n  hb:\n    enable: false\n", 3, "enable", "enabled" },
  { "callbacks:\n  hb:\n    enabled: false\n    parms: {every: 5}\n", 4, "parms", "params" },
  { "callbacks:\n  hb:\n    target:\n      kind: lua_file\n      path: hb.lua\n      extra: 1\n",
    6, "extra" },
  { "callbacks:\n  hb:\n    target: {kind: lua_file, pth: hb.lua}\n", 3, "pth", "path" },
  { "callbacks:\n  hb:\n    limits: {time: 5}\n", 3, "time", "time_ms" },
  { "callbacks:\n  hb:\n    limits: {memory_mb: x}\n", 3, "memory_mb" },
  { "callback:\n  hb: {}\n", 1, "callback", "callbacks" },
  { "version: 2\ncallbacks: {}\n", 1, "version" },
  { "callbacks:\n  hb:\n    target: {kind: python_file, path: hb.py}\n", 3, "python_file", "Lua" },
  { "callbacks:\n  hb:\n    target: {kind: lua_fil, path: hb.lua}\n", 3, "lua_fil", "lua_file" },
  { "callbacks:\n  hb:\n    target: {kind: lua_file}\n", 3, "path" },
  { "callbacks:\n  hb:\n    target: hb.lua\n", 3, "target" },
  { "callbacks:\n  hb:\n    params: [1, 2]\n", 3, "params" },
  { "callbacks:\n  hb: {}\n  hb: {}\n", 3, "hb" },
  { "callbacks:\n  hb:\n    params: {a: 1, a: 2}\n", 3, "a" },
  { "callbacks:\n  'h b': {}\n", 2, "h b" },
  { "callbacks:\n  - hb\n", 1, "callbacks" },
  { "- hb\n", nil, "callbacks" },
  { "callbacks: {}\n--- \ncallbacks: {}\n", 2 },
  { "callbacks:\n  hb:\n\ttarget: x\n", 3 },
  { "callbacks:\n  hb: {target: {kind: lua_file, path: hb.lua}\n", 3, "line 2" },
  { "callbacks:\n  hb: *nowhere\n", 2, "nowhere" },
  { "callbacks:\n  ? [a]\n  : {}\n", 2 },
  { "callbacks:\n  hb: \"\\ud800\"\n", 2 },
  { "callbacks:\n  hb: '\xff\xfe'\n", 2 },
}

describe("case 32: a misspelt key", function()
  after_each(rig.clean)

  it("refuses the file: the case's line", function()
    local r = rig.new()
    r:script("hb.lua")
    r:yaml("callbacks: {hb: {enable: false, target: {kind: lua_file, path: hb.lua, extra: 1}, " ..
           "parms: {every: 5}}}\n")
    r:apply(3)
    assert.same({}, r:callbacks())
    assert.matches("hotcb%.yaml:1: .*enable.*enabled", r:status().config.error)
    assert.equal(1, #r:complaints())
    assert.same({ "config - rejected" }, r:verdicts())
  end)

  for _, row in ipairs(mistakes) do
    it(("as does %q"):format(row[1]), function()
      local r = rig.new()
      r:script("hb.lua")
      r:yaml(hb_yaml)
      r:apply()
      local before = r:callback("hb")
      r:yaml(row[1])
      r:apply(3)
      local why = r:status().config.error
      assert.matches("hotcb%.yaml:" .. (row[2] and row[2] .. ": " or ""), why)
      for i = 3, #row do assert.truthy(why:find(row[i], 1, true), why) end
      assert.equal(1, #r:complaints())
      assert.equal(1, #r:ledger { op = "config" })
      local after = r:callback("hb")
      assert.same({ before.state, before.params }, { after.state, after.params })
      r:yaml(hb_yaml .. "    params: {every: 2}\n")
      r:apply()
      assert.equal(2, r:callback("hb").params.every)
      assert.is_nil(r:status().config.error)
    end)
  end
end)
