-- expect: ok|disabled, reason=runtime|memory
-- a coroutine that resumes, closes and wraps itself and its caller
local a, b
a = coroutine.create(function()
  pcall(coroutine.resume, a)
  pcall(coroutine.close, a)
  b = coroutine.create(function()
    for i = 1, 3 do
      pcall(coroutine.resume, a)
      pcall(coroutine.close, a)
      pcall(coroutine.status, a)
      coroutine.yield(i)
    end
    error(a)
  end)
  for i = 1, 6 do coroutine.resume(b) pcall(coroutine.close, b) end
  coroutine.yield(a, b)
  error(b)
end)
for i = 1, 5 do coroutine.resume(a) end
coroutine.close(a)
local w
w = coroutine.wrap(function() pcall(w) w() end)
pcall(w)
pcall(w)
for i = 1, 20000 do local c = coroutine.create(error) coroutine.resume(c, c) end
