-- expect: disabled, reason=budget|memory|runtime
local s = ("\0\1\r\n\\\""):rep(150000)
while true do pcall(string.format, "%q%q%q", s, s, s) end
