-- expect: disabled, reason=budget
-- the stop meets pcall in every form of loop there is, at once
local function p(f) return pcall(pcall, xpcall, f, p) end
::again::
repeat
  for _ = 1, 3 do
    for _ in pairs { 1 } do
      while p(function() for i = 1, math.huge do end end) ~= 1 do
        if not p then break end
        goto again
      end
    end
  end
until nil
