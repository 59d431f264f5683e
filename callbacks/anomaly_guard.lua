-- anomaly_guard.lua: watches tensors and plain numbers for NaN and infinities, gradients before
-- they reach the weights, where the host has grads_ready. What is not there is no anomaly.
local util = require "hotcb.util"

local AnomalyGuard = {
  name = "AnomalyGuardCallback",
  params = {
    { "every", 1, min = 0, unit = "steps", help = "0 = never" },
    { "paths", { "loss" }, help = "what of env to watch; a group is all in it, as in loss,grads" },
    { "raise_on_trigger", false, help = "stop the run, with the reason" },
    { "disable_after_trigger", false, help = "one alert, then off; `hotcb enable` watches again" },
  },
  events = { "grads_ready", "train_step_end", "val_step_end" },
  seen = {}, -- the last step, by event
}

-- With every=1 each call counts, also where the step stays the same, as in a validation.
local function is_due(self, event, step)
  local every, before = self.every, self.seen[event]
  self.seen[event] = step
  if every <= 1 or not step then return every > 0 end
  return step // every ~= (before or step - 1) // every
end

-- What is wrong with a value, or nil.
local function fault(value)
  if math.type(value) == "float" then
    if value - value == 0 then return nil end
    return "it is " .. (value ~= value and "NaN" or value > 0 and "Inf" or "-Inf")
  elseif util.is_tensor(value) then
    local s = value:stats()
    if s.nan + s.inf == 0 then return nil end
    return ("nan=%d inf=%d of %d in %s"):format(s.nan, s.inf, s.n, value)
  end
end

function AnomalyGuard:handle(event, env)
  if not is_due(self, event, env.step) then return end
  for name, value in util.each(env, self.paths) do
    local what = fault(value)
    if what then return self:alert(event, env, name, value, what) end
  end
end

function AnomalyGuard:alert(event, env, name, value, what)
  local step = env.step and ("%d"):format(env.step) or "?"
  hotcb.log("warn", "[hotcb:%s] ANOMALY DETECTED path=%s event=%s step=%s stats={%s}", self.id,
    name, event, step, util.describe(value))
  if self.raise_on_trigger then
    hotcb.stop(("[hotcb:%s] anomaly in %s at step %s (%s): %s"):format(self.id, name, step, event,
      what))
  end
  if self.disable_after_trigger then hotcb.disable() end
end

return AnomalyGuard
