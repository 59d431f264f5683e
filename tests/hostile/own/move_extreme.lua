-- expect: ok|disabled, reason=budget|memory|runtime
local max, min = math.maxinteger, math.mininteger
for _, r in ipairs { { min, -1, 1 }, { 1, max, 2 }, { max, max, max }, { min, min, max }, { 0, max - 1, 1 },
  { 1, 100, max - 50 }, { -1, 1, min }, { max - 3, max, 1 } } do
  pcall(table.move, { 1, 2, 3 }, r[1], r[2], r[3])
  pcall(table.move, { 1, 2, 3 }, r[1], r[2], r[3], {})
end
