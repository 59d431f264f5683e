-- expect: disabled, reason=budget|memory|runtime
-- as many values across as there is stack for
local function f(...) while true do coroutine.yield(...) end end
local t = {}
for i = 1, 4000 do t[i] = i end
local function many(n, ...) if n == 0 then return ... end return many(n - 1, ..., table.unpack(t)) end
while true do
  local co = coroutine.create(f)
  pcall(coroutine.resume, co, many(3))
  pcall(coroutine.resume, co, many(3))
end
