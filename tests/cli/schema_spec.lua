-- The schemas of what --json prints: each command has one, and each catches what is
-- not as it says. That all outputs obey is checked wherever a spec runs the tool.
local json = require "support.json"
local rig = require "support.rig"
local schema = require "support.schema"
local scripts = require "support.scripts"
local shell = require "support.shell"

local function live()
  local r = rig.new()
  r:script("hb.lua", scripts.declared)
  r:load("hb")
  r:script("bad.lua", 'function handle() error("no") end\n')
  r:load("bad")
  return r
end

local function copy(v)
  if type(v) ~= "table" or v == json.null then return v end
  local new = setmetatable({}, getmetatable(v))
  for key, element in pairs(v) do new[key] = copy(element) end
  return new
end

-- Calls visit(map) for each map in v but those whose keys are anybody's.
local function each_map(v, visit, name)
  if type(v) ~= "table" or v == json.null then return end
  if getmetatable(v) ~= json.array and name ~= "params" then visit(v) end
  for key, element in pairs(v) do
    if name ~= "params" then each_map(element, visit, key) end
  end
end

-- Every value that differs from v in one map: a key less, or one more.
local function spoilt(v)
  local all, count = {}, 0
  each_map(v, function(map)
    for _ in pairs(map) do count = count + 1 end
  end)
  for wanted = 1, count do
    local new, n = copy(v), 0
    each_map(new, function(map)
      local keys = {}
      for key in pairs(map) do keys[#keys + 1] = key end
      for _, key in ipairs(keys) do
        n = n + 1
        if n == wanted then all[#all + 1] = { new, key, function() map[key] = nil end } end
      end
    end)
    all[#all][3]()
  end
  each_map(v, function(map)
    map.unheard_of = 1
    all[#all + 1] = { copy(v), "unheard_of" }
    map.unheard_of = nil
  end)
  return all
end

describe("a schema", function()
  after_each(rig.clean)

  it("is there for each command, and is one", function()
    local help = json.decode(rig.new { host = false }:tool_alone("help", "--json").out)
    for _, command in ipairs(help.commands) do
      local name = command.op and "decision" or command.name
      assert.equal("https://json-schema.org/draft/2020-12/schema", schema.load(name)["$schema"])
    end
    for _, file in ipairs(shell.names(schema.folder)) do
      schema.problem(file:match("^(.*)%.json$"), {}) -- knows all its keywords
    end
  end)

  for _, words in ipairs { { "status" }, { "list" }, { "get", "bad" }, { "init" },
                           { "help", "set" }, { "completion", "fish" } } do
    it("catches a key too few and a key too many: " .. table.concat(words, " "), function()
      local r = live()
      local out = r:tool_alone(words[1], words[2] or "--json", words[2] and "--json").out
      local value = json.decode(out)
      assert.is_nil(schema.problem(words[1], value))
      for _, wrong in ipairs(spoilt(value)) do
        assert.is_string(schema.problem(words[1], wrong[1]), wrong[2])
      end
    end)
  end

  local values = {
    { "error", { error = "x" }, true }, { "error", { error = 1 }, false },
    { "error", {}, false }, { "error", "x", false }, { "error", json.null, false },
    { "init", { dir = "x", made = setmetatable({}, json.array), kept = {} }, false },
    { "version", { version = "1", abi = 1 }, true },
    { "version", { version = "1", abi = 1.0 }, false },
    { "logs", { time = json.null, mono = 1.5, level = "INFO", id = "x", text = "" }, true },
    { "logs", { time = json.null, mono = "1.5", level = "INFO", id = "x", text = "" }, false },
    { "decision", { decision = "done", step = 1, op = "load", id = "x", cmd = "", error = "" },
      false },
  }
  for i, row in ipairs(values) do
    it(("judges values, row %d, of %s"):format(i, row[1]), function()
      assert.equal(row[3], schema.problem(row[1], row[2]) == nil)
    end)
  end
end)

describe("--json", function()
  after_each(rig.clean)

  -- Each must have printed what its schema says, or the rig raises.
  local lines = {
    { "help" }, { "help", "load" }, { "help", "json" }, { "--help" }, { "set", "--help" },
    { "--version" }, { "completion", "bash" }, { "logs" }, { "logs", "--id", "hb", "-n", "all" },
    { "get", "bad" }, { "check", "/nowhere.lua" }, { "help", "nonsense" }, { "logs", "-n", "x" },
    { "set", "hb", "every=" }, { "load", "x", "--file", "/nowhere.lua", "--no-wait" },
    { "enable", "a b" }, { "load", "x", "--module", "no.such" }, { "bogus" },
    { "--dir", "/nowhere", "list" }, { "--dir", "/nowhere", "logs" },
    { "--dir", "/nowhere", "set", "x", "a=1" }, { "--dir", "/proc/nowhere", "init" },
  }
  it("obeys in every corner", function()
    local r = live()
    for _, words in ipairs(lines) do
      words = table.move(words, 1, #words, 1, {})
      words[#words + 1] = "--json"
      local answer = r:tool_alone(table.unpack(words))
      local may_be_empty = answer.code == 2 or words[1] == "logs"
      assert.is_true(may_be_empty or answer.out ~= "", table.concat(words, " "))
    end
    for _, words in ipairs { { "set", "hb", "every=2" }, { "set", "hb", "evry=2" },
                             { "disable", "hb" }, { "reload", "hb" }, { "unload", "hb" } } do
      words[#words + 1] = "--json"
      r:tool(table.unpack(words))
    end
  end)
end)
