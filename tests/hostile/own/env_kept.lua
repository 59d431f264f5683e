-- expect: ok|disabled, reason=runtime
-- env and its groups, kept beyond the call, written into, and asked from every side
if kept then
  for _, e in ipairs(kept) do pcall(function() return e.step, e.metrics.x, #e end) pcall(pairs, e) end
end
if not env then return end
kept = { env, env.metrics, env.grads }
for _, e in ipairs(kept) do
  for i = 1, 2000 do e["k" .. i] = ("v"):rep(100) rawset(e, i, e) end
  for k in pairs(e) do e[k] = nil end
  assert(not pcall(setmetatable, e, {}))
  assert(getmetatable(e) == false)
  e[1], e[2.5], e[{}], e[print] = e, e, e, e
  pcall(function() e[nil] = 1 end)
  pcall(function() e[0 / 0] = 1 end)
  rawset(e, "step", "text")
  rawset(e, "log", 1)
end
env.metrics = nil
env.metrics = 5
local _ = env.metrics
