-- expect: ok
-- no way around setmetatable to a finalizer: neither a late field, nor a metatable's own metatable
local function spin() while true do end end
assert(not pcall(setmetatable, {}, { __gc = spin }))
assert(not pcall(setmetatable, {}, { __gc = false }))
local mt = setmetatable({}, { __index = { __gc = spin } })
local kept = setmetatable({}, mt)
rawset(mt, "__gc", spin)
local again = pcall(setmetatable, kept, mt)
assert(not again)
for i = 1, 5e4 do
  local t = setmetatable({}, {})
  getmetatable(t).__gc = spin
end
