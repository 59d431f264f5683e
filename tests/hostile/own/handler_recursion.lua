-- expect: disabled, reason=budget|memory|runtime
-- errors in handlers of errors in handlers
local function h(e) return xpcall(error, h, e) and error(e) or h(e) end
while true do xpcall(error, h, "x") end
