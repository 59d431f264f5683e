-- expect: ok|disabled, reason=syntax|runtime|memory|budget
-- one table as the default of every parameter: small in Lua, a copy each outside
local list, params = {}, {}
for i = 1, 150000 do list[i] = true end
for i = 1, 256 do params[i] = { "p" .. i, list, type = "list" } end
return { params = params, handle = function() end }
