-- expect: disabled, reason=budget|memory
local t = {}
while true do
  for i = 1, 130000 do t[i * 1.5] = i end
  for k in next, t do t[k] = nil end
  t.x = 1
  t.x = nil
end
