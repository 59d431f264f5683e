-- expect: ok|disabled, reason=budget|memory
-- as much as the queue takes, and then an end in good order: the host has to write it all
if hotcb then
  local line = ("\1\xff"):rep(4000)
  for i = 1, 1024 do hotcb.log("error", line) end
  for i = 1, 3000 do hotcb.scalar("k" .. i, i) end
end
