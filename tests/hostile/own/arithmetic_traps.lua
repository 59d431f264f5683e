-- expect: ok
-- what the processor would trap on
local min = math.mininteger
assert(min // -1 == min and min % -1 == 0 and math.fmod(min, -1) == 0)
assert(not pcall(function() return 1 // 0 end) and not pcall(function() return 1 % 0 end))
assert(not pcall(math.fmod, 1, 0))
assert(1 << 64 == 0 and 1 >> 64 == 0 and 1 << min == 0 and 1 >> min == 0)
assert(tostring(-0.0) == "-0.0" and min == tonumber(tostring(min)) and math.abs(min) == min)
assert(tonumber("0x" .. ("f"):rep(100000)) == -1)
assert(tonumber(("9"):rep(100000)) == math.huge or true)
assert(tonumber("1", 36) == 1 and not pcall(tonumber, "1", 37))
local _ = tonumber(("z"):rep(100000), 36)
