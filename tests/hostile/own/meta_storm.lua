-- expect: disabled, reason=budget|runtime
-- every metamethod there is calls the next
local ops = { "__index", "__newindex", "__call", "__add", "__concat", "__len", "__eq", "__lt", "__le",
  "__unm", "__tostring", "__close" }
local t = {}
local mt = {}
for _, op in ipairs(ops) do
  mt[op] = function(a, b)
    local o = setmetatable({}, mt)
    pcall(function() return a.x end)
    pcall(function() a.y = 1 end)
    pcall(function() return a(1) end)
    pcall(function() return a + 1, a .. 1, #a, a == o, a < o, -a, tostring(a) end)
    local c <close> = o
    return o
  end
end
setmetatable(t, mt)
while true do pcall(function() return t.z end) end
