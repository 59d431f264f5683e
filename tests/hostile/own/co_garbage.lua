-- expect: ok
-- garbage that is made in coroutines only is collected, and no reason to stop a script
for i = 1, 3 do
  local co = coroutine.wrap(function()
    while true do coroutine.yield(("g"):rep(1000):rep(700) .. i) end
  end)
  for j = 1, 8 do co() end
end
for i = 1, 300 do coroutine.wrap(function() local t = {} for j = 1, 40 do t[j] = { j } end end)() end
