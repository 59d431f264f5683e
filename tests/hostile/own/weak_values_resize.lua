-- expect: ok|disabled, reason=budget|memory|runtime
-- tables that are cleared by the collector while they grow (5.4.4 crashes in an emergency collection)
local keep = {}
for i = 1, 1e9 do
  local t = setmetatable({}, { __mode = i % 2 == 0 and "kv" or "v" })
  for j = 1, 64 do t[j], t[{}] = { j }, { j } end
  keep[i % 512] = t
end
