-- expect: ok|disabled, reason=budget|memory|runtime
-- every function there is, with arguments nobody would give it
local max, min = math.maxinteger, math.mininteger
local rnd = math.random
math.randomseed((env.step or 0) * 7919 + 1)
local odd = setmetatable({}, { __index = function(_, k) return k end, __len = function() return rnd(-2, 50) end,
  __newindex = function() end, __lt = function() return rnd(2) == 1 end, __tostring = function() return "odd" end,
  __concat = function() return "c" end, __call = function(...) return ... end, __name = "odd" })
local marks = { "%", "[", "]", "^", "$", "*", "+", "-", "?", ".", "(", ")", "b", "f", "0", "1", "a", "d", "w", "\0", "x" }
local function pattern()
  local p = {}
  for i = 1, rnd(0, 9) do p[i] = marks[rnd(#marks)] end
  return table.concat(p)
end
local makers = {
  function() return rnd(-3, 12) end,
  function() return ({ max, min, max - 1, min + 1, 1 << 31, 1 << 32, -1, 0 })[rnd(8)] end,
  function() return ({ 0 / 0, 1 / 0, -1 / 0, 2 ^ 53, -0.0, 1e308, 0.5 })[rnd(7)] end,
  function() return ("ab\0\xff%"):rep(rnd(0, 40)) end,
  pattern, pattern,
  function() return ({ "%d", "%5.2s", "%q", "%99.99f", "%-10x%%", "%a", "%c", "%i%i%i", "%100d", "%", "%p" })[rnd(11)] end,
  function() return ({ "i16", "s1z", "!8 d", "Xi4", "c5", "<I3>n", "jTf", "b", "i17", "=s8" })[rnd(10)] end,
  function() return ({ 1, "b", {}, 2.5, false, "a" }) end,
  function() local t = {} for i = 1, rnd(0, 60) do t[i] = rnd(2) == 1 and i or "s" .. i end return t end,
  function() return odd end,
  function() return nil end,
  function() return rnd(2) == 1 end,
  function() return function(...) return ... end end,
  function() return ({ "append", "replace", "warn", "k", "#", "name.txt" })[rnd(6)] end,
}
local all = {}
for _, lib in ipairs { string, table, math, utf8, hotcb, hotcb.json, _G, coroutine or {} } do
  for name, f in pairs(lib) do
    if type(f) == "function" and f ~= math.randomseed and f ~= require then all[#all + 1] = { name, f } end
  end
end
table.sort(all, function(a, b) return a[1] < b[1] end)
for _ = 1, 20000 do
  local args, n = {}, rnd(0, 5)
  for i = 1, n do args[i] = makers[rnd(#makers)]() end
  pcall(all[rnd(#all)][2], table.unpack(args, 1, n))
end
