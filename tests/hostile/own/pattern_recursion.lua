-- expect: ok|disabled, reason=budget|runtime
-- patterns that recurse once a character: too complex, or too long
local s = ("a"):rep(300000)
for _, p in ipairs { ("a?"):rep(250) .. "b", ".-.-.-b", "(.-)%1b", "%f[b]a*b", ("(a"):rep(20) .. (")"):rep(20) .. "b",
  ("[^b]"):rep(500) .. "-b", "%b" .. "ab" } do
  pcall(string.match, s, p)
end
