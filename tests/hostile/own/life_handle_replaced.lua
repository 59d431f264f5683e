-- expect: ok|disabled, reason=runtime
local C = { n = 0 }
function C:handle() self.n = self.n + 1 if self.n == 2 then self.handle = 5 end end
return C
