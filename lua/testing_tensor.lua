-- hotcb.testing's part about tensors: makes them of plain Lua lists, and the views that scripts
-- see of them. Follows src/script/lua_tensor.c and src/stats, in plain and exact, slow ways.
local TENSOR = {} -- the metatable of what a spec makes

-- ---- elements as they are stored -----------------------------------------------

-- x in a binary format with that many bits after the point; min_e is its least exponent.
local function round_to(x, bits, min_e, most)
  if x ~= x or x == 0 or math.abs(x) == math.huge then return x end
  local e = math.max(((string.unpack("<i8", string.pack("<d", x)) >> 52) & 0x7ff) - 1023, min_e)
  local quantum = 2.0 ^ (e - bits)
  local units = x / quantum
  local near = math.floor(units + 0.5)
  if near - units == 0.5 and near % 2 == 1 then near = near - 1 end
  local rounded = near * quantum
  if math.abs(rounded) > most then return x > 0 and math.huge or -math.huge end
  return rounded
end

local function whole(low, high)
  return function(x)
    local i = math.tointeger(x)
    if type(x) == "boolean" or not i or i < low or i > high then
      error(("a tensor of this type has integers from %d to %d, not %s"):format(low, high,
        tostring(x)), 0)
    end
    return i
  end
end

-- Without bits: as Lua has it.
local function real(bits, min_e, most)
  return function(x)
    if type(x) ~= "number" then error("a tensor has numbers, not a " .. type(x), 0) end
    return bits and round_to(x + 0.0, bits, min_e, most) or x + 0.0
  end
end

local function truth(x)
  if type(x) == "boolean" then return x end
  return x ~= 0
end

local store = {
  f64 = real(), f32 = real(23, -126, 0x1.fffffep127),
  f16 = real(10, -14, 65504.0), bf16 = real(7, -126, 0x1.fep127), bool = truth,
  i8 = whole(-128, 127), i16 = whole(-32768, 32767), i32 = whole(-1 << 31, (1 << 31) - 1),
  i64 = whole(math.mininteger, math.maxinteger), u8 = whole(0, 255), u16 = whole(0, 65535),
  u32 = whole(0, (1 << 32) - 1), u64 = whole(0, math.maxinteger),
}

-- ---- what a spec makes -----------------------------------------------------------

