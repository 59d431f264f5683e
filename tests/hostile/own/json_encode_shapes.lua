-- expect: ok|disabled, reason=budget
local loop = {}
loop.loop = loop
loop[1] = loop
local deep = {}
for i = 1, 5000 do deep = { deep } end
local wide = {}
for i = 1, 40 do wide = { wide, wide } end
local odd = setmetatable({}, { __index = function() while true do end end, __len = function() return 1 << 60 end,
  __pairs = function() while true do end end })
for _, v in ipairs { loop, deep, wide, { odd }, { [1.5] = 1 }, { [1] = 1, x = 2 }, { print }, { 0 / 0, 1 / 0 }, { ["\0"] = 1 },
  { ["\xff"] = "\xff" }, { [1] = 1, [1e9] = 2 } } do
  pcall(hotcb.json.encode, v)
end
