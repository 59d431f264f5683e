-- expect: disabled, reason=budget|memory|runtime
-- chains of __index and __newindex as long as Lua lets them be, walked for ever
local t = {}
for i = 1, 1990 do t = setmetatable({}, { __index = t, __newindex = t }) end
while true do pcall(function() t.x = t.y end) end
