-- hotcb.testing's part about parameters: reads a script's declarations and judges values by
-- them. Follows src/script/params.c and params_lua.c, sentence by sentence. What it is given
-- is the text part, what it returns takes and gives nodes (see there).
local text = ...
local params = {}

local fields = { "type", "min", "max", "step", "log", "choices", "unit", "help" }
local types = { "integer", "number", "boolean", "string", "list", "any" }
local reserved = { "handle", "set_params", "on_attach", "close", "save", "restore", "id",
                   "name", "params", "events", "schedule" }
local nouns = { integer = "an integer", number = "a number", boolean = "true or false",
                string = "text", list = "a list", any = "a value" }
local null = text.node("null")

local function contains(list, word)
  for _, item in ipairs(list) do
    if item == word then return true end
  end
  return false
end

local function refuse(fmt, ...) error(fmt:format(...), 0) end

local function did_you_mean(word, candidates)
  local near = text.near(word, candidates)
  return near and (" - did you mean '%s'?"):format(near) or ""
end

-- ---- values ------------------------------------------------------------------

local function is_number(node) return node.type == "integer" or node.type == "real" end

local function bounded(node) return is_number(node) and text.is_finite(node.v + 0.0) end

local function describe_range(p)
  local low, high = bounded(p.min), bounded(p.max)
  if low and high then
    return (" from %s to %s"):format(text.json(p.min), text.json(p.max))
  end
  return low and " >= " .. text.json(p.min) or high and " <= " .. text.json(p.max) or ""
end

local infinities = { Infinity = math.huge, ["-Infinity"] = -math.huge, inf = math.huge,
                     ["-inf"] = -math.huge }

-- An infinity, in whose direction nothing is declared: then numbers are finite.
local function is_undeclared_infinity(p, given)
  local v = given.type == "real" and given.v or given.type == "text" and infinities[given.v]
  if p.type ~= "number" or not v or v ~= v or text.is_finite(v) then return false end
  return (v > 0 and p.max or p.min).type == "null"
end

local function describe(p, given)
  local noun = is_undeclared_infinity(p, given) and "a finite number" or nouns[p.type]
  local wanted = noun .. describe_range(p)
  if p.choices.type == "list" then
    local shown = {}
    for i, c in ipairs(p.choices.v) do
      shown[i] = c.type == "text" and c.v or text.json(c)
    end
    wanted = "one of " .. table.concat(shown, ", ")
  end
  return p.help and wanted .. " - " .. p.help or wanted
end

local function show(node)
  local s = node.source and text.printable(node.source)
    or node.type == "text" and text.printable(node.v) or text.json(node)
  return #s > 80 and text.cut(s, 80) .. "..." or s
end

local function refuse_value(p, given)
  refuse("%s=%s: expected %s", p.name, show(given), describe(p, given))
end

local convert = {}

function convert.integer(p, given)
  if given.type == "integer" then return text.node("integer", given.v) end
  if given.type ~= "real" or not text.is_finite(given.v) then refuse_value(p, given) end
  if given.v ~= math.floor(given.v) and p.preset.type == "integer" then
    refuse("%s=%s: declared as an integer (default %d); write %d.0 in the script to allow "
           .. "fractions", p.name, show(given), p.preset.v, p.preset.v)
  end
  return text.node("integer", math.tointeger(given.v) or refuse_value(p, given))
end

function convert.number(p, given)
  local v = is_number(given) and given.v + 0.0
    or given.type == "text" and infinities[given.v]
  return text.node("real", v or refuse_value(p, given))
end

local spelt = { ["true"] = true, on = true, yes = true,
                ["false"] = false, off = false, no = false }

function convert.boolean(p, given)
  local v
  if given.type == "boolean" then v = given.v end
  if given.type == "text" then v = spelt[given.v:lower()] end
  if v == nil then refuse_value(p, given) end
  return text.node("boolean", v)
end

function convert.string(p, given)
  if given.type == "text" then return text.node("text", given.v) end
  if given.source then return text.node("text", given.source) end
  if given.type ~= "boolean" and not is_number(given) then refuse_value(p, given) end
  return text.node("text", text.json(given))
