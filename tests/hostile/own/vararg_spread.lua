-- expect: disabled, reason=budget|memory|runtime
local function id(...) return ... end
local t = {}
for i = 1, 4000 do t[i] = i end
while true do
  pcall(function() return id(id(table.unpack(t)), select(2, table.unpack(t))) end)
  pcall(string.char, table.unpack(t))
  pcall(math.max, table.unpack(t))
  pcall(table.pack, table.unpack(t))
  pcall(select, -1, table.unpack(t))
end
