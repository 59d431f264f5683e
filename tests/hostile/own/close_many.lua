-- expect: disabled, reason=budget|memory|runtime
-- hundreds of pending variables, closed by an error in the stop
local mt = { __close = function() while true do end end }
local function f(n)
  local a <close> = setmetatable({}, mt)
  local b <close> = setmetatable({}, mt)
  if n > 0 then return (f(n - 1)) end
  error("now")
end
pcall(f, 80)
