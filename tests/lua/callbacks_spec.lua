-- What the shipped and the example callbacks say, row by row: values, event, env, line.
local testing = require "hotcb.testing"

local root = os.getenv("HOTCB_TEST_SOURCE") .. "/"

local rows = {
  { "callbacks/heartbeat.lua", "hb", {}, "train_step_end",
    { step = 50, epoch = 1, phase = "train" },
    "[hotcb:hb] alive event=train_step_end step=50 epoch=1.000 phase=train" },
  { "callbacks/heartbeat.lua", "hb", { message = "100 % alive", every = 1 }, "train_step_end",
    { step = 9007199254740993, epoch = 0.25, phase = "val" },
    "[hotcb:hb] 100 % alive event=train_step_end step=9007199254740993 epoch=0.250 phase=val" },
  -- What is missing reads as in 0.1.0.
  { "callbacks/heartbeat.lua", "hb", {}, "train_step_end", {},
    "[hotcb:hb] alive event=train_step_end step=0 epoch=0.000 phase=None" },
  { "callbacks/heartbeat.lua", "hb", { every = 1 }, "train_step_end", { step = 1, epoch = "x" },
    "[hotcb:hb] alive event=train_step_end step=1 epoch=0.000 phase=None" },
  { "examples/callbacks/print_metrics.lua", "pm", {}, "train_step_end",
    { step = 100, batch_idx = 3 },
    "[metrics] id=pm step=100 event=train_step_end batch_idx=3" },
  { "examples/callbacks/print_metrics.lua", "pm", { prefix = "[debug]" }, "train_step_end",
    { step = 0 },
    "[debug] id=pm step=0 event=train_step_end batch_idx=nil" },
}

describe("a callback", function()
  for i, row in ipairs(rows) do
    local path, id, values, event, fields, line = table.unpack(row)
    it("says what it says: " .. path .. ", row " .. i, function()
      local cb = testing.load(root .. path, { id = id, params = values })
      assert.is_true(cb:emit(event, fields))
      assert.same({ line }, cb.lines)
    end)
  end

  it("declares the parameters of 0.1.0", function()
    local heartbeat = testing.load("hotcb.callbacks.heartbeat", { id = "hb" })
    assert.equal("HeartbeatCallback", heartbeat.name)
    assert.same({ every = 50, message = "alive" }, heartbeat.params)
    assert.same({ 0, 50, 100 }, heartbeat:steps(0, 149))
  end)
end)
