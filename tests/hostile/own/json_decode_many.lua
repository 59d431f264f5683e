-- expect: disabled, reason=budget|memory
-- texts that are small, and large when they are read
local lists, nulls = ("["):rep(40) .. ("]"):rep(40), "[" .. ("0,"):rep(199000) .. "0]"
local keys = {}
for i = 1, 60000 do keys[i] = '"k' .. i .. '":0' end
local map = "{" .. table.concat(keys, ",") .. "}"
local long = '"' .. ("\\u0001"):rep(150000) .. '"'
while true do
  for _, s in ipairs { lists, nulls, map, long } do pcall(hotcb.json.decode, s) end
end
