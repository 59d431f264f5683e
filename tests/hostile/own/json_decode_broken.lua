-- expect: disabled, reason=budget|memory
-- texts that break late, in a long line: where, is counted from the beginning
local s = "[" .. ("0,"):rep(199000)
local t = "[" .. ("\n"):rep(900000) .. "x"
local u = "{" .. ('"a":0,'):rep(100000) .. "}"
while true do
  for _, text in ipairs { s, t, u, ("["):rep(900000), '"' .. ("x"):rep(900000), "1" .. ("0"):rep(900000), "-" } do
    pcall(hotcb.json.decode, text)
  end
end
