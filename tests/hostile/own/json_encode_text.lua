-- expect: disabled, reason=budget|memory
local s = ("\1"):rep(1 << 20)
while true do pcall(hotcb.json.encode, { s, s, s, s, s, s, s }) end
