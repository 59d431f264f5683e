-- What timing says of steps that take as long as a row has it.
local pack = require "support.pack"
local testing = require "hotcb.testing"

local path = "callbacks/timing.lua"

-- A step at each {step, seconds on the clock}.
local function steps(...)
  local list = { ... }
  return function(cb)
    for _, at in ipairs(list) do
      cb.now = at[2]
      cb:step(at[1])
    end
  end
end

-- A step from first to last, each so long.
local function even(first, last, seconds)
  return function(cb)
    for step = first, last do
      cb:step(step)
      cb.now = cb.now + seconds
    end
  end
end

local function line(step, dt, mean, p50, p95, n, rate)
  return ("[hotcb:x] timing event=train_step_end step=%d dt=%ss mean=%ss p50=%ss p95=%ss (n=%d) "
    .. "steps/s=%s"):format(step, dt, mean, p50, p95, n, rate)
end

describe("timing", function()
  pack.declares(it, path, "TimingCallback", { every = 50, window = 200 })

  pack.rows(it, path, {
    { "says how long steps take", even(0, 50, 0.5),
      lines = { line(50, 0.5, 0.5, 0.5, 0.5, 50, 2) },
      scalars = { ["timing/mean_s"] = 0.5, ["timing/p50_s"] = 0.5, ["timing/p95_s"] = 0.5,
                  ["timing/steps_per_s"] = 2.0 } },
    { "has the percentiles of 0.1.0", init = { every = 4 },
      steps({ 0, 0 }, { 1, 1 }, { 2, 3 }, { 3, 6 }, { 4, 10 }),
      lines = { line(4, 4, 2.5, 3, 3, 4, 0.4) } },
    { "looks back at its window only", init = { every = 4, window = 2 },
      steps({ 0, 0 }, { 1, 10 }, { 2, 20 }, { 3, 21 }, { 4, 24 }),
      lines = { line(4, 3, 2, 3, 1, 2, 0.5) } },
    { "shares a stride among its steps", init = { every = 10 },
      steps({ 0, 0 }, { 7, 7 }, { 14, 21 }, { 21, 28 }),
      lines = { line(14, 2, 1.5, 2, 1, 2, 0.6667), line(21, 1, 1.333, 1, 1, 3, 0.75) } },
    { "takes a repeated step as one", init = { every = 2 },
      steps({ 0, 0 }, { 0, 1 }, { 1, 2 }, { 1, 2.5 }, { 2, 4 }, { 2, 5 }),
      lines = { line(2, 2, 2, 2, 2, 2, 0.5) } },
    { "begins again where steps go back", init = { every = 2 },
      steps({ 4, 0 }, { 5, 1 }, { 1, 100 }, { 2, 101 }),
      lines = { line(2, 1, 1, 1, 1, 2, 1) } },
    { "counts by itself where the host has no steps", init = { every = 2 },
      function(cb)
        for now = 0, 3 do
          cb.now = now
          cb:emit("train_step_end", {})
        end
      end,
      lines = { line(2, 1, 1, 1, 1, 2, 1) } },
    { "says nothing with every=0", init = { every = 0 }, even(0, 9, 1), lines = {}, scalars = {} },
    { "takes a new interval at once", init = { every = 100 }, even(0, 2, 1),
      function(cb) cb:set("every=1") end, even(3, 4, 2),
      lines = { line(3, 1, 1, 1, 1, 3, 1), line(4, 2, 1.25, 1, 1, 4, 0.8) } },
    { "keeps the latest steps in a smaller window", init = { every = 100, window = 5 },
      steps({ 0, 0 }, { 1, 1 }, { 2, 2 }, { 3, 3 }, { 4, 7 }, { 5, 15 }, { 6, 31 }),
      function(cb) cb:set("window=2", "every=1") end, steps({ 7, 63 }),
      lines = { line(7, 32, 24, 32, 16, 2, 0.04167) } },
    { "keeps all of them in a larger one", init = { every = 100, window = 2 },
      steps({ 0, 0 }, { 1, 1 }, { 2, 3 }, { 3, 7 }), function(cb) cb:set("window=3", "every=1") end,
      steps({ 4, 15 }, { 5, 31 }),
      lines = { line(4, 8, 4.667, 4, 4, 3, 0.2143), line(5, 16, 9.333, 8, 8, 3, 0.1071) } },
    { "keeps its window over an edit", init = { every = 2 }, steps({ 0, 0 }, { 1, 3 }),
      function(cb) assert(cb:reload()) end, steps({ 2, 100 }, { 3, 101 }, { 4, 102 }),
      lines = { line(4, 1, 1.667, 1, 1, 3, 0.6) } },
  })

  it("does next to nothing at a step that it says nothing about", function()
    local cb, n = testing.load(pack.root .. path), 0
    even(0, 5, 1)(cb)
    debug.sethook(function()
      if debug.getinfo(2, "S").source:find("callbacks/timing.lua", 1, true) then n = n + 1 end
    end, "", 1)
    cb:step(6)
    debug.sethook()
    assert.is_true(n > 0 and n < 60, n .. " instructions")
  end)
end)
