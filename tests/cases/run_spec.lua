-- Public cases 51, 74, 76, 81, 82: long runs, odd steps, jumping clocks, dead runs.
local json = require "support.json"
local rig = require "support.rig"
local scripts = require "support.scripts"
local shell = require "support.shell"

-- Callbacks that fail at each step, in their several ways, and how many steps to take.
local failing = {
  { "the case's script", rig.file("err_each_step.lua"), 100000 },
  { "another message each step", 'function handle(e, env) error("s" .. env.step) end\n', 20000 },
  { "two messages by turns", 'function handle(e, env) error("odd" .. env.step % 2) end\n', 20000 },
  { "a long message", 'function handle() error(("x"):rep(100000)) end\n', 1000 },
  { "no message", "function handle() error() end\n", 20000 },
  { "an error after a scalar", 'function handle() hotcb.scalar("x", 1) error("y") end\n', 20000 },
}

describe("case 51: a callback that fails each step", function()
  after_each(rig.clean)

  for _, row in ipairs(failing) do
    it("is counted, not repeated: " .. row[1], function()
      local r = rig.new()
      local steps = row[3] // rig.slack
      r:script("hb.lua", row[2])
      r:load("hb", { limits = { errors = 0 } })
      r:apply(steps - 1)
      local hb = r:callback("hb")
      assert.equal("on", hb.state)
      assert.same({ steps, "runtime" }, { hb.failures, hb.error.reason })
      assert.equal(steps - 1, hb.error.step)
      assert.truthy(hb.error.traceback)
      local written = shell.size(r.dir .. ".host.log") + shell.size(r.dir .. "/hotcb.log")
      assert.is_true(written < 100 * 1024, "log bytes " .. written)
      assert.is_true(shell.size(r.dir .. "/hotcb.applied.jsonl") < 100 * 1024)
      assert.equal(0, #r:metrics())
    end)
  end

  it("says the first failure with file:line and a traceback", function()
    local r = rig.new()
    r:script("hb.lua", rig.file("err_each_step.lua"))
    r:load("hb", { limits = { errors = 0 } })
    r:apply(10)
    assert.matches("hb%.lua:3: ", r:complaints()[1])
    assert.equal(1, #r:log("traceback"))
    assert.equal(1, #r:log("hb%.lua:3: in function 'handle'"))
    assert.is_true(#r:complaints() < 10)
    assert.equal(11, r:callback("hb").error.count)
  end)

  it("and stops at the first, unless told otherwise", function()
    local r = rig.new()
    r:script("hb.lua", rig.file("err_each_step.lua"))
    r:load("hb")
    r:apply(10)
    local hb = r:callback("hb")
    assert.same({ "FAILED", true, 1, 1 }, { hb.state, hb.enabled, hb.failures, hb.calls })
    r:send { op = "enable", id = "hb" }
    r:apply(2)
    assert.equal(2, r:callback("hb").failures)
  end)
end)

-- The steps at which `every` is due, by the rule: once for each crossed multiple,
-- at most once a call; the first step counts if it is a multiple; backwards, the
-- counting starts again there.
local function due_by_rule(steps, every)
  local due, last = {}, nil
  for _, step in ipairs(steps) do
    local crossed
    if not last or step < last then
      crossed = every > 0 and step % every == 0
    else
      crossed = every > 0 and step // every > last // every
    end
    if crossed then due[#due + 1] = step end
    last = step
  end
  return due
end

local function repeated(n, times)
  local steps = {}
  for i = 0, n * times - 1 do steps[i + 1] = i // times end
  return steps
end

local function strided(first, stride, n)
  local steps = {}
  for i = 1, n do steps[i] = first + (i - 1) * stride end
  return steps
end

local function random_walk(n)
  local steps, step = {}, 0
  math.randomseed(74)
  for i = 1, n do
    step = step + math.random(0, 12)
    if math.random(10) == 1 then step = math.random(0, step) end
    steps[i] = step
  end
  return steps
end

local walks = {
  { "each step four times", repeated(10, 4), 5 },
  { "3, 7, 11, 15", strided(3, 4, 40), 5 },
  { "one by one", strided(0, 1, 40), 5 },
  { "a stride of 7", strided(1, 7, 40), 5 },
  { "a stride of twelve", strided(0, 12, 40), 5 },
  { "starting at 5", strided(5, 1, 20), 5 },
  { "starting at 1", strided(1, 1, 20), 5 },
  { "every = 1", repeated(10, 3), 1 },
  { "every = 0 is never", strided(0, 1, 20), 0 },
  { "negative steps", strided(-20, 3, 20), 5 },
  { "back to a checkpoint", { 8, 9, 10, 11, 5, 6, 7, 8, 9, 10, 11, 3, 4, 5 }, 5 },
  { "a random walk", random_walk(200), 7 },
}

describe("case 74: a callback that is due every so many steps", function()
  after_each(rig.clean)

  for _, row in ipairs(walks) do
    it("fires once per crossed multiple: " .. row[1], function()
      local r = rig.new()
      r:script("due.lua", scripts.due)
      r:send { op = "load", id = "due", target = { kind = "lua_file", path = "due.lua" },
               init = { every = row[3] } }
      for _, step in ipairs(row[2]) do
        r:step(step)
        r:apply()
      end
      assert.same(due_by_rule(row[2], row[3]), scripts.due_steps(r, "due"))
    end)
  end

  it("as the case says it: twice in 0,0,0,0,1,..., each multiple of 5 in 3,7,11,...", function()
    assert.same({ 0, 5 }, due_by_rule(walks[1][2], 5))
    assert.equal(31, #due_by_rule(walks[2][2], 5))
  end)

  it("counts each event by itself, and lets other events pass", function()
    local r = rig.new()
    r:script("due.lua", scripts.due)
    r:load("due")
    for step = 0, 9 do
      for _, event in ipairs { "grads_ready", "train_step_end", "eval_end" } do
        r:step(step)
        r:apply(1, event)
      end
    end
    -- train_step_end at 0 of load(), then 0 and 5 of each step event, and ten eval_end
    local steps = scripts.due_steps(r, "due")
    local count = {}
    for _, step in ipairs(steps) do count[step] = (count[step] or 0) + 1 end
    assert.same({ 3, 3, 1, 1 }, { count[0], count[5], count[1], count[9] })
  end)
end)

-- Steps that need more than 31 bits, or 53.
local wide_steps = {
  2147483646, 2147483647, 2147483648, 2147483649, 2147483650, 10000000000,
  9007199254740991, 9007199254740993, math.maxinteger - 1, math.maxinteger, math.mininteger, -1,
}

describe("case 76: a step past 2^31", function()
  after_each(rig.clean)

  it("has the same digits everywhere", function()
    local r = rig.new()
    r:script("hb.lua", [[
function set_params() end
function handle(event, env)
  hotcb.log("info", "step %d %s", env.step, math.type(env.step))
  hotcb.scalar("step", env.step)
  hotcb.scalar("other", 1.5, env.step)
end]])
    r:load("hb")
    for _, step in ipairs(wide_steps) do
      r:step(("%d"):format(step))
      r:send { op = "set_params", id = "hb", params = { at = step } }
      r:apply()
      assert.equal(("step %d integer"):format(step), r:said("hb"))
      assert.equal(step, r:status().step)
      assert.equal(step, r:ledger()[#r:ledger()].step)
      assert.equal(step, r:callback("hb").params.at)
      local metrics = r:metrics()
      local a, b = metrics[#metrics - 1], metrics[#metrics]
      assert.same({ step, step, step, 1.5 }, { a.step, a.value, b.step, b.value })
      assert.truthy(r:tool_alone("status").out:gsub("[ ,_]", ""):find(("%d"):format(step), 1, true))
      assert.equal(step, json.decode(r:tool_alone("status", "--json").out).step)
    end
  end)

  it("is counted by schedules as any other", function()
    for _, first in ipairs { 2147483640, 10000000000, 9007199254740990, math.maxinteger - 30,
                             -9007199254740990, math.mininteger } do
      local r = rig.new()
      r:script("due.lua", scripts.due)
      r:step(("%d"):format(first))
      r:load("due")
      r:apply(20)
      assert.same(due_by_rule(strided(first, 1, 21), 5), scripts.due_steps(r, "due"))
      rig.clean()
    end
  end)
end)

-- Seconds that the wall clock is moved by, one after the other.
local jumps = { -3600, 3600, -86400 * 365 * 20, 86400 * 365 * 30, 0 }

describe("case 81: a wall clock that jumps", function()
  after_each(rig.clean)

  -- Applies until the condition holds; looks are due every 100 ms, so that a clock
  -- that counted would hold them up for an hour.
  local function apply_until(r, what, condition)
    shell.wait(what, function()
      r:apply()
      return condition()
    end)
  end

  it("stops no look, and no duration is negative", function()
    local folder = rig.scratch()
    shell.write(folder .. "/shift", "0")
    local r = rig.new {
      args = { "--poll-ms", 100 },
      env = { LD_PRELOAD = rig.shim_path, SHIM_CLOCK = folder .. "/shift",
              ASAN_OPTIONS = "verify_asan_link_order=0" },
    }
    r:script("hb.lua", [[
VERSION = "v1"
local last = hotcb.clock()
function handle(event, env)
  local now = hotcb.clock()
  hotcb.log("info", "hb %s %s", VERSION, now >= last and now - last < 1800 and "fine" or "BAD")
  hotcb.scalar("x", 1)
  last = now
end]])
    r:send { op = "load", id = "hb", target = { kind = "lua_file", path = "hb.lua" } }
    apply_until(r, "the load", function() return r:said("hb") end)
    for i, jump in ipairs(jumps) do
      shell.write(folder .. "/shift", tostring(jump))
      r:send { op = "set_params", id = "hb", params = { i = i } }
      r:sh(("sed -i 's/\"v%d\"/\"v%d\"/' hb.lua"):format(i, i + 1))
      apply_until(r, "the command", function() return #r:ledger { op = "set_params" } == i end)
      apply_until(r, "the edit", function() return r:said("hb"):match("hb v" .. i + 1) end)
      local status = r:status()
      assert.is_true(status.uptime_s >= 0 and status.uptime_s < 1800)
      local rate = status.steps_per_s
      assert.is_true(rate == nil or rate >= 0)
    end
    assert.same({}, r:log("BAD"))
    local times = {}
    for _, line in ipairs(r:ledger { op = "set_params" }) do times[#times + 1] = line.time end
    assert.is_true(times[2] > times[1] and times[3] < times[2], "the shim moved no clock")
    local answer = r:tool_alone("status")
    assert.equal(0, answer.code)
    assert.is_nil(answer.out:find("%-%d+ ?s ago"))
    assert.equal("on", r:callback("hb").state)
  end)
end)

-- What else may be alive when a host has died.
local leftovers = {
  ["nothing"] = function() end,
  ["a forked child that has all its files"] = function(r) return tonumber(r:ask("fork")) end,
}

describe("case 82: a host that was killed", function()
  after_each(rig.clean)

  local function killed_run(leave)
    local r = rig.new()
    r.killed = true
    r:script("hb.lua")
    r:load("hb")
    r:apply(9)
    local child = leave(r)
    local run = r:status().run
    r.host:kill()
    return r, run, child
  end

  for name, leave in pairs(leftovers) do
    it("is not said to be running, and the next one is a new run; left over: " .. name, function()
      local r, run, child = killed_run(leave)
      local status = r:tool_alone("status")
      assert.equal(0, status.code)
      assert.matches("not running", status.out)
      assert.matches("ago", status.out)
      local told = json.decode(r:tool_alone("status", "--json").out)
      assert.is_false(told.live)
      local set = r:tool_alone("set", "hb", "every=2")
      assert.equal(0, set.code)
      assert.matches("queued", set.out .. set.err)
      assert.matches("no live run", set.out .. set.err)

      r:start()
      assert.matches("^0", r.host.opened)
      r:load("hb")
      assert.not_equal(run, r:status().run)
      assert.matches(r:status().run, r:tool_alone("status").out, 1, true)
      local lines, now = r:ledger(), r:status().run
      assert.same({ run, now, now }, { lines[1].run, lines[2].run, lines[3].run })
      assert.equal("set_params hb rejected", r:verdicts()[2])
      if child then
        assert.is_true(shell.alive(child))
        shell.must("kill -9 " .. child)
      end
    end)
  end

  it("nor if its pid is somebody else's now", function()
    local r = killed_run(function() end)
    local stranger = rig.new()
    local text = r:read("hotcb.status.json"):gsub('"pid":%d+', '"pid":' .. stranger.host.pid)
    r:write("hotcb.status.json", text)
    r:write("hotcb.lock", (r:read("hotcb.lock"):gsub("%d+", stranger.host.pid)))
    assert.matches("not running", r:tool_alone("status").out)
    r:start()
    assert.matches("^0", r.host.opened)
  end)

  it("and one that closed in good order is said to be closed", function()
    local r = rig.new()
    r:apply()
    r.host:quit()
    local status = r:tool_alone("status")
    assert.equal(0, status.code)
    assert.matches("ended .* ago at step 0", status.out)
    assert.equal("closed", r:status().state)
  end)
end)
