-- expect: disabled, reason=runtime|budget
local t = setmetatable({}, { __name = ("n"):rep(1000000), __tostring = function() error(1) end })
pcall(tostring, t)
pcall(string.format, "%s", t)
t()
