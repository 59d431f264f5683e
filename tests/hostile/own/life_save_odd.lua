-- expect: ok
local C = { n = 0, handle = function() end }
local odd = { {}, { [1.5] = 1 }, { ["\0"] = 1 }, { print }, { 0 / 0 }, { [1] = 1, x = 1 }, { ["\xff"] = "\xff\0" },
  { ["a\nb"] = math.mininteger }, setmetatable({}, { __index = error, __pairs = error, __len = error }) }
odd[1].loop = odd[1]
function C:save() self.n = self.n + 1 return odd[self.n % #odd + 1] end
function C:restore() self.restore = nil error(self) end
return C
