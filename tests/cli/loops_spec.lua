-- The loops of other libraries (examples/fann_train.c, examples/xgboost_train.c): they
-- are steered as any other, few of their lines are there for hotcb, and it changes
-- nothing of what they learn.
local json = require "support.json"
local rig = require "support.rig"
local shell = require "support.shell"

-- `metrics`: what env.metrics holds; `steps`: how many steps a run made that ended with
-- this output; `result`: the line of it that says what was learnt.
local loops = {
  fann_train = {
    variable = "HOTCB_TEST_FANN", package = "libfann-dev", first_step = 1,
    metrics = { "bit_fail", "learning_rate" },
    steps = function(output) return output:match("^(%d+) epochs, MSE %S+\n$") end,
    result = function(output) return assert(output:match("MSE %S+"), output) end,
  },
  xgboost_train = {
    variable = "HOTCB_TEST_XGBOOST", package = "libxgboost-dev", first_step = 0,
    metrics = { "eval-error", "eval-logloss", "train-error", "train-logloss" },
    steps = function(output)
      return output:match("\n%[(%d+)%]\ttrain%-logloss:%S+\t[^\n]+\n$") + 1
    end,
    result = function(output) return assert(output:match("\n%[%d+%]\t([^\n]+)\n$"), output) end,
  },
}

-- Says what it sees, and hands it on as scalars.
local watch = [[
local Watch = { params = { { "every", 1, min = 1 }, { "word", "seen" } }, schedule = "every" }
function Watch:handle(event, env)
  local names = {}
  for name, value in pairs(env.metrics) do
    names[#names + 1] = name
    hotcb.scalar(name, value)
  end
  table.sort(names)
  if env.loss then hotcb.scalar("loss", env.loss) end
  env.log("[%s] %s %s step=%s phase=%s loss=%s metrics=%s", self.id, self.word, event, env.step,
    env.phase, math.type(env.loss), table.concat(names, ","))
end
return Watch
]]

-- Stops a run whose loss has come below a limit.
local enough = [[
local Enough = { params = { { "below", 0, min = 0 } }, events = { "train_step_end" } }
function Enough:handle(event, env)
  if env.loss < self.below then hotcb.stop(("loss %.3f is enough"):format(env.loss)) end
end
return Enough
]]

local watched_yaml = [[
callbacks:
  watch: { target: { kind: lua_file, path: watch.lua } }
  heartbeat: { target: { kind: module, path: hotcb.callbacks.heartbeat }, init: { every: 7 } }
]]

local function source_lines(name)
  local text = assert(shell.read(os.getenv "HOTCB_TEST_SOURCE" .. "/examples/" .. name .. ".c"))
  return text:gsub("/%*.-%*/", ""):gmatch("[^\n]+")
end

-- Starts a loop in the background. A run that nobody ends, ends itself.
local function start(r, loop, dir, steps, sleep_ms)
  return shell.start(shell.words { "timeout", 300, os.getenv(loop.variable), dir, steps, sleep_ms },
                     r.folder)
end

local function run(r, loop, dir, steps)
  local answer = start(r, loop, dir, steps, 0).collect()
  assert.equal(0, answer.code, answer.err)
  assert.equal(steps, math.tointeger(loop.steps(answer.out)), answer.out)
  return answer
end

-- A run without hotcb: its run directory cannot be had.
local function plain(r, loop, steps)
  shell.write(r.folder .. "/file", "")
  local answer = run(r, loop, r.folder .. "/file", steps)
  assert.matches("training without hotcb: .*file", answer.err)
  return loop.result(answer.out)
end

local function is_live(r)
  local status = r:tool_alone("status", "--json")
  assert(status.code == 0 or status.code == 4, status.err) -- 4: no such run, yet
  return status.code == 0 and json.decode(status.out).live
end

-- What the tool says when all went well; it waits for the run's answer.
local function must(r, ...)
  local answer = r:tool_alone(rig.patient(...))
  assert.equal(0, answer.code, answer.err)
  return answer.out
end

local function wait_for(job, pattern)
  return shell.wait(pattern, function() return shell.read(job.base .. ".err"):match(pattern) end)
end

local function scalars(r)
  local found = {}
  for _, line in ipairs(r:metrics()) do found[line.key] = line.value end
  return found
end

for name, loop in pairs(loops) do
  describe(name, function()
    local r

    before_each(function() r = rig.new { host = false } end)
    after_each(rig.clean)

    local function test(what, body)
      if os.getenv(loop.variable) then
        it(what, body)
      else
        pending(("%s: %s was not built, it needs %s"):format(what, name, loop.package))
      end
    end

    it("has fewer than 15 lines for hotcb", function()
      local lines = 0
      for line in source_lines(name) do lines = lines + (line:find("hotcb") and 1 or 0) end
      assert.is_true(lines > 5 and lines < 15, lines .. " lines")
    end)

    test("learns the same without hotcb, with it, and with callbacks", function()
      local steps = 60
      local expected = plain(r, loop, steps)
      assert.equal(expected, loop.result(run(r, loop, r.folder .. "/idle", steps).out))

      r:script("watch.lua", watch)
      r:yaml(watched_yaml)
      local answer = run(r, loop, r.dir, steps)
      assert.equal(expected, loop.result(answer.out))
      assert.matches("alive event=train_step_end step=14 ", answer.err, 1, true)
      assert.same({ "fit_start", "train_step_end", "fit_end" }, r:status().events)
      local seen = scalars(r)
      for _, metric in ipairs(loop.metrics) do assert.is_number(seen[metric], metric) end
      assert.is_number(seen.loss)
    end)

    test("is steered while it runs, and ends when a callback says so", function()
      shell.write(r.folder .. "/watch.lua", watch)
      shell.write(r.folder .. "/enough.lua", enough)
      local job = start(r, loop, r.dir, 100000, 2)
      shell.wait("the run", function() return is_live(r) end)

      must(r, "load", "watch", "--file", r.folder .. "/watch.lua", "--enabled")
      wait_for(job, "%[watch%] seen train_step_end step=%d+ phase=train loss=float metrics=" ..
                    table.concat(loop.metrics, ","):gsub("%-", "%%-"))
      assert.matches("applied at step %d+", must(r, "set", "watch", "every=3", "word=heard"))
      local step = wait_for(job, "%[watch%] heard train_step_end step=(%d+)")
      assert.is_true(tonumber(step) >= loop.first_step)
      assert.equal(1, r:tool_alone("set", "--wait", "watch", "every=0").code)

      must(r, "load", "enough", "--file", r.folder .. "/enough.lua", "--enabled")
      assert.is_false(job.done())
      must(r, "set", "enough", "below=1000")
      local answer = job.collect()
      assert.equal(0, answer.code, answer.err)
      assert.matches("enough asks the run to stop: loss %d%.%d+ is enough", answer.err)
      assert.equal("closed", r:status().state)

      -- As many steps, undisturbed, have led to the same.
      local steps = math.tointeger(loop.steps(answer.out))
      assert.equal(plain(r, loop, steps), loop.result(answer.out))
    end)
  end)
end
