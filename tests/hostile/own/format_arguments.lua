-- expect: disabled, reason=budget|memory|runtime
local all = {}
for i = 1, 200 do all[i] = 1e308 end
local fmt = ("%99.99f"):rep(200)
while true do pcall(string.format, fmt, table.unpack(all)) end
