-- expect: disabled, reason=budget|memory
-- a chain through 25,000 weak-keyed tables: the collector's atomic phase takes seconds
local first = {}
local key, tables = first, {}
for i = 1, 25000 do
  local value = {}
  tables[i] = setmetatable({ [key] = value }, { __mode = "k" })
  key = value
end
for i = 1, #tables // 2 do tables[i], tables[#tables - i + 1] = tables[#tables - i + 1], tables[i] end
while true do local t = { {}, {}, {} } end
