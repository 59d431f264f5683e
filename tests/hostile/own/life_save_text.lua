-- expect: ok
local C = { handle = function() end }
function C:save() local s = ("\1"):rep(1 << 20) return { s, s, s, s, s, s, s } end
function C:restore(saved) error(saved[1]) end
return C
