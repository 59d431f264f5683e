-- expect: disabled, reason=runtime|memory|budget
-- a stack as deep as it gets, when the traceback is made
local function f(n)
  local a, b, c, d, e = n, n, n, n, n
  local r = f(n + 1)
  return r + a + b + c + d + e
end
f(1)
