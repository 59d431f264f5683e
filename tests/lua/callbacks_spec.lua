-- What the shipped and the example callbacks say, row by row: values, event, env, line.
local support = require "lua.support"

local rows = {
  { "callbacks/heartbeat.lua", "hb", {}, "train_step_end",
    { step = 50, epoch = 1, phase = "train" },
    "[hotcb:hb] alive event=train_step_end step=50 epoch=1.000 phase=train" },
  { "callbacks/heartbeat.lua", "hb", { message = "100 % alive" }, "train_step_end",
    { step = 9007199254740993, epoch = 0.25, phase = "val" },
    "[hotcb:hb] 100 % alive event=train_step_end step=9007199254740993 epoch=0.250 phase=val" },
  -- What is missing reads as in 0.1.0.
  { "callbacks/heartbeat.lua", "hb", {}, "train_step_end", {},
    "[hotcb:hb] alive event=train_step_end step=0 epoch=0.000 phase=None" },
  { "callbacks/heartbeat.lua", "hb", {}, "train_step_end", { step = 1, epoch = "x" },
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
      local callback = support.load(path, id, values)
      local env, lines = support.env(fields)
      callback:handle(event, env)
      assert.same({ line }, lines)
    end)
  end

  it("declares the parameters of 0.1.0", function()
    local heartbeat = support.load("callbacks/heartbeat.lua", "hb")
    assert.equal("HeartbeatCallback", heartbeat.name)
    assert.equal(50, heartbeat.every)
    assert.equal("alive", heartbeat.message)
    assert.equal("every", heartbeat.schedule)
  end)
end)
