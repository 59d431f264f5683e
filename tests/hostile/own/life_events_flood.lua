-- expect: ok|disabled, reason=syntax|runtime|memory|budget
local events = { "train_step_end" }
for i = 1, 40000 do events[i + 1] = "event" .. i end
return { events = events, handle = function() end }
