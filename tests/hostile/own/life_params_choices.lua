-- expect: ok|disabled, reason=syntax|runtime|memory|budget
local list, params = {}, {}
for i = 1, 150000 do list[i] = i end
for i = 1, 256 do params[i] = { "p" .. i, 1, choices = list } end
return { params = params, handle = function() end }
