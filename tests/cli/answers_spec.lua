-- The tool on a live run: each change is answered with the step of the first look
-- after it, each refusal says why and changes nothing.
local json = require "support.json"
local rig = require "support.rig"
local scripts = require "support.scripts"
local shell = require "support.shell"

local function run_with_declared()
  local r = rig.new()
  r:script("guard.lua", scripts.declared)
  r:load("guard")
  r:step(41180)
  return r
end

-- One story: each row is what is typed, and how it must have turned out.
local story = {
  { { "load", "hb", "--file", "hb.lua", "--enabled" }, op = "load", state = "on" },
  { { "disable", "hb" }, op = "disable", state = "off" },
  { { "enable", "hb" }, op = "enable", state = "on" },
  { { "set", "hb", "every=25", "note=[debug]" }, op = "set_params", state = "on" },
  { { "reload", "hb" }, op = "reload", state = "on" },
  { { "load", "hb", "--file", "hb2.lua", "--init", "every=7" }, op = "load" },
  { { "unload", "hb" }, op = "unload" },
  { { "load", "beat", "--module", "hotcb.callbacks.heartbeat", "--enabled", "--init", "every=10" },
    op = "load", state = "on", id = "beat" },
  { { "set", "beat", "every=20" }, op = "set_params", state = "on", id = "beat" },
  { { "unload", "beat" }, op = "unload", id = "beat" },
}

