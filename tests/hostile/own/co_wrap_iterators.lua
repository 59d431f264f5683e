-- expect: disabled, reason=budget|memory|runtime
-- wrap inside the iterators of loops inside wrap, left by break, by error and by the stop
local function gen(n)
  return coroutine.wrap(function()
    for i = 1, math.huge do
      if n > 0 then for v in gen(n - 1) do coroutine.yield(v) if v % 7 == 0 then break end end end
      coroutine.yield(i)
    end
  end)
end
for v in gen(60) do if v < 0 then break end end
