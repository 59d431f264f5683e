-- expect: disabled, reason=budget
local line = ("\1\xff%s\n"):rep(2000)
while true do
  print(line, line)
  hotcb.log("warn", line)
  hotcb.scalar(("\2"):rep(250), 0 / 0)
  hotcb.stop(line)
end