describe("a change", function()
  after_each(rig.clean)

  for _, as_json in ipairs { false, true } do
    it("is answered with the step of the next look" .. (as_json and ", as JSON" or ""), function()
      local r = rig.new()
      r:script(r.folder .. "/hb.lua", rig.file("hb.lua"))
      r:script(r.folder .. "/hb2.lua", rig.file("hb.lua"))
      r:step(41180)
      for i, row in ipairs(story) do
        local words, id = { table.unpack(row[1]) }, row.id or "hb"
        if as_json then words[#words + 1] = "--json" end
        r:apply(3)
        local answer = r:tool(table.unpack(words))
        assert.same({ 0, "" }, { answer.code, answer.err })
        assert.equal(r.host.next_step - 1, answer.step)
        local last = r:ledger()[#r:ledger()]
        assert.same({ row.op, id, "applied", answer.step, i },
                    { last.op, last.id, last.decision, last.step, #r:ledger() })
        if as_json then
          local told = json.decode(answer.out)
          assert.same({ row.op, id, "applied", answer.step },
                      { told.op, told.id, told.decision, told.step })
        else
          local out = answer.out:gsub(",", "")
          assert.truthy(out:find("step " .. answer.step, 1, true), out)
        end
        local callback = r:callback(id)
        if row.state then assert.equal(row.state, callback.state) end
        if row.op == "unload" then assert.is_nil(callback) end
      end
    end)
  end

  it("of a host that sets no steps is not said to be before the first one", function()
    local r = rig.new()
    r:script("hb.lua")
    r:ask("step none")
    r:load("hb")
    r:apply(3, "epoch_end")
    local answer = r:tool("disable", "hb")
    assert.same({ 0, "disable hb: applied before any step was set\n" }, { answer.code, answer.out })
  end)

  it("takes effect at that step, before the callbacks are called", function()
    local r = rig.new()
    r:script(r.folder .. "/hb.lua", rig.file("hb.lua"))
    r:tool("load", "hb", "--file", "hb.lua", "--enabled")
    assert.equal("hb v1 train_step_end calls=1", r:said("hb"))
    r:tool("disable", "hb")
    r:apply(3)
    assert.equal("hb v1 train_step_end calls=1", r:said("hb"))
    r:tool("enable", "hb")
    assert.equal("hb v1 train_step_end calls=2", r:said("hb"))
  end)

  it("of declared parameters goes by their types", function()
    local r = run_with_declared()
    local answer = r:tool("set", "guard", "every=25", "threshold=1", "mode=max", "verbose=on",
                          "paths=loss,outputs.logits")
    assert.equal(0, answer.code, answer.err)
    assert.same({ every = 25, threshold = 1.0, mode = "max", verbose = true,
                  paths = { "loss", "outputs.logits" } }, r:callback("guard").params)
    assert.equal("float", math.type(r:callback("guard").params.threshold))
  end)

  it("waits for the next look, which the host may space out", function()
    local r = rig.new { args = { "--debounce", 10 } }
    r:script("hb.lua")
    r:load("hb")
    for _ = 1, 3 do
      local seen = #r:ledger()
      r:send { op = "set_params", id = "hb", params = { every = 3 } }
      r:apply(9)
      assert.equal(seen, #r:ledger())
      r:apply()
      assert.equal(seen + 1, #r:ledger())
    end
    assert.same({ 10, 20, 30 }, { r:ledger()[2].step, r:ledger()[3].step, r:ledger()[4].step })
  end)

  it("of two callers at once is answered to each", function()
    local r = run_with_declared()
    local jobs = {}
    for i = 1, 8 do jobs[i] = r:start_tool({}, "set", "--wait", "guard", "every=" .. i) end
    shell.wait("eight commands", function()
      local _, lines = (r:read("hotcb.commands.jsonl")):gsub("\n", "")
      return lines == 9
    end)
    r:apply()
    for i = 1, 8 do assert.equal(0, jobs[i].collect().code) end
    assert.equal(9, #r:ledger { decision = "applied" })
  end)
end)

-- What is refused, and what the sentence must hold.
local refusals = {
  { { "load", "x", "--file", "missing.lua" }, "missing%.lua" },
  { { "load", "x", "--file", "syntax.lua" }, "syntax%.lua:2: " },
  { { "load", "x", "--file", "nohandle.lua" }, "nohandle%.lua.*handle" },
  { { "load", "x", "--file", "python.py" }, "python%.py.*Lua" },
  { { "load", "x", "--file", "python.lua" }, "python%.lua:1: " },
  { { "load", "x", "--file", "fails.lua" }, "fails%.lua:3: not today" },
  { { "load", "x", "--file", "empty.lua" }, "empty%.lua" },
  { { "load", "x", "--file", "." }, "director" },
  { { "load", "x", "--module", "hotcb.callbacks.heartbeet" }, "heartbeat" },
  { { "load", "x", "--file", "declared.lua", "--symbol", "Nope" }, "Nope" },
  { { "load", "x", "--file", "declared.lua", "--init", "evry=5" }, "every" },
  { { "load", "x", "--file", "declared.lua", "--init", "every=-5" }, "0.*1000" },
  { { "load", "x", "--file", "declared.lua", "--limit", "time=5" }, "time_ms" },
  { { "load", "guard", "--file", "syntax.lua" }, "syntax%.lua:2: " },
  { { "set", "guard", "every=fast" }, "every=fast.*integer" },
  { { "set", "guard", "every=30.5" }, "every=30%.5.*integer" },
  { { "set", "guard", "every=1001" }, "every=1001.*1000" },
  { { "set", "guard", "every=-1" }, "every=%-1.*0" },
  { { "set", "guard", "threshold=2" }, "threshold=2.*1" },
  { { "set", "guard", "threshold=nan" }, "threshold" },
  { { "set", "guard", "mode=l3" }, "mode=l3.*l2.*max" },
  { { "set", "guard", "verbose=maybe" }, "verbose=maybe.*true or false" },
  { { "set", "guard", "evry=5" }, "evry.*every" },
  { { "set", "guard", "handle=5" }, "handle" },
  { { "set", "guard", "every=10", "mode=l3" }, "mode=l3" },
  { { "set", "gaurd", "every=10" }, "gaurd.*guard" },
  { { "enable", "gaurd" }, "gaurd.*guard" },
  { { "disable", "nobody" }, "nobody" },
  { { "unload", "nobody" }, "nobody" },
  { { "reload", "nobody" }, "nobody" },
}

local files = {
  ["syntax.lua"] = "function handle(event, env)\n  x = = 1\nend\n",
  ["nohandle.lua"] = "VERSION = 1\n",
  ["python.py"] = "class A:\n    def handle(self, event, env):\n        pass\n",
  ["python.lua"] = "class A:\n    def handle(self, event, env):\n        pass\n",
  ["fails.lua"] = "function handle(event, env)\nend\nerror('not today')\n",
  ["empty.lua"] = "",
  ["declared.lua"] = scripts.declared,
}

local function callbacks_of_status(r)
  local answer = r:tool_alone("status", "--json")
  assert.equal(0, answer.code)
  local kept = {}
  for i, callback in ipairs(json.decode(answer.out).callbacks) do
    kept[i] = { callback.id, callback.state, callback.enabled, callback.params, callback.path,
                callback.limits, callback.version }
  end
  return kept
end

describe("refused, with a reason, and nothing is changed:", function()
  after_each(rig.clean)

  for _, row in ipairs(refusals) do
    it(table.concat(row[1], " "), function()
      local r = run_with_declared()
      for name, bytes in pairs(files) do shell.write(r.folder .. "/" .. name, bytes) end
      local before = callbacks_of_status(r)
      local answer = r:tool(table.unpack(row[1]))
      assert.equal(1, answer.code)
      assert.equal("", answer.out)
      assert.matches(row[2], (answer.err:gsub("%s+", " ")))
      assert.same(before, callbacks_of_status(r))
      r:apply(2)
      assert.same(before, callbacks_of_status(r))
      assert.equal("on", r:callback("guard").state)
    end)

    it(table.concat(row[1], " ") .. " --json", function()
      local r = run_with_declared()
      for name, bytes in pairs(files) do shell.write(r.folder .. "/" .. name, bytes) end
      local words = { table.unpack(row[1]) }
      words[#words + 1] = "--json"
      local answer = r:tool(table.unpack(words))
      assert.equal(1, answer.code)
      local told = json.decode(answer.out)
      assert.equal("rejected", told.decision)
      assert.matches(row[2], told.error)
    end)
  end

  -- The run judges for itself, whoever wrote the line.
  local function load_line(id, kind, path)
    return json.encode { op = "load", id = id, target = { kind = kind, path = path } }
  end
  local lines = {
    { '{"op":"set_params","id":"guard","params":{"every":"fast"}}', "every.*integer" },
    { '{"op":"set_params","id":"guard","params":{"every":30.5}}', "every=30%.5.*integer" },
    { '{"op":"set_params","id":"guard","params":{"every":5000}}', "1000" },
    { '{"op":"set_params","id":"guard","params":{"every":1,"mode":"l3"}}', "l3.*l2" },
    { '{"op":"set_params","id":"guard","params":{"evry":1}}', "evry.*every" },
    { '{"op":"set_params","id":"guard","params":{"handle":1}}', "handle" },
    { load_line("x", "lua_file", "missing.lua"), "missing%.lua" },
    { load_line("x", "lua_file", "../syntax.lua"), "syntax%.lua:2: " },
    { load_line("x", "lua_file", "../nohandle.lua"), "handle" },
    { load_line("guard", "lua_file", "../fails.lua"), "not today" },
    { load_line("x", "python_file", "../python.py"), "Lua" },
    { load_line("x", "module", "hotcb.callbacks.heartbeet"), "heartbeat" },
    { '{"op":"enable","id":"gaurd"}', "gaurd.*guard" },
  }
  for _, row in ipairs(lines) do
    it("line " .. row[1], function()
      local r = run_with_declared()
      for name, bytes in pairs(files) do shell.write(r.folder .. "/" .. name, bytes) end
      local before = callbacks_of_status(r)
      r:send(row[1] .. "\n")
      r:apply(2)
      local last = r:ledger()[#r:ledger()]
      assert.equal("rejected", last.decision)
      assert.matches(row[2], last.error)
      assert.equal(2, #r:ledger())
      assert.same(before, callbacks_of_status(r))
    end)
  end
end)

-- Adds commands of rising lengths, and says of each that was refused how long it was.
local long_lines = [[
big=$(head -c 130000 /dev/zero | tr '\0' x)
few=$(head -c 4150 /dev/zero | tr '\0' x)
for n in $(seq 40); do
    few=x$few
    "$1" --dir . set no a=$big b=$big c=$big d=$big e=$few --no-wait 2>&1 >/dev/null
done | sed -n 's/.*the command is \([0-9]*\) bytes long.*/\1/p']]

describe("the longest line that a run takes", function()
  after_each(rig.clean)

  -- Its time has more digits at one time than at another, so lengths are what comes of it.
  it("is what the tool sends at most", function()
    local r = rig.new { loose = true }
    r:write("long.sh", long_lines)
    local refused = 0
    for length in r:sh("sh long.sh " .. shell.quote(rig.tool_path)):gmatch("%d+") do
      refused = refused + 1
      assert.is_true(tonumber(length) > 1 << 19, length)
    end
    assert.is_true(refused > 0 and refused < 40)
    r:apply(50)
    assert.equal(40 - refused, #r:ledger())
    for _, line in ipairs(r:ledger()) do assert.matches("^no callback 'no'", line.error) end
  end)
end)
