-- grad_histogram.lua: how the elements of each gradient are spread, as histograms for whatever
-- reads hotcb.media.jsonl: grads/NAME.
local util = require "hotcb.util"

local GradHistogram = {
  name = "GradHistogram",
  params = {
    { "every", 200, min = 0, unit = "steps", help = "0 = never" },
    { "bins", 40, min = 1, max = 4096, help = "intervals from the least to the greatest" },
    { "only", "", help = "a part of the names to take, as in layers.0; all if it is empty" },
  },
  schedule = "every",
  events = { "grads_ready", "train_step_end" },
}

-- Where a host has gradients before the update, they are taken there and only there.
function GradHistogram:handle(event, env)
  if self.has_ready and event ~= "grads_ready" then return end
  local n = 0
  for name, grad in pairs(env.grads) do
    if util.is_tensor(grad) and name:find(self.only, 1, true) then
      hotcb.histogram("grads/" .. name:sub(-244), grad:histogram(self.bins)) -- 250 bytes at most
      n = n + 1
    end
  end
  if event == "grads_ready" and n == 0 then return end
  self.has_ready = event == "grads_ready"
  env.log("[%s] %d histograms of gradients at step %d", self.id, n, env.step or 0)
end

return GradHistogram
