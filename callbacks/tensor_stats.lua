-- tensor_stats.lua: statistics of what stands at some paths of env, be it tensors or numbers.
-- A path is as in "loss", "outputs.logits", "grads.layers.0.weight", or a group, "grads".
local util = require "hotcb.util"

local TensorStats = {
  name = "TensorStatsCallback",
  params = {
    { "every", 100, min = 0, unit = "steps", help = "0 = never" },
    { "paths", { "loss" }, help = "what of env; a group is all in it" },
    { "prefix", "", help = "stands before each path" },
  },
  schedule = "every",
  events = { "grads_ready", "train_step_end" },
}

function TensorStats:set_params(changed)
  self.early = {}                                -- told at grads_ready of this step
  if changed.paths then self.missed = {} end     -- said to be nowhere
end

function TensorStats:tell(env, path, missing)
  local found = false
  for name, value in util.each(env, { path }, missing) do
    env.log("[hotcb:%s] %s%s: %s", self.id, self.prefix, name, util.describe(value))
    found = true
  end
  return found
end

function TensorStats:miss(env, path)
  if self.missed[path] then return end
  self.missed[path] = true
  env.log("[hotcb:%s] %s%s: the host has set nothing there", self.id, self.prefix, path)
end

-- Gradients are told where they are alive, all else at the end of the step, and so are
-- gradients that were not there before it.
function TensorStats:handle(event, env)
  local told = self.early
  self.early = {}
  for i, path in pairs(self.paths) do
    if event ~= "grads_ready" then
      if not told[i] then self:tell(env, path, function(name) self:miss(env, name) end) end
    elseif tostring(path):find("^%s*grads%f[.\0]") then
      self.early[i] = self:tell(env, path)
    end
  end
end

return TensorStats
