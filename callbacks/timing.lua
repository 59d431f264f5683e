-- timing.lua: how long a step takes. dt is the last one, mean, p50 and p95 are of the last
-- `window` of them, in seconds from one step to the next, whatever lies between. The same as
-- scalars: timing/mean_s, timing/p50_s, timing/p95_s, timing/steps_per_s.
local Timing = {
  name = "TimingCallback",
  params = {
    { "every", 50, min = 0, unit = "steps", help = "0 = never" },
    { "window", 200, min = 1, max = 10000, unit = "steps", help = "how many are looked back at" },
  },
  events = { "train_step_end" },
  dt = {}, at = 0, step = -1, -- dt is a ring, at the place of the latest
}

-- Each step comes here: a stride of n steps counts as one that took an n-th of its time, the
-- same step again as part of it, and one that went back begins a new count.
function Timing:handle(event, env)
  local step, now = env.step or self.step + 1, hotcb.clock()
  local ahead, last, every = step - self.step, self.last, self.every
  if ahead == 0 then return end
  self.step, self.last = step, now
  if ahead < 0 or not last then return end
  local at = self.at % self.window + 1
  self.dt[at], self.at = (now - last) / ahead, at
  if every > 0 and step // every ~= (step - ahead) // every then self:report(event, env) end
end

function Timing:report(event, env)
  local sorted, sum = table.move(self.dt, 1, #self.dt, 1, {}), 0
  table.sort(sorted)
  for _, dt in ipairs(sorted) do sum = sum + dt end
  local n, mean = #sorted, sum / #sorted
  local p50, p95 = sorted[n // 2 + 1], sorted[math.floor(0.95 * (n - 1)) + 1]
  env.log("[hotcb:%s] timing event=%s step=%d dt=%.4gs mean=%.4gs p50=%.4gs p95=%.4gs (n=%d) "
    .. "steps/s=%.4g", self.id, event, self.step, self.dt[self.at], mean, p50, p95, n, 1 / mean)
  hotcb.scalar("timing/mean_s", mean)
  hotcb.scalar("timing/p50_s", p50)
  hotcb.scalar("timing/p95_s", p95)
  hotcb.scalar("timing/steps_per_s", 1 / mean)
end

-- The latest ones are kept, in order, as many as the window has room for.
function Timing:set_params(changed)
  local dt, n = self.dt, #self.dt
  self.dt = {}
  for i = math.max(1, n - self.window + 1), n do
    self.dt[#self.dt + 1] = dt[(self.at + i - 1) % n + 1]
  end
  self.at = #self.dt
end

function Timing:save() return { dt = self.dt, at = self.at } end

function Timing:restore(saved)
  self.dt, self.at = saved.dt or {}, saved.at or 0
  self:set_params()
end

return Timing
