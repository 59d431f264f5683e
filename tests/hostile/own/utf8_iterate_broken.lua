-- expect: disabled, reason=budget|runtime
-- an iterator that is given other subjects and positions than its own
local next_code = utf8.codes(("\u{7ff}"):rep(10))
while true do
  for i = -3, 12 do
    pcall(next_code, "\xff\xfe\x80", i)
    pcall(next_code, ("\u{10ffff}"):rep(3), i)
    pcall(next_code, "", math.maxinteger)
    pcall(next_code, "", math.mininteger)
  end
end
