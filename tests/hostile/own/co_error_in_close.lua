-- expect: disabled, reason=budget|memory|runtime
-- wrap closes what failed in it: with errors, loops and yields on the way
local function bad(kind)
  return coroutine.wrap(function()
    local x <close> = setmetatable({}, { __close = function(_, e)
      if kind == 1 then error({ e }) end
      if kind == 2 then coroutine.yield(e) end
      if kind == 3 then while true do end end
    end })
    error("first")
  end)
end
for i = 1, 2000 do pcall(bad(1)) local f = bad(2) pcall(f) pcall(f) end
pcall(bad(3))
