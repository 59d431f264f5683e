-- expect: disabled, reason=budget|memory|runtime
-- variables that are closed while others are, each with its own error and its own pcall
local function f(n)
  local a <close> = setmetatable({}, { __close = function(_, e)
    pcall(f, n - 1)
    error({ e })
  end })
  local b <close> = setmetatable({}, { __close = function() if n > 0 then f(n - 1) end end })
  error("x")
end
while true do pcall(f, 30) end
