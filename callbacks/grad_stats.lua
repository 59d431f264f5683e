-- grad_stats.lua: one norm over all gradients, their largest element, how many parameters have
-- a gradient, and how many of these hold a NaN or an infinity. The same as scalars: grad/norm,
-- grad/max_abs, grad/nan_params, and with per_param grad/norm/NAME and grad/max_abs/NAME.
local util = require "hotcb.util"

local GradStats = {
  name = "GradStatsCallback",
  params = {
    { "every", 200, min = 0, unit = "steps", help = "0 = never" },
    { "norm_type", 2.0, choices = { 1, 2, math.huge }, max = math.huge, help = "inf: the largest" },
    { "per_param", false, help = "a line and scalars for each gradient too" },
  },
  schedule = "every",
  events = { "grads_ready", "train_step_end" },
}

-- One pass over it, and a second one for the norm of order 1.
local function measure(grad, p)
  local s = grad:stats()
  local max_abs = s.inf > 0 and math.huge or math.max(0, 0.0 - s.min, s.max)
  local norm = p == 1 and grad:norm(1) or p == 2 and s.inf == 0 and s.l2 or max_abs
  return s.nan > 0 and 0 / 0 or norm, max_abs, s.nan + s.inf
end

local function combine(a, b, p) -- by parts of the larger one, whose square may be no number
  local m = (b > a or b ~= b) and b or a
  return m > 0 and m < math.huge and m * ((a / m) ^ p + (b / m) ^ p) ^ (1 / p) or m
end

function GradStats:say(env, what, suffix, norm, max_abs, more)
  env.log("[hotcb:%s] grad %s norm=%s max_abs=%s %s", self.id, what, util.show(norm, 4),
    util.show(max_abs, 4), more)
  util.log_scalar(env, "grad/norm" .. suffix, norm) -- where the name is not too long for a key
  util.log_scalar(env, "grad/max_abs" .. suffix, max_abs)
end

-- Where a host has gradients before the update, they are looked at there and only there.
function GradStats:handle(event, env)
  if self.has_ready and event ~= "grads_ready" then return end
  local p, norm, max_abs, with, total, bad = self.norm_type, 0, 0, 0, 0, 0
  for name, grad in pairs(env.grads) do
    if util.is_tensor(grad) then
      local n, most, odd = measure(grad, p)
      norm, max_abs, with = combine(norm, n, p), math.max(max_abs, most), with + 1
      if odd > 0 then bad = bad + 1 end
      if self.per_param then self:say(env, name, "/" .. name, n, most, "nan_or_inf=" .. odd) end
    end
  end
  if event == "grads_ready" and with == 0 then return end
  self.has_ready = event == "grads_ready"
  for name, weight in pairs(env.model) do
    if util.is_tensor(weight) and env.grads[name] == nil then total = total + 1 end
  end
  self:say(env, ("event=%s step=%d"):format(event, env.step or 0), "", norm, max_abs,
    ("grads=%d/%d nan_params=%d"):format(with, total + with, bad))
  hotcb.scalar("grad/nan_params", bad)
end

return GradStats
