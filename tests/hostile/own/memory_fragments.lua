-- expect: ok|disabled, reason=memory|budget
-- holes of one size, and requests for the next
local keep = {}
for size = 40, 4000, 40 do
  local new = {}
  for i = 1, 1000 do new[i] = ("f"):rep(size) .. i end
  for i = 1, #new do if i % 2 == 0 then keep[#keep + 1] = new[i] end end
  if #keep > 3000 then keep = {} end
end
