-- Public cases 54, 57, 59: what the tool makes of what was typed, where, and what
-- it says when that was a mistake.
local json = require "support.json"
local rig = require "support.rig"
local scripts = require "support.scripts"
local shell = require "support.shell"

-- An argument of `set`, and the value it has in the command line that is sent.
local arguments = {
  { "lr=1e-4", 1e-4 }, { "a=2E5", 2e5 }, { "b=-3e-2", -0.03 }, { "c=.5", 0.5 }, { "d=nan", "nan" },
  { "e=null", json.null }, { "f=TRUE", true }, { "g=+3", 3 }, { "h=1.10", 1.1 }, { "i=007", "007" },
  { "j=", "" }, { "k=a=b", "a=b" }, { "l=[1, 2]", { 1, 2 } }, { "m=[debug]", "[debug]" },
  { 'n={"x": 1}', { x = 1 } }, { "o={x}", "{x}" }, { "p=two words", "two words" },
  { "q='1'", "'1'" }, { 'r="1"', '"1"' }, { "s=héartbeat界", "héartbeat界" },
  { "t=line\nline", "line\nline" },
  { "u=9007199254740993", 9007199254740993 }, { "v=~", json.null }, { "w=false", false },
  { "x=" .. ("z"):rep(20000), ("z"):rep(20000) }, { "y=-inf", "-inf" }, { "z=1e-400", 0.0 },
  { "loss.weight=2", 2 }, { "A=[\"a\", 1e-4, null]", { "a", 1e-4, json.null } },
}

