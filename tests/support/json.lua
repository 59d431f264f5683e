-- A strict JSON reader (RFC 8259) to judge what hotcb writes: refuses what the
-- standard refuses, and also keys that come twice and integers beyond int64, which
-- it keeps exact. Shares nothing with the library. json.null stands for null; a list has
-- the metatable json.array, which tells an empty one from an empty map.
local json = { array = {}, null = setmetatable({}, { __tostring = function() return "null" end }) }

local escapes = {
  ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t",
}

local read_value

local function fail(at, text) error(("JSON, byte %d: %s"):format(at, text), 0) end

local function skip_space(s, at) return s:match("^[ \t\r\n]*()", at) end

local function read_hex4(s, at)
  local hex = s:match("^%x%x%x%x", at)
  if not hex then fail(at, "\\u without four hexadecimal digits") end
  return tonumber(hex, 16)
end

-- `at` is after the \u. A high surrogate must be followed by a low one.
local function read_unicode(s, at)
  local code = read_hex4(s, at)
  at = at + 4
  if code >= 0xDC00 and code <= 0xDFFF then fail(at, "a lone low surrogate") end
  if code < 0xD800 or code > 0xDBFF then return utf8.char(code), at end
  if s:sub(at, at + 1) ~= "\\u" then fail(at, "a lone high surrogate") end
  local low = read_hex4(s, at + 2)
  if low < 0xDC00 or low > 0xDFFF then fail(at, "a lone high surrogate") end
  return utf8.char(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), at + 6
end

local function read_string(s, at)
  local parts = {}
  at = at + 1
  while true do
    local plain, next_at = s:match('^([^%c"\\\127]*)()', at)
    parts[#parts + 1] = plain
    at = next_at
    local c = s:sub(at, at)
    if c == '"' then return table.concat(parts), at + 1 end
    if c == "\127" then
      parts[#parts + 1], at = c, at + 1
    elseif c ~= "\\" then
      fail(at, c == "" and "a string without end" or "a raw control character in a string")
    elseif s:sub(at + 1, at + 1) == "u" then
      parts[#parts + 1], at = read_unicode(s, at + 2)
    else
      local meant = escapes[s:sub(at + 1, at + 1)]
      if not meant then fail(at, "an unknown escape") end
      parts[#parts + 1], at = meant, at + 2
    end
  end
end

local function read_number(s, at)
  local int, frac, exp, next_at = s:match("^(-?%d+)(%.?%d*)([eE]?[-+]?%d*)()", at)
  if not int then fail(at, "no value") end
  if int:match("^-?0%d") then fail(at, "a number that begins with 0") end
  if frac == "" and exp == "" then
    local n = math.tointeger(tonumber(int))
    if math.type(tonumber(int)) ~= "integer" then fail(at, "an integer beyond int64") end
    return n, next_at
  end
  if frac == "." or (exp ~= "" and not exp:match("^[eE][-+]?%d+$")) then
    fail(at, "a malformed number")
  end
  local n = tonumber(int .. frac .. exp)
  if n == math.huge or n == -math.huge then fail(at, "a number beyond double") end
  return n + 0.0, next_at
end

local function read_array(s, at)
  local list = setmetatable({}, json.array)
  at = skip_space(s, at + 1)
  if s:sub(at, at) == "]" then return list, at + 1 end
  while true do
    list[#list + 1], at = read_value(s, at)
    at = skip_space(s, at)
    local c = s:sub(at, at)
    if c == "]" then return list, at + 1 end
    if c ~= "," then fail(at, "expected , or ]") end
    at = at + 1
  end
end

local function read_object(s, at)
  local map = {}
  at = skip_space(s, at + 1)
  if s:sub(at, at) == "}" then return map, at + 1 end
  while true do
    at = skip_space(s, at)
    if s:sub(at, at) ~= '"' then fail(at, "expected a key") end
    local key
    key, at = read_string(s, at)
    if map[key] ~= nil then fail(at, "the key " .. key .. " comes twice") end
    at = skip_space(s, at)
    if s:sub(at, at) ~= ":" then fail(at, "expected :") end
    map[key], at = read_value(s, at + 1)
    at = skip_space(s, at)
    local c = s:sub(at, at)
    if c == "}" then return map, at + 1 end
    if c ~= "," then fail(at, "expected , or }") end
    at = at + 1
  end
end

local words = { { "true", true }, { "false", false }, { "null", json.null } }

read_value = function(s, at)
  at = skip_space(s, at)
  local c = s:sub(at, at)
  if c == "{" then return read_object(s, at) end
  if c == "[" then return read_array(s, at) end
  if c == '"' then return read_string(s, at) end
  for _, word in ipairs(words) do
    if s:sub(at, at + #word[1] - 1) == word[1] then return word[2], at + #word[1] end
  end
  return read_number(s, at)
end

-- The one value that `text` is; an error with the byte where it is not JSON.
function json.decode(text)
  local _, bad = utf8.len(text)
  if bad then fail(bad, "not UTF-8") end
  local value, at = read_value(text, 1)
  at = skip_space(text, at)
  if at <= #text then fail(at, "text after the value") end
  return value
end

-- Each line of `text`, which must end with a newline, as one value.
function json.lines(text)
  local list, n = {}, 0
  if text ~= "" and text:sub(-1) ~= "\n" then fail(#text, "a last line without newline") end
  for line in text:gmatch("(.-)\n") do
    n = n + 1
    local ok, value = pcall(json.decode, line)
    if not ok then error(("line %d: %s: %s"):format(n, value, line:sub(1, 300)), 0) end
    list[n] = value
  end
  return list
end

local function quote(s)
  return '"' .. s:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
end

-- Text, a number or a boolean, or a map or list of them: for the commands of tests.
function json.encode(v)
  if type(v) == "string" then return quote(v) end
  if math.type(v) == "float" then return ("%.17g"):format(v) end
  if type(v) ~= "table" or v == json.null then return tostring(v) end
  local parts = {}
  if #v > 0 then
    for i, element in ipairs(v) do parts[i] = json.encode(element) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  for key, element in pairs(v) do parts[#parts + 1] = quote(key) .. ":" .. json.encode(element) end
  table.sort(parts)
  return "{" .. table.concat(parts, ",") .. "}"
end

return json
