-- expect: disabled, reason=budget|memory
-- the largest values that may be turned into JSON, over and over: in C, out of reach of hooks
local row, t = {}, {}
for i = 1, 400 do row[i] = i end
for i = 1, 490 do t[i] = row end
while true do pcall(hotcb.json.encode, t) end
