-- dead_units.lua: how many units of a ReLU layer gave 0 for every sample of the batch, and so
-- learn nothing from it. The same as scalars: dead_units/PATH is their share.
local util = require "hotcb.util"

local DeadUnits = {
  name = "DeadUnits",
  params = {
    { "every", 100, min = 0, unit = "steps", help = "0 = never" },
    { "path", "outputs.layers.0", help = "a tensor (B,units,...) after the ReLU, or a group" },
    { "warn_above", 0.5, min = 0, max = 1, help = "a share of dead units that is worth a warning" },
  },
  schedule = "every",
  events = { "train_step_end" },
}

local function count_dead(activations, units)
  local dead = 0
  for unit = 1, units do
    if activations:slice(2, unit, unit):norm(math.huge) == 0 then dead = dead + 1 end
  end
  return dead
end

function DeadUnits:handle(event, env)
  local function nothing(path) env.log("[%s] no activations at %s", self.id, path) end
  for name, value in util.each(env, { self.path }, nothing) do
    local units = util.is_tensor(value) and value:shape()[2]
    if units and value:numel() > 0 then
      local dead = count_dead(value, units)
      util.log_scalar(env, "dead_units/" .. name, dead / units) -- not where it is too long a key
      hotcb.log(dead / units > self.warn_above and "warn" or "info",
        "[%s] dead units in %s at step %d: %d of %d (%.1f %%)", self.id, name, env.step or 0, dead,
        units, 100 * dead / units)
    end
  end
end

return DeadUnits
