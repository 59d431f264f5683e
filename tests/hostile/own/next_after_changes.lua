-- expect: ok|disabled, reason=budget|runtime
-- next over a table that is changed and collected meanwhile
local t = {}
for i = 1, 1000 do t[{}] = i t[i] = {} end
local k
for i = 1, 20000 do
  local ok, nk = pcall(next, t, k)
  k = ok and nk or nil
  if k then t[k] = nil end
  t[{}] = i
  if i % 100 == 0 then for j = 1, 2000 do local g = { j } end end
end
