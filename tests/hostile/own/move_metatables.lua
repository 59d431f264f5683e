-- expect: disabled, reason=budget
local t = setmetatable({}, { __index = function() return 1 end, __newindex = function() end })
while true do pcall(table.move, t, 1, math.maxinteger - 1, 1, t) end
