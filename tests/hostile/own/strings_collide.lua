-- expect: disabled, reason=budget|memory
-- the table of short strings grows, and shrinks, and is walked each time
while true do
  for i = 1, 60000 do local s = "s" .. i end
  local keep = {}
  for i = 1, 30000 do keep[i] = "k" .. i .. "." .. i end
end
