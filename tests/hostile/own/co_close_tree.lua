-- expect: disabled, reason=budget|memory|runtime
-- coroutines that close others, and yield, and fail, while they are closed
local function make(n)
  return coroutine.create(function()
    local x <close> = setmetatable({}, { __close = function()
      if n > 0 then
        for i = 1, 3 do
          local c = make(n - 1)
          coroutine.resume(c)
          pcall(coroutine.close, c)
        end
      end
      pcall(coroutine.yield)
      error(n)
    end })
    coroutine.yield()
  end)
end
while true do local c = make(8) coroutine.resume(c) coroutine.close(c) end
