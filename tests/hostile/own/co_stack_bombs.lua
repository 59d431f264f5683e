-- expect: disabled, reason=budget|memory|runtime
-- many suspended coroutines with deep stacks of their own
local function deep(n) if n == 0 then coroutine.yield() end return 1 + deep(n - 1) end
local all = {}
while true do
  local co = coroutine.create(deep)
  coroutine.resume(co, 1000)
  all[#all + 1] = co
end
