-- expect: disabled, reason=budget
local f, g
function f(n) return g(n + 1) end
function g(n) return f(n - 1) end
return f(0)