local function add_row(data, shape, values, depth)
  if type(values) ~= "table" then
    data[#data + 1] = values
    return depth - 1
  end
  if shape[depth] and shape[depth] ~= #values then
    error("tensor: rows of different lengths", 0)
  end
  shape[depth] = #values
  local dims = depth
  for _, item in ipairs(values) do
    local below = add_row(data, shape, item, depth + 1)
    if dims ~= depth and below ~= dims then error("tensor: lists nested unevenly", 0) end
    dims = below
  end
  return dims
end

local function strides_of(shape)
  local strides, n = {}, 1
  for dim = #shape, 1, -1 do
    strides[dim] = n
    n = n * shape[dim]
  end
  return strides, n
end

---A tensor for the fields of a step: `cb:step(1, { grads = { w = testing.tensor { 1, 2 } } })`.
---Numbers are rounded to what its type can hold, as the host's memory would.
---@param values number|boolean|table a list, lists in a list and so on, or one value for a
---  tensor without dimensions; with opts.shape a flat list in row-major order
---@param opts? { dtype?: string, shape?: integer[] } dtype is "f32" where it is not given
---@return table
local function new(values, opts)
  opts = opts or {}
  local dtype = opts.dtype or "f32"
  local keep = store[dtype] or error("tensor: no type is called " .. tostring(dtype), 2)
  local data, shape = {}, {}
  local ok, why = pcall(function()
    if opts.shape then
      data, shape = table.move(values, 1, #values, 1, {}), opts.shape
    else
      add_row(data, shape, values, 1)
    end
    for i, value in ipairs(data) do data[i] = keep(value) end
  end)
  if not ok then error(why, 2) end
  local strides, n = strides_of(shape)
  if n ~= #data then error(("tensor: %d values for %d places"):format(#data, n), 2) end
  if #shape > 8 then error("tensor: more than 8 dimensions", 2) end
  return setmetatable({ data = data, dtype = dtype, shape = shape, strides = strides, at = 1,
                        numel = n }, TENSOR)
end

local function is_tensor(value) return getmetatable(value) == TENSOR end

-- ---- views -------------------------------------------------------------------------

-- A script must find a userdata. Plain Lua can make light ones, as the names of closures'
-- variables; what each stands for is here, also when it holds no more.
local views = {}

local function new_view(tensor, holds)
  local mark = true
  local function owner() return mark end
  local view = debug.upvalueid(owner, 1)
  views[view] = { tensor = tensor, holds = holds, owner = owner }
  return view
end

local sentences = {
  dead = "a tensor holds only during the call that it was read in: copy what you need of it",
  norm = "1, 2 or math.huge expected",
  bins = "1 to 4096 bins expected",
  range = "two finite numbers expected, the smaller first",
  index = "dimension %d has indices from 1 to %d",
  indices = "get: %d indices expected, one for each dimension",
  dimension = "a dimension from 1 to %d expected",
  pixels = "more than 1 MiB of pixels",
}

-- Arguments are counted without the tensor, as Lua counts those of a method. For functions that
-- a script calls, or so many calls below one.
local function bad_argument(n, name, what, depth)
  error(("bad argument #%d to '%s' (%s)"):format(n, name, what), 3 + (depth or 0))
end

local function number(n, name, value, preset)
  if value == nil and preset then return preset end
  local x = type(value) ~= "boolean" and tonumber(value)
  if x then return x end
  bad_argument(n, name, "number expected, got " .. (value == nil and "no value" or type(value)), 1)
end

local function integer(n, name, value, preset)
  if value == nil and preset then return preset end
  local x = type(value) ~= "boolean" and tonumber(value)
  if x and math.tointeger(x) then return math.tointeger(x) end
  bad_argument(n, name, x and "number has no integer representation"
    or "number expected, got " .. (value == nil and "no value" or type(value)), 1)
end

local function self_of(view)
  local known = views[view]
  if not known then error("tensor expected, got " .. type(view), 3) end
  if not known.holds() then error(sentences.dead, 3) end
  return known.tensor, known.holds
end

-- The elements in row-major order; those of bool are 0 and 1.
local function values_of(t)
  local out = {}
  local function walk(dim, at)
    if dim > #t.shape then
      local x = t.data[at]
      out[#out + 1] = x == true and 1 or x == false and 0 or x
      return
    end
    for i = 0, t.shape[dim] - 1 do walk(dim + 1, at + i * t.strides[dim]) end
  end
  walk(1, t.at)
  return out
end

local function is_finite(x) return x == x and math.abs(x) ~= math.huge end

local nan = -(0 / 0) -- as the host's, which is printed without a sign

local function count_elements(values)
  local s, finite = { n = #values, nan = 0, inf = 0, zeros = 0, min = nan, max = nan }, {}
  for _, x in ipairs(values) do
    if x ~= x then s.nan = s.nan + 1
    elseif not is_finite(x) then s.inf = s.inf + 1
    else
      finite[#finite + 1] = x
      s.zeros = s.zeros + (x == 0 and 1 or 0)
      s.min, s.max = x >= s.min and s.min or x, x <= s.max and s.max or x
    end
  end
  return s, finite
end

-- By parts of this, squares are numbers that can be held.
local function unit_of(s)
  local most = math.max(0.0, 0.0 - s.min, s.max + 0.0)
  return most > 0 and (most < 1e-140 or most > 1e140) and most or 1.0
end

local function stats_of(t)
  local s, finite = count_elements(values_of(t))
  local unit, sum, spread, squares = unit_of(s), 0.0, 0.0, 0.0
  for _, x in ipairs(finite) do sum, squares = sum + x / unit, squares + (x / unit) ^ 2 end
  local mean = s.min == s.max and s.min / unit or #finite > 0 and sum / #finite or nan
  for _, x in ipairs(finite) do spread = spread + (x / unit - mean) ^ 2 end
  s.mean, s.std = mean * unit, #finite > 0 and (spread / #finite) ^ 0.5 * unit or nan
  s.l2 = squares ^ 0.5 * unit
  return s
end

local function range_of(t)
  local s = stats_of(t)
  if s.min ~= s.min then return 0.0, 1.0 end
  if s.min < s.max then return s.min + 0.0, s.max + 0.0 end
  local around = math.max(0.5, math.abs(s.min) * 1e-9)
  return s.min - around, s.max + around
end

local function edges_of(lo, hi, bins)
  local edges = {}
  for i = 0, bins do edges[i + 1] = i == bins and hi or lo + (hi - lo) * i / bins end
  return edges
end

-- Which bin x is in: the edges decide, whatever rounding makes of a quotient.
local function bin_of(edges, x)
  local low, high = 1, #edges
  while high - low > 1 do
    local middle = (low + high) // 2
    if edges[middle] <= x then low = middle else high = middle end
  end
  return low
end

local methods = {}

function methods.stats(view) return stats_of(self_of(view)) end

function methods.shape(view)
  local t = self_of(view)
  return table.move(t.shape, 1, #t.shape, 1, {})
end

function methods.dtype(view) return self_of(view).dtype end

function methods.numel(view) return self_of(view).numel end

function methods.norm(view, p)
  p = number(1, "norm", p, 2)
  if p ~= 1 and p ~= 2 and p ~= math.huge then bad_argument(1, "norm", sentences.norm) end
  local t = self_of(view)
  local s, sum = stats_of(t), 0.0
  if s.nan > 0 then return nan end
  if s.inf > 0 then return math.huge end
  if p == 2 then return s.l2 end
  if p ~= 1 then return s.n == 0 and 0.0 or math.max(math.abs(s.min), math.abs(s.max)) + 0.0 end
  for _, x in ipairs(values_of(t)) do sum = sum + math.abs(x) end
  return sum
end

function methods.histogram(view, bins, lo, hi)
  bins = integer(1, "histogram", bins, 30)
  if bins < 1 or bins > 4096 then bad_argument(1, "histogram", sentences.bins) end
  local given = lo ~= nil or hi ~= nil
  lo = given and number(2, "histogram", lo) + 0.0 or 0.0
  hi = given and number(3, "histogram", hi) + 0.0 or 1.0
  if not (is_finite(lo) and is_finite(hi) and lo < hi) then
    bad_argument(2, "histogram", sentences.range)
  end
  local t = self_of(view)
  if not given then lo, hi = range_of(t) end
  local counts, edges = {}, edges_of(lo, hi, bins)
  for i = 1, bins do counts[i] = 0 end
  for _, x in ipairs(values_of(t)) do
    if x >= lo and x <= hi then
      local i = bin_of(edges, x)
      counts[i] = counts[i] + 1
    end
  end
  return counts, edges
end

function methods.get(view, ...)
  local t = self_of(view)
  local n, at = select("#", ...), t.at
  if n ~= #t.shape then error(sentences.indices:format(#t.shape), 2) end
  for dim = 1, n do
    local size, i = t.shape[dim], integer(dim, "get", (select(dim, ...)))
    local place = i < 0 and size + i or i - 1
    if i == 0 or place < 0 or place >= size then
      bad_argument(dim, "get", sentences.index:format(dim, size))
    end
    at = at + place * t.strides[dim]
  end
  return t.data[at]
end

local function relative(i, n)
  if i >= 0 then return i end
  return i < -n and 0 or n + i + 1
end

function methods.slice(view, dim, from, to)
  local t, holds = self_of(view)
  dim = integer(1, "slice", dim)
  if dim < 1 or dim > #t.shape then
    bad_argument(1, "slice", sentences.dimension:format(#t.shape))
  end
  local n = t.shape[dim]
  from = math.max(1, relative(integer(2, "slice", from), n))
  to = math.min(n, relative(integer(3, "slice", to, -1), n))
  local shape = table.move(t.shape, 1, #t.shape, 1, {})
  shape[dim] = math.max(0, to - from + 1)
  local _, numel = strides_of(shape)
  return new_view({ data = t.data, dtype = t.dtype, shape = shape, strides = t.strides,
                    at = t.at + (from - 1) * t.strides[dim], numel = numel }, holds)
end

function methods.pixels(view, lo, hi)
  lo, hi = number(1, "pixels", lo) + 0.0, number(2, "pixels", hi) + 0.0
  if not (is_finite(lo) and is_finite(hi) and lo < hi) then
    bad_argument(1, "pixels", sentences.range)
  end
  local t = self_of(view)
  if t.numel > 1 << 20 then error(sentences.pixels, 2) end
  local bytes, scale = values_of(t), 255 / (hi - lo)
  for i, x in ipairs(bytes) do
    local level = (x - lo) * scale
    bytes[i] = string.char(level >= 255 and 255 or level > 0 and math.floor(level + 0.5) or 0)
  end
  return table.concat(bytes)
end

-- All light userdata share this; those that are no views are left as they were.
debug.setmetatable(debug.upvalueid(new_view, 1), {
  __name = "tensor",
  __metatable = false,
  __index = function(view, key)
    if views[view] then return methods[key] end
    error("attempt to index a userdata value", 2)
  end,
  __len = function(view) return self_of(view).shape[1] or 1 end,
  __tostring = function(view)
    local known = views[view]
    if not known then return ("userdata: %p"):format(view) end
    return ("%s[%s]"):format(known.tensor.dtype, table.concat(known.tensor.shape, ","))
  end,
})

return { new = new, is_tensor = is_tensor, new_view = new_view }
