-- expect: ok|disabled, reason=budget|memory
-- every function that takes positions, at every end of the integers
local max, min = math.maxinteger, math.mininteger
local ends = { max, max - 1, min, min + 1, 0, 1, -1, 2, 1 << 31, 1 << 32, -(1 << 31), 2.0 ^ 53, 2.0 ^ 63, 0 / 0, 1 / 0, -1 / 0 }
local s, t = "abc\u{7ff}\xff", { 1, 2, 3 }
for _, a in ipairs(ends) do
  for _, b in ipairs(ends) do
    pcall(string.sub, s, a, b)
    pcall(string.byte, s, a, b)
    pcall(string.find, s, "b", a, true)
    pcall(string.find, s, "b", a)
    pcall(string.gmatch, s, "b", a)
    pcall(string.gsub, s, "b", "x", a)
    pcall(string.unpack, "i4", s, a)
    pcall(utf8.len, s, a, b)
    pcall(utf8.codepoint, s, a, b, true)
    pcall(utf8.offset, s, a, b)
    pcall(utf8.char, a, b)
    pcall(string.char, a, b)
    pcall(table.unpack, t, a, b)
    pcall(table.concat, t, "", a, b)
    pcall(select, a, b)
    pcall(table.insert, { 1 }, a, b)
    pcall(table.remove, { 1 }, a)
    pcall(math.random, a, b)
    pcall(math.tointeger, a)
    pcall(string.rep, "", a, "")
    pcall(function() for i = a, b, max do if i > 4 then break end end end)
    pcall(function() for i = a, b, min do if i < 4 then break end end end)
  end
end
