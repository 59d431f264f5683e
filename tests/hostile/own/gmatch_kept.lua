-- expect: disabled, reason=budget
-- iterators that outlive their loop, over empty matches
local it = {}
local s = ("x"):rep(200000)
for i = 1, 100 do it[i] = s:gmatch("()x-()") end
while true do for i = 1, 100 do if not it[i]() then it[i] = s:gmatch("()x-()") end end end
