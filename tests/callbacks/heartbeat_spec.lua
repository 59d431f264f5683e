-- What heartbeat says.
local pack = require "support.pack"
local testing = require "hotcb.testing"

local path = "callbacks/heartbeat.lua"

describe("heartbeat", function()
  pack.declares(it, path, "HeartbeatCallback", { every = 50, message = "alive" })

  pack.rows(it, path, {
    { "says that the run is alive",
      { "train_step_end", { step = 50, epoch = 1, phase = "train" } },
      lines = { "[hotcb:x] alive event=train_step_end step=50 epoch=1.000 phase=train" } },
    { "says it in other words", init = { message = "100 % alive", every = 1 },
      { "train_step_end", { step = 9007199254740993, epoch = 0.25, phase = "val" } },
      lines = { "[hotcb:x] 100 % alive event=train_step_end step=9007199254740993 epoch=0.250 "
        .. "phase=val" } },
    { "has what 0.1.0 has for what is missing", { "train_step_end", {} },
      lines = { "[hotcb:x] alive event=train_step_end step=0 epoch=0.000 phase=None" } },
    { "takes no text for an epoch", init = { every = 1 },
      { "train_step_end", { step = 1, epoch = "x" } },
      lines = { "[hotcb:x] alive event=train_step_end step=1 epoch=0.000 phase=None" } },
    { "takes new values at once", init = { every = 0 }, { "train_step_end", { step = 1 } },
      function(cb) cb:set("every=2", "message=here") end, { "train_step_end", { step = 2 } },
      lines = { "[hotcb:x] here event=train_step_end step=2 epoch=0.000 phase=None" } },
  })

  it("comes at each multiple", function()
    local cb = testing.load("hotcb.callbacks.heartbeat")
    assert.same({ 0, 50, 100 }, cb:steps(0, 149))
  end)
end)
