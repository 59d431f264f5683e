-- expect: disabled, reason=budget|runtime|memory
-- a set is read from its beginning for every character
local set = "[" .. ("b-c"):rep(100000) .. "]"
local s = ("a"):rep(100000)
while true do pcall(string.find, s, set) pcall(string.gsub, s, set .. "*", "") end
