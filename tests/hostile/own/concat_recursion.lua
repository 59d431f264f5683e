-- expect: disabled, reason=runtime|budget|memory
local mt = {}
local function new() return setmetatable({}, mt) end
mt.__concat = function(a, b) return new() .. new() .. "x" .. new() end
mt.__lt = function(a, b) return new() < new() end
mt.__index = function(t, k) return new()[k] end
pcall(function() return new() < new() end)
pcall(function() return new().x end)
return new() .. new()
