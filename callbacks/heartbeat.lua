-- heartbeat.lua: says every so many steps that the run is alive. Parameters and text
-- are those of HeartbeatCallback in hotcb 0.1.0, and so is what stands for a missing
-- value: step=0, epoch=0.000, phase=None.
local Heartbeat = {
  name = "HeartbeatCallback",
  params = {
    { "every", 50, min = 0, unit = "steps", help = "0 = never" },
    { "message", "alive", help = "what the line says" },
  },
  schedule = "every",
  events = { "train_step_end" },
}

function Heartbeat:handle(event, env)
  env.log("[hotcb:%s] %s event=%s step=%d epoch=%.3f phase=%s", self.id, self.message, event,
    env.step or 0, tonumber(env.epoch) or 0, env.phase or "None")
end

return Heartbeat
