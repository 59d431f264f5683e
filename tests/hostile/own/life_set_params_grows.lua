-- expect: ok
-- values without a declaration, changed by the script while they are told
local C = { handle = function() end }
function C:set_params(p)
  for i = 1, 20000 do p["k" .. i] = p end
  setmetatable(p, { __index = error })
  self.all = p
  for k in pairs(self) do if k ~= "handle" then self[k] = nil end end
end
return C
