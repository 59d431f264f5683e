-- expect: disabled, reason=runtime|budget|memory
-- the deepest use of the C stack: sort in gsub in pcall in tostring in a metamethod
local function f(x)
  local t = setmetatable({}, { __tostring = function() f(x) return "" end })
  local ok = pcall(string.gsub, "aaaa", "a", function()
    table.sort({ 1, 2, 3 }, function()
      return tostring(t) < string.format("%s%5.1f", t, 1.5)
    end)
  end)
  return f(x)
end
f(1)
