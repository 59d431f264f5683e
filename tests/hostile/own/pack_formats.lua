-- expect: ok|disabled, reason=budget|memory|runtime
for _, f in ipairs { "s16", "!16 i16 j", "z" , "Xi16", "X", "!17", "i0", "c", "c-1", "s0", "=<>!", ("!8Xd"):rep(5000),
  "c99999999999999999999", ("z"):rep(100000), "c" .. (1 << 31), "<i16>i15!2i14" } do
  pcall(string.pack, f, "abc", "def", 1, 2)
  pcall(string.pack, f, math.maxinteger, math.mininteger)
  pcall(string.packsize, f)
  pcall(string.unpack, f, ("\xff"):rep(300000))
  pcall(string.unpack, f, ("\xff"):rep(300000), -5)
end
for i = 1, 16 do
  for _, e in ipairs { "<", ">", "=" } do
    local ok, s = pcall(string.pack, e .. "i" .. i, -2)
    assert(not ok or string.unpack(e .. "i" .. i, s) == -2)
  end
end
