-- expect: disabled, reason=runtime|budget
local function f() return (string.gsub("x", "x", f)) end
f()