describe("case 54: key=value on the command line", function()
  after_each(rig.clean)

  it("becomes the value it looks like", function()
    local r = rig.new { host = false }
    r:sh(": > hotcb.yaml; : > hotcb.commands.jsonl")
    for _, row in ipairs(arguments) do
      local answer = r:tool_alone("set", "hb", row[1])
      assert.same({ 0, row[1] }, { answer.code, row[1] }, answer.err)
    end
    local lines = json.lines(r:read("hotcb.commands.jsonl"))
    assert.equal(#arguments, #lines)
    for i, row in ipairs(arguments) do
      local name = row[1]:match("^[^=]*")
      assert.same({ row[1], row[2], math.type(row[2]) },
                  { row[1], lines[i].params[name], math.type(lines[i].params[name]) })
      assert.same({ "set_params", "hb" }, { lines[i].op, lines[i].id })
    end
  end)

  it("all at once, and the script sees it so", function()
    local r = rig.new()
    r:script("hb.lua", scripts.types)
    r:load("hb")
    local answer = r:tool("set", "hb", "lr=1e-4", "a=2E5", "b=-3e-2", "c=.5", "f=TRUE")
    assert.equal(0, answer.code)
    assert.same({
      lr = scripts.meant("float", 1e-4), a = scripts.meant("float", 2e5),
      b = scripts.meant("float", -0.03), c = scripts.meant("float", 0.5), f = "boolean true",
    }, scripts.types_heard(r, "hb"))
  end)

  for _, bad in ipairs { "lr", "=5", "lr=9223372036854775808", "lr=\xff" } do
    it(("that is none is refused, and nothing is sent: %q"):format(bad), function()
      local r = rig.new { host = false }
      r:sh(": > hotcb.yaml; : > hotcb.commands.jsonl")
      local answer = r:tool_alone("set", "hb", bad)
      assert.is_true(answer.code == 1 or answer.code == 2)
      assert.not_equal("", answer.err)
      assert.equal("", r:read("hotcb.commands.jsonl"))
    end)
  end
end)

local commands = {
  { "enable", "hb" }, { "disable", "hb" }, { "set", "hb", "every=1" }, { "unload", "hb" },
  { "reload", "hb" }, { "load", "hb", "--module", "hotcb.callbacks.heartbeat" }, { "status" },
  { "list" }, { "get", "hb" }, { "logs" },
}

describe("case 57: a slip of the hand", function()
  after_each(rig.clean)

  for _, words in ipairs(commands) do
    it("in the directory makes no directory: " .. words[1], function()
      local r = rig.new { host = false }
      local opts = { dir = r.folder .. "/runs/exp1x" }
      local answer = r:start_tool(opts, table.unpack(words)).collect()
      assert.equal(4, answer.code)
      assert.matches("exp1x", answer.err)
      assert.equal("", answer.out)
      assert.is_false(shell.exists(r.folder .. "/runs"))
    end)

    it("in the directory, for one that is no run directory: " .. words[1], function()
      local r = rig.new { host = false }
      local answer = r:tool_alone(table.unpack(words))
      assert.equal(4, answer.code)
      assert.matches("init", answer.err)
      assert.same({}, shell.names(r.dir))
    end)
  end

  for _, command in ipairs { "enable", "disable", "set", "unload", "reload", "get" } do
    it("in an id names the near one, and makes no ghost: " .. command, function()
      local r = rig.new()
      r:script("hb.lua")
      r:load("hb")
      local answer = r:tool(command, "hbb", command == "set" and "every=1" or nil)
      assert.equal(1, answer.code)
      assert.matches("no callback", answer.err)
      assert.matches("hb%f[^b%w]", answer.err:gsub("hbb", ""))
      r:apply()
      assert.equal(1, #r:status().callbacks)
      assert.is_nil(r:callback("hbb"))
      for _, line in ipairs(r:ledger { id = "hbb" }) do assert.equal("rejected", line.decision) end
    end)
  end

  it("in an id of a raw command line is logged by the run, once, with the known ids", function()
    local r = rig.new()
    r:script("hb.lua")
    r:load("hb")
    for _, op in ipairs { "enable", "disable", "unload", "reload" } do
      local from = r:log_length()
      r:send { op = op, id = "hbb" }
      r:apply(3)
      assert.equal(1, #r:complaints(from))
      assert.matches("hbb.*hb%f[^b%w]", r:complaints(from)[1])
      assert.equal(op .. " hbb rejected", r:verdicts()[#r:verdicts()])
    end
    assert.equal(1, #r:status().callbacks)
  end)
end)

-- Where the script is said to be, from the folder A; it is A/hb.lua, A/sub dir/hb.lua.
local spellings = {
  { "hb.lua", "A/hb.lua" },
  { "./hb.lua", "A/hb.lua" },
  { "../A/hb.lua", "A/hb.lua" },
  { "sub dir/hb.lua", "A/sub dir/hb.lua" },
  { "sub dir/../hb.lua", "A/hb.lua" },
}

describe("case 59: a relative path", function()
  after_each(rig.clean)

  -- A run whose host was started in B by a relative directory, and is in C later.
  local function three_folders()
    local r = rig.new { host = false }
    for _, name in ipairs { "A/sub dir", "B", "C" } do shell.mkdir(r.folder .. "/" .. name) end
    r.dir = r.folder .. "/B/run"
    r.host = r:another_host("run", { cwd = r.folder .. "/B",
                                     args = { "--log", r.folder .. "/B/run.host.log" } })
    for _, name in ipairs { "/A", "/A/sub dir" } do
      r:script(r.folder .. name .. "/hb.lua", rig.file("hb.lua"))
    end
    return r
  end

  for _, row in ipairs(spellings) do
    it("is one of the shell's working directory: " .. row[1], function()
      local r = three_folders()
      local answer = r:tool_with({ cwd = r.folder .. "/A" },
                                 "load", "hb", "--file", row[1], "--enabled")
      assert.equal(0, answer.code)
      assert.equal("hb v1 train_step_end calls=1", r:said("hb"))
      assert.equal("ok", r:ask("chdir " .. r.folder .. "/C"))
      r:script(r.folder .. "/" .. row[2], (rig.file("hb.lua"):gsub("v1", "v2")))
      r:apply()
      assert.equal("hb v2 train_step_end calls=1", r:said("hb"))
      local path = r:callback("hb").path
      assert.equal("/", path:sub(1, 1))
      assert.equal(shell.must("realpath " .. shell.quote(r.folder .. "/" .. row[2])),
                   shell.must("realpath " .. shell.quote(path)))
      assert.equal(path, json.decode(r:tool_alone("get", "hb", "--json").out).path)
      local in_c = { dir = "../B/run", cwd = r.folder .. "/C" }
      assert.equal(0, r:tool_with(in_c, "disable", "hb").code)
      assert.equal("off", r:callback("hb").state)
    end)
  end

  it("in hotcb.yaml is one of hotcb.yaml", function()
    local r = rig.new { host = false }
    shell.mkdir(r.folder .. "/conf")
    r:script(r.folder .. "/conf/hb.lua", rig.file("hb.lua"))
    shell.write(r.folder .. "/conf/my.yaml",
                "callbacks: {hb: {target: {kind: lua_file, path: hb.lua}}}\n")
    r:start { args = { "--config", "conf/my.yaml" } }
    r:ask("chdir /")
    r:apply()
    assert.equal("hb v1 train_step_end calls=1", r:said("hb"))
    assert.equal(r.folder .. "/conf/hb.lua", r:callback("hb").path)
    r:script(r.folder .. "/conf/hb.lua", (rig.file("hb.lua"):gsub("v1", "v2")))
    r:apply()
    assert.equal("hb v2 train_step_end calls=1", r:said("hb"))
  end)

  it("in a raw command line is one of the run directory", function()
    local r = rig.new()
    r:script("hb.lua")
    r:ask("chdir /")
    r:load("hb")
    assert.equal(r.dir .. "/hb.lua", r:callback("hb").path)
  end)
end)
