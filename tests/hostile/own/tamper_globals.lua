-- expect: ok|disabled, reason=runtime
-- the script takes its own floor away: what the library needs must not be there
for _, lib in ipairs { string, table, math, utf8, hotcb, hotcb.json } do
  for k in pairs(lib) do lib[k] = function() error("mine") end end
end
for _, n in ipairs { "pcall", "xpcall", "error", "type", "next", "pairs", "ipairs", "tostring", "select", "rawget",
  "rawset", "print", "require", "getmetatable", "string", "table", "hotcb", "_G" } do
  _ENV[n] = nil
end
if env then env.log("%d", 1) end
