-- The tool's manners: exit codes, JSON that parses, --dir anywhere, near matches,
-- help, and what goes to which stream.
local json = require "support.json"
local rig = require "support.rig"
local scripts = require "support.scripts"
local shell = require "support.shell"

local function live()
  local r = rig.new()
  r:script("hb.lua", scripts.declared)
  r:load("hb")
  return r
end

local function dead()
  local r = live()
  r.host:quit()
  return r
end

local function fresh()
  local r = rig.new { host = false }
  assert.equal(0, r:tool_alone("init").code)
  return r
end

local function none() return rig.new { host = false } end

-- Starts the tool so that it can be interrupted, it alone: a shell's background job would
-- ignore that.
local function start_interruptible(r, ...)
  local pid = r.folder .. "/interruptible.pid"
  local before =
    ([[sh -c 'echo $$ >%s; exec timeout --foreground -s INT 600 "$@"' sh ]]):format(pid)
  local job = r:start_tool({ before = before }, ...)
  function job.interrupt()
    shell.must("kill -INT $(cat " .. pid .. ")")
    return job.collect()
  end
  return job
end

-- What is typed on which run, the exit code, and what the stream must hold; `looked`:
-- the host looks at the files meanwhile.
local codes = {
  { 0, live, { "status" }, out = "hb" },
  { 0, live, { "list" }, out = "hb" },
  { 0, live, { "get", "hb" }, out = "every" },
  { 0, live, { "logs" } },
  { 0, live, { "--help" }, out = "hotcb" },
  { 0, live, { "help" }, out = "hotcb" },
  { 0, live, { "--version" }, out = "0%.2%.0" },
  { 0, live, { "init" } },
  { 0, live, { "set", "hb", "every=2", "--no-wait" }, out = "queued" },
  { 0, dead, { "status" }, out = "ended .* ago" },
  { 0, dead, { "set", "hb", "every=2" }, out = "queued" },
  { 0, dead, { "enable", "hb" }, out = "queued %(no live run%)" },
  { 0, fresh, { "init" } },
  { 0, fresh, { "status" } },
  { 0, fresh, { "list" } },
  { 0, fresh, { "enable", "hb" }, out = "queued" },
  { 1, live, { "get", "nobody" }, err = "nobody" },
  { 1, live, { "enable", "nobody" }, err = "nobody", looked = true },
  { 1, none, { "check", "missing.lua" } },
  { 1, fresh, { "load", "x", "--module", "hotcb.callbacks.hartbeat" }, err = "heartbeat'" },
  { 2, live, {}, err = "usage" },
  { 2, live, { "enabel", "hb" }, err = "enable" },
  { 2, live, { "statsu" }, err = "status" },
  { 2, live, { "enable" }, err = "ID" },
  { 2, live, { "enable", "a", "b" } },
  { 2, live, { "set", "hb" } },
  { 2, live, { "load", "x" }, err = "file" },
  { 2, live, { "load", "x", "--file", "a.lua", "--module", "b" } },
  { 2, live, { "load", "x", "--flie", "a.lua" }, err = "%-%-file" },
  { 2, live, { "status", "--jsno" }, err = "%-%-json" },
  { 2, live, { "set", "hb", "every=2", "--wait=soon" }, err = "soon" },
  { 2, live, { "--dir" } },
  { 3, live, { "set", "hb", "every=2", "--wait=0.2" }, err = "answer" },
  { 4, none, { "status" }, err = "hotcb.*init" },
  { 4, none, { "enable", "hb" }, err = "init" },
  { 4, none, { "get", "hb" } },
  { 4, none, { "logs" } },
}