end

local function split(p, s)
  local items = {}
  for part, comma in s:gmatch("([^,]*)(,?)") do
    if part == "" and comma == "" then break end
    local ok, item = pcall(text.resolve, part)
    if not ok then refuse("%s: %s", p.name, item) end
    items[#items + 1] = item
  end
  return text.node("list", items)
end

function convert.list(p, given)
  if given.type == "list" then return given end
  if given.type == "text" then return split(p, given.v) end
  if given.type ~= "map" then return text.node("list", { given }) end
  if #given.v > 0 then refuse_value(p, given) end
  return text.node("list", {})
end

function convert.any(_, given) return given end

local function finite(node)
  if node.type == "real" then return text.is_finite(node.v) end
  for _, item in ipairs((node.type == "list" or node.type == "map") and node.v or {}) do
    if not finite(node.type == "list" and item or item[2]) then return false end
  end
  return true
end
params.finite = finite

local function is_choice(p, node)
  if p.choices.type ~= "list" then return true end
  for _, c in ipairs(p.choices.v) do
    if text.equal(c, node) or (is_number(c) and is_number(node) and c.v == node.v) then
      return true
    end
  end
  return false
end

-- NaN never, infinity only where the range says so.
local function is_admitted(p, node)
  if node.type ~= "real" or text.is_finite(node.v) then return finite(node) end
  local bound = node.v > 0 and p.max or p.min
  return bound.type == "real" and bound.v == node.v
end

-- Of a list, range and choices are about each item.
local function within(p, node)
  if is_number(node) and is_number(p.min) and node.v < p.min.v then return false end
  if is_number(node) and is_number(p.max) and node.v > p.max.v then return false end
  if node.type ~= "list" or (p.choices.type == "list" and is_choice(p, node)) then
    return is_choice(p, node) and is_admitted(p, node)
  end
  for _, item in ipairs(node.v) do
    if not within(p, item) then return false end
  end
  return true
end

-- The value that `given` is for p; null is the initial one. Raises the host's sentence.
local function convert_one(p, given)
  if given.type == "null" then return p.initial end
  local value = convert[p.type](p, given)
  if not within(p, value) then refuse_value(p, given) end
  return value
end

function params.find(rows, name)
  for _, p in ipairs(rows) do
    if p.name == name then return p end
  end
end

-- A map of values, all or nothing: a list of {p, value}.
function params.convert(rows, map)
  local good = {}
  for _, pair in ipairs(map.v) do
    local p = params.find(rows, pair[1])
    if not p then
      local names = {}
      for i, row in ipairs(rows) do names[i] = row.name end
      refuse("unknown parameter '%s'%s (has: %s)", text.printable(pair[1]),
             did_you_mean(pair[1], names), #names > 0 and table.concat(names, ", ") or "none")
    end
    good[#good + 1] = { p, convert_one(p, pair[2]) }
  end
  return good
end

-- What was given before an edit, as far as it still fits; `dropped` gets the other names.
function params.keep(rows, map, initial, dropped)
  for _, pair in ipairs(map.v) do
    local p = params.find(rows, pair[1])
    local ok, value = false, nil
    if p then ok, value = pcall(convert_one, p, pair[2]) end
    if ok then
      p.value = value
      if initial then p.initial = value end
    else
      dropped[#dropped + 1] = pair[1]
    end
  end
end

-- ---- declarations --------------------------------------------------------------

local function bad(at, name, what)
  refuse("params[%d]%s: %s", at, name and (" '%s'"):format(name) or "", what)
end

local function row_key(key)
  if type(key) == "string" then return key:sub(1, 1) == "=" and "?" or key end
  return key == 1 and math.type(key) == "integer" and "=name"
    or key == 2 and math.type(key) == "integer" and "=default" or nil
end

local function row_to_map(row, at, budget)
  local map = {}
  for key, value in next, row do
    local name = row_key(key)
    if not name then bad(at, nil, "a row is { name, default, field = value, ... }") end
    budget.nodes = text.budget().nodes
    local ok, node = pcall(text.from_lua, value, budget)
    if not ok then
      refuse("params[%d], %s: %s", at, name:gsub("^=", ""):sub(1, 40), node)
    end
    map[name] = node
  end
  return map
end

local function is_word(s) return not s:find("[%c ,=]") and utf8.len(s) ~= nil end

local function read_name(rows, map, at)
  local given = map["=name"]
  if not given or given.type ~= "text" or given.v == "" or given.v:sub(1, 1) == "\0" then
    bad(at, nil, "a row begins with the parameter's name")
  elseif #given.v > 64 or not is_word(given.v) then
    bad(at, nil, "a name is one printable word of at most 64 bytes, without commas or '='")
  elseif contains(reserved, given.v) then
    bad(at, given.v, "is a reserved name")
  elseif params.find(rows, given.v) then
    bad(at, given.v, "is declared twice")
  end
  return given.v
end

local function check_fields(map, at, name)
  local keys = {}
  for key in pairs(map) do keys[#keys + 1] = key end
  table.sort(keys)
  for _, key in ipairs(keys) do
    if key:sub(1, 1) ~= "=" and not contains(fields, key) then
      refuse("params[%d] '%s': unknown field '%s'%s", at, name, key:sub(1, 40),
             did_you_mean(key, fields))
    end
  end
end

local by_preset = { boolean = "boolean", integer = "integer", real = "number", text = "string",
                    list = "list" }

local function read_type(map, at, p)
  local given = map.type
  if given and given.type == "text" and contains(types, given.v) then return given.v end
  if given then
    bad(at, p.name, "'type' is one of integer, number, boolean, string, list, any")
  end
  if p.preset.type == "map" then return #p.preset.v > 0 and "any" or "list" end
  return by_preset[p.preset.type] or bad(at, p.name, "has neither a default nor a 'type'")
end

local function read_number(map, at, p, field)
  local node = map[field]
  if node and not (is_number(node) and node.v == node.v) then
    bad(at, p.name, ("'%s' must be a number"):format(field))
  end
  return node or null
end

local function read_text(map, at, p, field)
  local node = map[field]
  if node and node.type ~= "text" then
    bad(at, p.name, ("'%s' must be text"):format(field))
  end
  return node and node.v
end

local function read_choices(map, at, p)
  local node = map.choices
  if node and (node.type ~= "list" or #node.v == 0) then
    bad(at, p.name, "'choices' must be a list")
  elseif map.log and map.log.type ~= "boolean" then
    bad(at, p.name, "'log' must be true or false")
  end
  return node or null
end

-- The default is judged like any other value.
local function settle(p, at)
  if p.preset.type == "null" then return end
  local ok, good = pcall(convert_one, p, p.preset)
  if not ok then refuse("params[%d]: the default %s", at, good) end
  p.preset, p.initial, p.value = good, good, good
end

local function read_row(rows, map, at)
  local p = { name = read_name(rows, map, at), preset = map["=default"] or null,
              initial = null, value = null }
  rows[#rows + 1] = p
  check_fields(map, at, p.name)
  p.type = read_type(map, at, p)
  for _, field in ipairs { "min", "max", "step" } do
    p[field] = read_number(map, at, p, field)
  end
  p.choices = read_choices(map, at, p)
  p.unit, p.help = read_text(map, at, p, "unit"), read_text(map, at, p, "help")
  settle(p, at)
end

-- The rows of a script's `params` table; raises the host's sentence, without the file.
function params.read(declared)
  local rows, n, count, budget = {}, rawlen(declared), 0, text.budget(1 << 20)
  if n > 256 then refuse("params has more than 256 rows") end
  for _ in next, declared do count = count + 1 end
  if count ~= n then refuse("params is a list of rows: { { \"every\", 50 }, ... }") end
  for at = 1, n do
    local row = rawget(declared, at)
    if type(row) ~= "table" then
      bad(at, nil, "a row is a table { name, default, ... }")
    end
    read_row(rows, row_to_map(row, at, budget), at)
  end
  return rows
end

return params
