-- expect: disabled, reason=budget|runtime
-- a global table that answers for ever
setmetatable(_G, { __index = function(t, k) while true do end end, __newindex = function() while true do end end })
undefined_name = other_undefined_name
