-- expect: disabled, reason=budget
-- the fourth value of a generic for is closed on break, on error and on a stop
local spin = setmetatable({}, { __close = function() while true do end end })
while true do
  pcall(function() for _ in next, { 1 }, nil, spin do break end end)
end