describe("exit code", function()
  after_each(rig.clean)

  for _, row in ipairs(codes) do
    it(row[1] .. ": " .. table.concat(row[3], " "), function()
      local r = row[2]()
      local answer = (row.looked and r.tool or r.tool_alone)(r, table.unpack(row[3]))
      assert.equal(row[1], answer.code, answer.out .. answer.err)
      if row.out then assert.matches(row.out, answer.out) end
      if row.err then assert.matches(row.err, answer.err) end
      if row[1] ~= 0 then
        assert.equal("", answer.out)
        assert.not_equal("", answer.err)
      end
    end)
  end

  it("130: interrupted while it waits, and what was sent stays sent", function()
    local r = live()
    local before = shell.size(r:path("hotcb.commands.jsonl"))
    local job = start_interruptible(r, "disable", "--wait", "hb")
    shell.wait("the command", function()
      return shell.size(r:path("hotcb.commands.jsonl")) > before
    end)
    shell.sleep(0.1) -- most often it waits then; it may as well be told so before
    local answer = job.interrupt()
    assert.equal(130, answer.code, answer.err)
    r:apply()
    assert.equal("off", r:callback("hb").state)
  end)

  it("3 comes with a word on when an answer may come, and the command still counts", function()
    local r = live()
    local answer = r:tool_alone("disable", "hb", "--wait=0.2")
    assert.equal(3, answer.code)
    assert.not_equal("", answer.err)
    r:apply()
    assert.equal("off", r:callback("hb").state)
    assert.equal(1, #r:ledger { op = "disable" })
  end)

  it("2, 3 and 4 leave the command file and the directory as they were", function()
    local r = live()
    local before = r:read("hotcb.commands.jsonl")
    for _, words in ipairs { { "enabel", "hb" }, { "set", "hb" }, { "set", "hb", "every" },
                             { "load", "x" }, { "enable", "a", "b" }, { "enable", "" },
                             { "enable", "a b" } } do
      assert.is_true(r:tool_alone(table.unpack(words)).code > 0)
      assert.equal(before, r:read("hotcb.commands.jsonl"))
    end
  end)
end)

local json_rows = {
  { live, { "status" } }, { live, { "list" } }, { live, { "get", "hb" } }, { live, { "init" } },
  { live, { "set", "hb", "every=2", "--no-wait" } },
  { live, { "enable", "nobody" }, looked = true },
  { live, { "set", "hb", "every=2", "--wait=0.1" } }, { live, { "get", "nobody" } },
  { dead, { "status" } }, { dead, { "list" } }, { dead, { "get", "hb" } },
  { dead, { "disable", "hb" } }, { fresh, { "status" } }, { fresh, { "list" } },
  { fresh, { "load", "hb", "--module", "hotcb.callbacks.heartbeat" } },
  { none, { "init" } }, { none, { "status" } }, { none, { "enable", "hb" } },
  { none, { "check", "missing.lua" } }, { live, { "--version" } },
}

describe("--json is one value a strict reader reads:", function()
  after_each(rig.clean)

  for _, row in ipairs(json_rows) do
    it(table.concat(row[2], " "), function()
      local r = row[1]()
      local words = { table.unpack(row[2]) }
      words[#words + 1] = "--json"
      local answer = (row.looked and r.tool or r.tool_alone)(r, table.unpack(words))
      if answer.out == "" then
        assert.is_true(answer.code > 0)
      else
        assert.equal("table", type(json.decode(answer.out)))
        assert.equal("\n", answer.out:sub(-1))
      end
    end)
  end

  it("check, of good and bad scripts", function()
    local r = none()
    r:script("good.lua", scripts.declared)
    r:script("bad.lua", "x = = 1\n")
    local good = r:tool_alone("check", r.dir .. "/good.lua", "--json")
    local bad = r:tool_alone("check", r.dir .. "/bad.lua", "--json")
    assert.same({ 0, true }, { good.code, json.decode(good.out).ok })
    assert.same({ 1, false }, { bad.code, json.decode(bad.out).ok })
    assert.matches("bad%.lua:1: ", json.decode(bad.out).error)
    assert.matches("bad%.lua:1: ", r:tool_alone("check", r.dir .. "/bad.lua").err)
    assert.equal(5, #json.decode(good.out).declared)
  end)

  it("logs, line by line", function()
    local r = live()
    local answer = r:tool_alone("logs", "--json")
    assert.equal(0, answer.code)
    for _, line in ipairs(json.lines(answer.out)) do assert.equal("table", type(line)) end
  end)
end)

describe("damaged files", function()
  after_each(rig.clean)

  for _, text in ipairs { "", "{", "[]", "null", '{"format":1}', "\0\255", '{"callbacks":5}' } do
    it(("cost a sentence, no more: %q"):format(text), function()
      local r = dead()
      r:write("hotcb.status.json", text)
      r:write("hotcb.state.json", text)
      for _, words in ipairs { { "status" }, { "list" }, { "get", "hb" } } do
        local answer = r:tool_alone(table.unpack(words))
        assert.is_true(answer.code <= 1)
        assert.is_true(answer.code == 0 or answer.err ~= "")
      end
      assert.equal(0, r:tool_alone("set", "hb", "every=2").code)
      r:start()
      r:load("hb2", { target = { kind = "lua_file", path = "hb.lua" } })
      assert.same({ "load hb applied", "set_params hb rejected", "load hb2 applied" }, r:verdicts())
      assert.equal(0, r:tool_alone("status").code)
    end)
  end
end)

describe("the run directory", function()
  after_each(rig.clean)

  local function said_so(r, opts, ...)
    local answer = r:start_tool(opts, ...).collect()
    return { answer.code, answer.out:find("hb", 1, true) ~= nil }
  end

  it("may be named before or after the command, by a variable, or be the working one", function()
    local r = live()
    assert.same({ 0, true }, said_so(r, { dir = false }, "--dir", r.dir, "status"))
    assert.same({ 0, true }, said_so(r, { dir = false }, "status", "--dir", r.dir))
    assert.same({ 0, true }, said_so(r, { dir = false }, "--dir=" .. r.dir, "status"))
    assert.same({ 0, true }, said_so(r, { dir = false }, "status", "--dir=" .. r.dir))
    assert.same({ 0, true }, said_so(r, { dir = false }, "get", "hb", "--dir", r.dir))
    assert.same({ 0, true }, said_so(r, { dir = false }, "get", "--dir", r.dir, "hb"))
    assert.same({ 0, true }, said_so(r, { dir = false, env = { HOTCB_DIR = r.dir } }, "status"))
    assert.same({ 0, true }, said_so(r, { dir = false, cwd = r.dir }, "status"))
    assert.same({ 0, true }, said_so(r, { dir = "run" }, "status"))
    assert.same({ 0, true }, said_so(r, { env = { HOTCB_DIR = "/nowhere" } }, "status"))
    assert.equal(4, said_so(r, { dir = false, cwd = r.folder }, "status")[1])
  end)

  it("is no file", function()
    local r = live()
    local answer = r:tool_alone("status", "--dir", r:path("hotcb.yaml"))
    assert.equal(4, answer.code, answer.err)
    assert.matches("hotcb.yaml: it is not a directory", answer.err, 1, true)
  end)

  it("is made by init alone, and a second init changes nothing", function()
    local r = none()
    r:sh("rmdir ../run; mkdir -p ../parent")
    r.dir = r.folder .. "/parent/run"
    assert.equal(0, r:tool_alone("init").code)
    assert.same({ "hotcb.commands.jsonl", "hotcb.yaml" }, shell.names(r.dir))
    r:yaml("callbacks: {}\n")
    r:send("\n")
    assert.equal(0, r:tool_alone("init").code)
    assert.equal("callbacks: {}\n", r:read("hotcb.yaml"))
    assert.equal("\n", r:read("hotcb.commands.jsonl"))
  end)

  it("that init made, a host takes as it is", function()
    local r = fresh()
    r:start()
    r:apply()
    assert.same({}, r:complaints())
    assert.same({}, r:ledger { decision = "rejected" })
  end)
end)

local all_commands = { "init", "load", "enable", "disable", "set", "unload", "reload", "status",
                       "list", "get", "logs", "check", "new", "completion" }

describe("help", function()
  after_each(rig.clean)

  for _, command in ipairs(all_commands) do
    it("of " .. command .. " reads well at 80 columns", function()
      local r = none()
      local long, short = r:tool_alone(command, "--help"), r:tool_alone("help", command)
      assert.same({ 0, 0 }, { long.code, short.code })
      assert.equal(long.out, short.out)
      assert.matches("hotcb.*" .. command, long.out)
      for line in long.out:gmatch("[^\n]*") do assert.is_true(utf8.len(line) <= 80, line) end
      assert.is_nil(long.out:find("\27", 1, true))
    end)
  end

  it("of the tool names each command", function()
    local out = none():tool_alone("--help").out
    for _, command in ipairs(all_commands) do assert.matches("\n%s+" .. command .. "%s", out) end
  end)

  it("of a command that is not there says which may have been meant", function()
    local answer = none():tool_alone("help", "enabel")
    assert.equal(2, answer.code)
    assert.matches("enable", answer.err)
  end)
end)

describe("screens", function()
  after_each(rig.clean)

  it("fit 80 columns, have no colour in a pipe, and survive long names", function()
    local r = live()
    local id = ("x"):rep(120)
    r:load(id, { target = { kind = "lua_file", path = "hb.lua" }, init = { mode = "max" } })
    r:script("bad.lua", 'function handle() error("a long message " .. ("m "):rep(100)) end\n')
    r:load("bad")
    for _, words in ipairs { { "status" }, { "list" }, { "get", "hb" } } do
      local answer = r:tool_alone(table.unpack(words))
      assert.equal(0, answer.code)
      assert.is_nil(answer.out:find("\27", 1, true))
      for line in answer.out:gmatch("[^\n]*") do
        local fits = utf8.len(line) <= 80 or line:find("xxx", 1, true) ~= nil
        assert.is_true(fits or line:find(r.dir, 1, true) ~= nil, line) -- a path is not broken
      end
    end
    assert.matches("FAILED", r:tool_alone("status").out)
  end)

  it("end quietly when nobody reads on", function()
    local r = live()
    local command = ("%s --dir %s status | head -c 1 >/dev/null"):format(rig.tool_path, r.dir)
    assert.equal("", shell.must(command))
  end)

  it("logs show what was said, and -f goes on until it is interrupted", function()
    local r = rig.new()
    r:script("hb.lua")
    r:load("hb")
    assert.matches("hb v1 train_step_end calls=1", r:tool_alone("logs").out)
    local job = start_interruptible(r, "logs", "-f")
    shell.wait("the log so far", function()
      return (shell.read(job.base .. ".out") or ""):find("calls=1")
    end)
    r:apply(2)
    shell.wait("what came later", function()
      return shell.read(job.base .. ".out"):find("calls=3")
    end)
    local answer = job.interrupt()
    assert.is_true(answer.code == 0 or answer.code == 130, answer.err)
    local _, times = answer.out:gsub("calls=3", "")
    assert.equal(1, times)
  end)
end)
