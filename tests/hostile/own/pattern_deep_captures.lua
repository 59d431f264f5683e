-- expect: disabled, reason=budget|runtime
-- 32 captures, each with a way back, on a subject that matches nowhere
local s = ("ab"):rep(2000)
local p = ("(a-b-)"):rep(31) .. "(%31)x"
while true do pcall(string.find, s, p) pcall(string.gsub, s, "()", "%1%1%1") end
