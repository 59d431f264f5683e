-- expect: disabled, reason=budget|memory|runtime
-- calling an object whose __call is an object, a hundred thousand deep
local f = function() end
for i = 1, 100000 do f = setmetatable({}, { __call = f }) end
f()
error("deep calls are possible")
