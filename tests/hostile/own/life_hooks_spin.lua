-- expect: ok|disabled, reason=budget
-- close and save use up their budgets, each time they are called
local C = { handle = function() end }
function C:close() while true do end end
function C:save() while true do pcall(function() while true do end end) end end
return C
