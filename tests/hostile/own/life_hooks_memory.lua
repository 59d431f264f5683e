-- expect: ok|disabled, reason=memory
local C = { handle = function() end }
local function eat() local t = {} while true do t[#t + 1] = { #t } end end
C.set_params, C.save, C.restore, C.close = eat, eat, eat, eat
return C
