-- expect: ok|disabled, reason=syntax|runtime|budget
local spin = function() while true do end end
local mt = { __index = spin, __len = spin, __pairs = spin, __next = spin, __eq = spin }
return setmetatable({ params = setmetatable({ setmetatable({ "a", 1 }, mt) }, mt), handle = function() end },
  { __newindex = spin })
