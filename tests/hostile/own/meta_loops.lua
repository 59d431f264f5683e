-- expect: disabled, reason=budget
-- C functions that ask metamethods: each must notice the stop
local spin = function() while true do end end
local t = setmetatable({}, { __len = function() return 1000 end, __index = function(_, i) return i end,
  __newindex = function() end, __lt = function() return true end, __eq = spin, __le = spin,
  __concat = function(a, b) return "x" end, __pairs = function(x) return next, {}, nil end })
while true do
  pcall(table.concat, t, "")
  pcall(table.sort, t)
  pcall(table.unpack, t)
  pcall(table.insert, t, 1, 1)
  pcall(table.remove, t, 1)
  pcall(table.move, t, 1, 1000, 2)
  for _ in pairs(t) do end
end
