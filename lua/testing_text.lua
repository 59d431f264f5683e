-- hotcb.testing's part about text: plain data as nodes, JSON, numbers as hotcb spells them,
-- what a word on the command line means, near matches. Follows src/base and, as that does,
-- knows nothing of callbacks.
--
-- A node is {type, v, source}: type is null, boolean, integer, real, text, list (v: nodes) or
-- map (v: {key, node} pairs in order); source is how a scalar was typed, if it was.
local text = { null = setmetatable({}, { __tostring = function() return "null" end }) }

local DEPTH, NODES, BYTES = 48, 50000, 1 << 20

-- ---- UTF-8 -------------------------------------------------------------------

-- The valid character of s at byte i: its bytes and its code point; or one byte and nil.
local function character(s, i)
  local next_i = utf8.len(s, i, i) and utf8.offset(s, 2, i)
  if not next_i then return s:sub(i, i), nil end
  return s:sub(i, next_i - 1), utf8.codepoint(s, i)
end

-- s as one printable line; each odd character or byte goes through escape(code).
local function replace_odd(s, is_odd, escape)
  local parts, i = {}, 1
  while i <= #s do
    local c, code = character(s, i)
    parts[#parts + 1] = (not code or is_odd(code)) and escape(code, c:byte()) or c
    i = i + #c
  end
  return table.concat(parts)
end

local function is_control(c)
  return c < 0x20 or (c >= 0x7f and c < 0xa0) or c == 0x200e or c == 0x200f or
    (c >= 0x2028 and c <= 0x202e) or (c >= 0x2066 and c <= 0x2069)
end

local short_escapes = { [10] = "\\n", [9] = "\\t", [13] = "\\r" }

function text.printable(s)
  if not s:find("[^\32-\126]") then return s end
  return replace_odd(s, is_control, function(code, byte)
    local c = code or byte
    return short_escapes[c] or ((c < 0x100) and "\\x%02x" or "\\u%04x"):format(c)
  end)
end

-- The first n bytes of s, less a character cut off at the end.
function text.cut(s, n)
  if #s <= n then return s end
  while n > 0 and (s:byte(n + 1) or 0) & 0xc0 == 0x80 do n = n - 1 end
  return s:sub(1, n)
end

-- ---- numbers -----------------------------------------------------------------

local function is_finite(d) return d == d and d ~= math.huge and d ~= -math.huge end
text.is_finite = is_finite

local function shortest(d)
  for precision = d < 2.2250738585072014e-308 and 1 or 15, 17 do
    local s = ("%." .. precision - 1 .. "e"):format(d)
    if tonumber(s) == d or precision == 17 then
      local digits, e = s:match("^([%d.]+)e([-+]%d+)$")
      return (digits:gsub("%.", ""):gsub("0+$", "")), math.tointeger(tonumber(e))
    end
  end
end

local function lay_out(digits, e)
  if e < -5 or e >= 16 then
    return digits:sub(1, 1) .. (#digits > 1 and "." .. digits:sub(2) or "") .. "e" .. e
  elseif e < 0 then
    return "0." .. ("0"):rep(-e - 1) .. digits
  elseif #digits <= e + 1 then
    return digits .. ("0"):rep(e + 1 - #digits) .. ".0"
  end
  return digits:sub(1, e + 1) .. "." .. digits:sub(e + 2)
end

-- A finite real, in as few digits as read back the same.
local function real_text(d)
  local sign = (d < 0 or 1 / d < 0) and "-" or ""
  d = math.abs(d)
  if d < 1e15 and d == math.floor(d) then return ("%s%d.0"):format(sign, d) end
  return sign .. lay_out(shortest(d))
end

-- ---- nodes -------------------------------------------------------------------

function text.node(type_name, v, source) return { type = type_name, v = v, source = source } end

local from_lua

local function spend(budget, nodes, bytes)
  budget.nodes, budget.bytes = budget.nodes - nodes, budget.bytes - bytes
  if budget.nodes < 0 or budget.bytes < 0 then
    error("too many entries or too much text in all", 0)
  end
end

-- Of tables that show more than is in them (env's): a function that gives it all.
text.shown = setmetatable({}, { __mode = "k" })

local function from_table(v, budget, depth)
  if depth >= DEPTH then error(("tables nested more than %d deep"):format(DEPTH), 0) end
  if text.shown[v] then v = text.shown[v]() end
  local n, count, out = rawlen(v), 0, {}
  for _ in next, v do count = count + 1 end
  spend(budget, count, 0)
  if n > 0 and n == count then
    for i = 1, n do
      if rawget(v, i) == nil then error("a list with holes", 0) end
      out[i] = from_lua(rawget(v, i), budget, depth + 1)
    end
    return text.node("list", out)
  end
  for key, item in next, v do
    if type(key) ~= "string" then
      error("a table with keys that are neither text nor 1..n", 0)
    elseif key:find("\0", 1, true) then
      error("a key with a NUL character", 0)
    end
    spend(budget, 0, #key)
    out[#out + 1] = { key, from_lua(item, budget, depth + 1) }
  end
  table.sort(out, function(a, b) return a[1] < b[1] end)
  return text.node("map", out)
end

from_lua = function(v, budget, depth)
  if v == nil or v == text.null then return text.node("null") end
  if type(v) == "boolean" then return text.node("boolean", v) end
  if type(v) == "number" then
    return text.node(math.type(v) == "integer" and "integer" or "real", v)
  end
  if type(v) == "string" then
    spend(budget, 0, #v)
    return text.node("text", v)
  end
  if type(v) == "table" then return from_table(v, budget, depth) end
  error(("a %s, which is not plain data"):format(type(v)), 0)
end

function text.budget(bytes) return { nodes = NODES, bytes = bytes or BYTES } end

-- A node of plain data; raises a sentence where it is none.
function text.from_lua(v, budget) return from_lua(v, budget or text.budget(), 0) end

function text.to_lua(node)
  if node.type == "null" then return nil end
  if node.type ~= "list" and node.type ~= "map" then return node.v end
  local out = {}
  for i, item in ipairs(node.v) do
    if node.type == "list" then out[i] = text.to_lua(item)
    else out[item[1]] = text.to_lua(item[2]) end
  end
  return out
end

function text.get(map, key)
  for _, pair in ipairs(map.v) do
    if pair[1] == key then return pair[2] end
  end
end

function text.equal(a, b)
  if a.type ~= b.type then return false end
  if a.type ~= "list" and a.type ~= "map" then
    return a.v == b.v or (a.v ~= a.v and b.v ~= b.v)
  end
  if #a.v ~= #b.v then return false end
  for i, item in ipairs(a.v) do
    local other = a.type == "list" and b.v[i] or text.get(b, item[1])
    if not other or not text.equal(a.type == "list" and item or item[2], other) then
      return false
    end
  end
  return true
end

-- ---- JSON --------------------------------------------------------------------

local json_escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t",
                       ["\r"] = "\\r" }

local function quote(s)
  s = s:gsub('[%c"\\]', function(c)
    return json_escapes[c] or ("\\u%04x"):format(c:byte())
  end)
  if not utf8.len(s) then
    s = replace_odd(s, function() return false end, function() return "\u{FFFD}" end)
  end
  return '"' .. s .. '"'
end

local function number_json(node)
  if node.type == "integer" then return ("%d"):format(node.v) end
  if node.v ~= node.v then return '"NaN"' end
  if not is_finite(node.v) then return node.v > 0 and '"Infinity"' or '"-Infinity"' end
  return real_text(node.v)
end

function text.json(node)
  if node.type == "null" then return "null" end
  if node.type == "boolean" then return tostring(node.v) end
  if node.type == "text" then return quote(node.v) end
  if node.type == "integer" or node.type == "real" then return number_json(node) end
  local parts = {}
  for i, item in ipairs(node.v) do
    parts[i] = node.type == "list" and text.json(item)
      or quote(item[1]) .. ":" .. text.json(item[2])
  end
  local inside = table.concat(parts, ",")
  return node.type == "list" and "[" .. inside .. "]" or "{" .. inside .. "}"
end

local function fail(at, what) error(("not valid JSON at byte %d: %s"):format(at, what), 0) end

local function skip(s, at) return s:match("^[ \t\r\n]*()", at) end

local unescaped = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n",
                    r = "\r", t = "\t" }

local function read_unicode(s, at)
  local code = tonumber(s:match("^%x%x%x%x", at) or fail(at, "a \\u without 4 digits"), 16)
  if code == 0 then fail(at, "a NUL character") end
  if code < 0xD800 or code > 0xDFFF then return utf8.char(code), at + 4 end
  local low = code < 0xDC00 and tonumber(s:match("^\\u(%x%x%x%x)", at + 4) or "0", 16) or 0
  if low < 0xDC00 or low > 0xDFFF then fail(at, "half a surrogate pair") end
  return utf8.char(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), at + 10
end

local function read_string(s, at)
  local parts = {}
  at = at + 1
  while true do
    local plain, next_at = s:match('^([^%z\1-\31"\\]*)()', at)
    local c = s:sub(next_at, next_at)
    parts[#parts + 1] = plain
    if c == '"' then return table.concat(parts), next_at + 1 end
    if c ~= "\\" then fail(next_at, "a string that does not end, or a raw control character") end
    local e = s:sub(next_at + 1, next_at + 1)
    if e == "u" then
      parts[#parts + 1], at = read_unicode(s, next_at + 2)
    else
      parts[#parts + 1] = unescaped[e] or fail(next_at, "an unknown escape")
      at = next_at + 2
    end
  end
end

local function read_number(s, at)
  local int, frac, exp, next_at = s:match("^(-?%d+)(%.?%d*)([eE]?[-+]?%d*)()", at)
  if not int or int:find("^-?0%d") or frac == "." or
    (exp ~= "" and not exp:find("^[eE][-+]?%d+$")) then
    fail(at, "no value")
  end
  local source = int .. frac .. exp
  local v = tonumber(source)
  if source == int and math.type(v) ~= "integer" then fail(at, "an integer beyond 64 bits") end
  if not is_finite(v + 0.0) then fail(at, "a number beyond what there is") end
  return text.node(source == int and "integer" or "real", v, source), next_at
end

local read_value

-- What stands between brackets; read_item(at) -> item, at.
local function read_items(s, at, close, read_item)
  local items = {}
  at = skip(s, at + 1)
  if s:sub(at, at) == close then return items, at + 1 end
  while true do
    items[#items + 1], at = read_item(at)
    at = skip(s, at)
    local c = s:sub(at, at)
    if c == close then return items, at + 1 end
    if c ~= "," then fail(at, "expected , or " .. close) end
    at = skip(s, at + 1)
  end
end

local function read_map(s, at, depth)
  local seen = {}
  local items, next_at = read_items(s, at, "}", function(i)
    if s:sub(i, i) ~= '"' then fail(i, "expected a key") end
    local key, value
    key, i = read_string(s, i)
    if seen[key] then fail(i, "a key twice") end
    seen[key] = true
    i = skip(s, i)
    if s:sub(i, i) ~= ":" then fail(i, "expected :") end
    value, i = read_value(s, i + 1, depth + 1)
    return { key, value }, i
  end)
  return text.node("map", items), next_at
end

local json_words = { { "true", "boolean", true }, { "false", "boolean", false },
                     { "null", "null", nil } }

read_value = function(s, at, depth)
  if depth >= DEPTH then fail(at, ("nested more than %d deep"):format(DEPTH)) end
  at = skip(s, at)
  local c = s:sub(at, at)
  if c == "{" then return read_map(s, at, depth) end
  if c == '"' then
    local v, next_at = read_string(s, at)
    return text.node("text", v), next_at
  elseif c == "[" then
    local items, next_at = read_items(s, at, "]", function(i)
      return read_value(s, i, depth + 1)
    end)
    return text.node("list", items), next_at
  end
  for _, word in ipairs(json_words) do
    if s:sub(at, at + #word[1] - 1) == word[1] then
      return text.node(word[2], word[3]), at + #word[1]
    end
  end
  return read_number(s, at)
end

-- The node that a JSON text is; raises a sentence.
function text.from_json(s)
  local _, bad = utf8.len(s)
  if bad then fail(bad, "not UTF-8") end
  local node, at = read_value(s, 1, 0)
  at = skip(s, at)
  if at <= #s then fail(at, "text after the value") end
  return node
end

-- ---- what is typed -------------------------------------------------------------

local function words(...)
  local set = {}
  for _, word in ipairs { ... } do set[word] = true end
  return set
end

local nulls = words("", "~", "null", "Null", "NULL")
local yes, no = words("true", "True", "TRUE"), words("false", "False", "FALSE")
local infinities, nans = words(".inf", ".Inf", ".INF"), words(".nan", ".NaN", ".NAN")

local function resolve_number(s)
  if s:find("^[-+]?0%d") then return nil end
  local plain = s:gsub("^%+", "")
  local dots = #s > 60 and "..." or ""
  if s:find("^[-+]?%d+$") then
    local v = tonumber(plain)
    if math.type(v) ~= "integer" then
      error(("the integer %s%s is beyond 64 bits: put it in quotes to make it text")
        :format(s:sub(1, 60), dots), 0)
    end
    return text.node("integer", v, s)
  end
  local mantissa, exponent = s:match("^[-+]?([%d.]+)(.*)$")
  if not mantissa or not (mantissa:find("^%d+%.?%d*$") or mantissa:find("^%.%d+$")) or
    not (exponent == "" or exponent:find("^[eE][-+]?%d+$")) then
    return nil
  end
  local v = tonumber(plain) + 0.0
  if not is_finite(v) then
    error(("the number %s%s is too large: write .inf for infinity")
      :format(s:sub(1, 60), dots), 0)
  end
  return text.node("real", v, s)
end

-- A plain scalar, by the rules that the command line and YAML share; raises a sentence.
function text.resolve(s)
  local unsigned = s:gsub("^[-+]", "")
  if nulls[s] then return text.node("null", nil, s) end
  if yes[s] or no[s] then return text.node("boolean", yes[s] or false, s) end
  if infinities[unsigned] then
    return text.node("real", s:sub(1, 1) == "-" and -math.huge or math.huge, s)
  end
  if nans[s] then return text.node("real", 0 / 0, s) end
  return resolve_number(s) or text.node("text", s, s)
end

-- What stands after `name=` on the command line.
function text.typed(s)
  if s == "" then return text.node("text", s, s) end
  if not s:find("^[%[{]") then return text.resolve(s) end
  local ok, node = pcall(text.from_json, s)
  return ok and node or text.node("text", s, s)
end

-- ---- near matches --------------------------------------------------------------

local function lower(c) return c >= 65 and c <= 90 and c + 32 or c end

-- Edits (insert, delete, replace, swap two neighbours) from a to b, whatever the case.
local function distance(a, b)
  local before
  local above, row = {}, {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    before, above, row = above, row, { [0] = i }
    for j = 1, #b do
      local x, y = lower(a:byte(i)), lower(b:byte(j))
      row[j] = math.min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x == y and 0 or 1))
      if i > 1 and j > 1 and x == lower(b:byte(j - 1)) and lower(a:byte(i - 1)) == y then
        row[j] = math.min(row[j], before[j - 2] + 1)
      end
    end
  end
  return row[#b]
end

-- The candidate that `word` may be a slip of, or nil.
function text.near(word, candidates)
  local best, best_distance = nil, 64
  if word == "" or #word > 64 then return nil end
  for _, candidate in ipairs(candidates) do
    if candidate ~= "" and #candidate <= 64 then
      local edits = distance(word, candidate)
      if edits <= math.max(#word, #candidate) // 3 and edits < best_distance then
        best, best_distance = candidate, edits
      end
    end
  end
  return best
end

return text
