-- expect: ok|disabled, reason=syntax|runtime|memory
local long = ("\2"):rep(1 << 20)
return { events = { long, long, long, long, long, long, long, "train_step_end" }, handle = function() end }
