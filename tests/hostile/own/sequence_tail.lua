-- expect: disabled, reason=budget
-- the length of a table is looked for by halves; make it look often
local t = {}
for i = 1, 100000 do t[i] = i end
while true do
  t[#t + 1] = nil
  t[#t] = nil
  if #t < 10 then for i = 1, 100000 do t[i] = i end end
end
