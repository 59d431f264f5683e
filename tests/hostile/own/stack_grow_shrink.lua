-- expect: disabled, reason=budget|memory|runtime
-- the Lua stack grows to its largest, and is shrunk by each collection
local function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end
while true do
  pcall(deep, 150000)
  for i = 1, 2000 do local t = { i } end
end
