-- expect: ok|disabled, reason=budget|memory
-- lines that grow fourfold when they are made printable, which is done outside of the budget
local line = ("\1"):rep(4000)
for i = 1, hotcb and 1024 or 0 do hotcb.log(line) end
