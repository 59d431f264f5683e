-- expect: disabled, reason=budget
-- pcall as a comparison, as a replacement, as a metamethod, as an iterator, as a handler
local function spin() while true do end end
local t = setmetatable({}, { __index = pcall, __lt = pcall, __call = pcall, __concat = pcall, __close = pcall })
while true do
  pcall(table.sort, { spin, spin, spin }, pcall)
  pcall(string.gsub, "aaa", "a", spin)
  for _ in pcall, spin do break end
  xpcall(spin, pcall)
  xpcall(xpcall, pcall, spin, spin)
  pcall(function() return t < spin, t(spin) end)
end
