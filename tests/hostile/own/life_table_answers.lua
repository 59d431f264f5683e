-- expect: ok|disabled, reason=syntax|runtime|budget
-- a callback that is another thing each time it is asked
local n = 0
return setmetatable({}, {
  __index = function(_, k)
    n = n + 1
    if k == "handle" then return n % 2 == 1 and function() end or setmetatable({}, { __call = error }) end
    if k == "params" or k == "events" or k == "name" or k == "schedule" then return nil end
    return n % 3 == 0 and n or function() return setmetatable({}, { __index = error }) end
  end,
  __newindex = function() n = n + 1 end,
})
