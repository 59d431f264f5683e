-- expect: ok|disabled, reason=memory|budget
-- fills memory to somewhere near its end, in pieces of every size, and lets half of it go, again
-- and again; then leaves what is there to whatever the library does next
local keep, sizes = {}, { 8, 24, 100, 500, 2000, 9000, 70000 }
math.randomseed(hotcb.clock() * 1e6 // 1 | 0, 1)
local bytes, limit = 0, (11 << 20) + math.random(0, 3 << 20)
for round = 1, 3 do
  while bytes < limit do
    local n = sizes[math.random(#sizes)]
    keep[#keep + 1] = ("m"):rep(n) .. #keep
    bytes = bytes + n + 40
  end
  for i = #keep, 1, -2 do bytes = bytes - #keep[i] - 40 keep[i] = keep[#keep] keep[#keep] = nil end
end
kept = keep
