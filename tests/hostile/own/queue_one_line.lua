-- expect: ok|disabled, reason=budget|memory
if hotcb then hotcb.log(("\1"):rep(7 << 20)) end
