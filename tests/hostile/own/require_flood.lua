-- expect: disabled, reason=budget|runtime|memory
-- a name a time: each is looked for in the file system
local i = 0
while true do
  i = i + 1
  pcall(require, "missing_" .. i)
end
