-- expect: disabled, reason=budget
-- short calls of C, for ever, through no Lua function of its own
while true do math.fmod(math.mininteger, -1) math.ult(1, 2) tostring(nil) rawequal(1, 2) rawlen("") end
