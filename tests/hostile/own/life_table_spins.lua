-- expect: disabled, reason=budget
return setmetatable({}, { __index = function() while true do end end })
