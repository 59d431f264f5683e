-- expect: ok|disabled, reason=budget|memory
local counts, edges = {}, { -1e308 }
for i = 1, 4096 do counts[i], edges[i + 1] = i / 3, (i - 2048) * 1e300 / 7 end
for i = 1, 200 do
  hotcb.histogram(("k"):rep(250), counts, edges, i)
  pcall(hotcb.histogram, "k", counts, setmetatable({}, { __len = function() return 4097 end }))
  pcall(hotcb.histogram, "k", setmetatable({}, { __index = counts }), edges)
end
