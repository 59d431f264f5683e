-- expect: ok
-- every name of stock Lua that reaches outside, by each way to a global
local names = { "os", "io", "debug", "package", "dofile", "loadfile", "load", "loadstring",
  "collectgarbage", "warn", "newproxy", "module", "setfenv", "getfenv", "arg", "jit", "ffi" }
for _, n in ipairs(names) do
  assert(_G[n] == nil, n)
  assert(rawget(_G, n) == nil, n)
  assert(_ENV[n] == nil, n)
end
assert(not string.dump)
for _, n in ipairs(names) do
  if n ~= "coroutine" then assert(not pcall(require, n), n) end
end
for _, n in ipairs { "../hostile", "/etc/passwd", "..hostile", ".hostile", "a/b", "", "a..b", "a\0b",
  "hotcb.yaml", "hotcb.status.json", ("x"):rep(5000) } do
  assert(not pcall(require, n), n)
end
assert(getmetatable("") == false)
assert(not pcall(setmetatable, "", {}))
assert(not pcall(setmetatable, print, {}))
