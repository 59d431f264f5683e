-- expect: disabled, reason=budget|memory
-- closures that share and outlive their variables, by the ten thousand
local all = {}
while true do
  local a, b, c = {}, {}, {}
  local function f() return a, b, c end
  local function g() a, b, c = b, c, f end
  all[#all % 40000 + 1] = { f, g }
  g()
end
