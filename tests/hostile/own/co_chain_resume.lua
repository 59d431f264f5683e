-- expect: disabled, reason=budget|memory|runtime
-- each coroutine resumes the next, as deep as it goes, and all of them spin
local function f(n)
  local co = coroutine.create(f)
  local ok, e = coroutine.resume(co, n + 1)
  while true do end
end
while true do pcall(f, 1) end
