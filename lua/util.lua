-- hotcb.util: what diagnostics share: values of env by dotted paths, numbers and statistics of
-- whatever such a value is, how they stand in a line. Knows nothing of any one callback.
local util = {}

---The value at a path: a key of env ("loss", "loss.ce"), a member of a group
---("grads.layers.0.weight") or a group itself ("grads"), which is a table. nil if there is none.
---@param env hotcb.Env
---@param path string
---@return hotcb.Scalar|hotcb.Group|hotcb.Tensor|nil
function util.lookup(env, path)
  if path == "log" then return nil end -- is a function
  local value = env[path]
  if value ~= nil then return value end
  local group, key = path:match("^([^.]+)%.(.+)$")
  local members = group and env[group]
  if type(members) == "table" then return members[key] end
  return nil
end

-- Of a list of paths: its words without spaces around ("a,,b" has a hole), and where a walk over
-- them is. Kept, so that to look at a step's loss makes no garbage.
local walks = setmetatable({}, { __mode = "k" })

local function walk_of(paths)
  local walk, last = walks[paths], 0
  if walk then return walk end
  walk = {}
  for i in pairs(paths) do last = math.max(last, i) end
  for i = 1, last do
    local word = tostring(paths[i] or ""):match("^%s*(.-)%s*$")
    if word ~= "" then walk[#walk + 1] = word end
  end
  walks[paths] = walk
  return walk
end

-- The next member of the group that a walk is in.
local function next_member(walk)
  local key, value = walk.next(walk.group, walk.key)
  walk.key = key
  if key ~= nil then return walk[walk.at] .. "." .. key, value end
  walk.group = nil
end

local function next_value(walk)
  while true do
    local name, value
    if walk.group then name, value = next_member(walk) end
    if name then return name, value end
    local at = walk.at + 1
    walk.at, name = at, walk[at]
    if not name then return nil end
    value = util.lookup(walk.env, name)
    if type(value) == "table" then
      walk.next, walk.group, walk.key = pairs(value)
      local member, of_it = next_member(walk)
      if member then return member, of_it end
    elseif value ~= nil then
      return name, value
    end
    if walk.missing then walk.missing(name) end
  end
end

---Name and value of each of `paths`, a list as a parameter has it; a group stands for all its
---members, in their order. Where nothing is, `missing` is told the path. One loop over a list at
---a time, and nobody writes to it.
---@param env hotcb.Env
---@param paths any[]
---@param missing? fun(path: string)
---@return fun(): string?, any
---@return table
function util.each(env, paths, missing)
  local walk = walk_of(paths)
  walk.at, walk.env, walk.missing, walk.group = 0, env, missing, nil
  return next_value, walk
end

---Whether it is a view of a tensor.
---@param value any
---@return boolean
function util.is_tensor(value) return type(value) == "userdata" end

---What a value is as one number: numeric text, true and false (1 and 0) and tensors of one
---element are taken too. nil if it is none.
---@param value any
---@return number?
function util.number(value)
  if type(value) == "boolean" then return value and 1 or 0 end
  if not util.is_tensor(value) then return tonumber(value) end
  if value:numel() ~= 1 then return nil end
  local first = value:shape() -- each is 1
  return util.number(value:get(table.unpack(first)))
end

---Statistics of a tensor as a record: min, max, mean, std and l2 only where an element is finite.
---@param tensor hotcb.Tensor
---@return table
function util.stats(tensor)
  local s = tensor:stats()
  s.shape, s.dtype, s.numel, s.n = tensor:shape(), tensor:dtype(), s.n, nil
  if s.mean ~= s.mean then s.min, s.max, s.mean, s.std, s.l2 = nil, nil, nil, nil, nil end
  if #s.shape == 0 then s.shape = nil end
  return s
end

---A number in so many digits (6); a NaN is "nan", whatever its sign.
---@param number number
---@param digits? integer
---@return string
function util.show(number, digits)
  if number ~= number then return "nan" end
  return ("%." .. (digits or 6) .. "g"):format(number)
end

local shown = { "dtype", "numel", "nan", "inf", "zeros", "min", "max", "mean", "std", "l2" }

---A value as it stands in a line: "0.25", or "shape=[64,10] dtype=f32 numel=640 nan=0 ...".
---@param value any
---@return string
function util.describe(value)
  if math.type(value) == "float" then return util.show(value) end
  if not util.is_tensor(value) then return tostring(value) end
  local s = util.stats(value)
  local words = { ("shape=[%s]"):format(table.concat(s.shape or {}, ",")) }
  for _, key in ipairs(shown) do
    local item = s[key]
    if math.type(item) == "float" then item = util.show(item) end
    if item then words[#words + 1] = ("%s=%s"):format(key, item) end
  end
  return table.concat(words, " ")
end

---Square pictures of one size in rows of so many, with black lines between them: what hotcb.image
---takes after the key. What is beyond 1 MiB is left out.
---@param tiles string[] a byte for each pixel, as tensor:pixels() gives them; at least one
---@param columns integer
---@return string pixels
---@return integer width
---@return integer height
function util.mosaic(tiles, columns)
  local n, lines = #tiles[1], {}
  local side = math.floor(n ^ 0.5 + 0.5)
  if side * side ~= n then error(("%d pixels are no square"):format(n), 2) end
  local step, blank = side + 1, ("\0"):rep(side + 1)
  local room = (1 << 20) // (step * step) -- tiles
  if room == 0 then error(("%d by %d pixels leave no room for lines"):format(side, side), 2) end
  local across = math.min(columns, #tiles, room)
  local down = math.min((#tiles + across - 1) // across, room // across)
  for at = 0, down * step * across - 1 do -- each line of each tile, as they lie in the picture
    local y, tile = at // across % step, tiles[at // (across * step) * across + at % across + 1]
    lines[at + 1] = tile and y < side and tile:sub(y * side + 1, y * side + side) .. "\0" or blank
  end
  return table.concat(lines), across * step, down * step
end

---A scalar of the run, by the name that hotcb 0.1.0 has for it.
---@param env hotcb.Env|nil as there; the step of the call is known without it
---@param key string
---@param value any as for util.number
---@param step? integer
---@return boolean queued true if it was taken; it never raises
function util.log_scalar(env, key, value, step)
  local ok, queued = pcall(function() return hotcb.scalar(key, util.number(value), step) end)
  return ok and queued == true
end

return util
