-- Judges what the tool prints under --json by the schemas in cli/schemas/: the part of
-- JSON Schema 2020-12 that they use. A keyword that is not known here is an error, so
-- that no schema says what nobody checks. An integer must be written as one.
--
--   schema.check("status", value)   -- an error that says where and what
--   schema.check_output({ "status", "--json" }, answer)   -- of rig: {code, out}
local json = require "support.json"
local shell = require "support.shell"

local schema = { folder = assert(os.getenv("HOTCB_TEST_SOURCE")) .. "/tests/cli/schemas/" }
local loaded = {}

function schema.load(name)
  if not loaded[name] then
    local text = shell.read(schema.folder .. name .. ".json")
      or error(("there is no tests/cli/schemas/%s.json"):format(name), 0)
    loaded[name] = json.decode(text)
  end
  return loaded[name]
end

local function type_of(v)
  if v == json.null then return "null" end
  if type(v) == "table" then return getmetatable(v) == json.array and "array" or "object" end
  return math.type(v) and "number" or type(v)
end

local function has_type(v, name)
  if name == "integer" then return math.type(v) == "integer" end
  return type_of(v) == name
end

local function show(v)
  return type(v) == "table" and v ~= json.null and type_of(v) or tostring(v):sub(1, 80)
end

local judge -- (schema, value, where) -> nil, or what is wrong

local function each(values, test)
  for key, value in pairs(values) do
    local problem = test(key, value)
    if problem then return problem end
  end
end

local keywords = {}
keywords["$schema"] = function() end
keywords.description = keywords["$schema"]

keywords["$ref"] = function(name, v, where)
  return judge(schema.load(assert(name:match("^(.*)%.json$"), name)), v, where)
end

function keywords.type(names, v, where)
  if type(names) == "string" then names = { names } end
  for _, name in ipairs(names) do
    if has_type(v, name) then return nil end
  end
  return ("%s: %s is not of type %s"):format(where, show(v), table.concat(names, " or "))
end

function keywords.enum(values, v, where)
  for _, value in ipairs(values) do
    if value == v and math.type(value) == math.type(v) then return nil end
  end
  return ("%s: %s is none of the values"):format(where, show(v))
end

function keywords.const(value, v, where) return keywords.enum({ value }, v, where) end

function keywords.properties(properties, v, where)
  if type_of(v) ~= "object" then return nil end
  return each(properties, function(key, inner)
    if v[key] ~= nil then return judge(inner, v[key], where .. "." .. key) end
  end)
end

function keywords.required(names, v, where)
  if type_of(v) ~= "object" then return nil end
  return each(names, function(_, name)
    if v[name] == nil then return ("%s: %s is missing"):format(where, name) end
  end)
end

function keywords.additionalProperties(allowed, v, where, whole)
  assert(allowed == false)
  if type_of(v) ~= "object" then return nil end
  return each(v, function(key)
    if not whole.properties[key] then return ("%s: %s is not expected"):format(where, key) end
  end)
end

function keywords.items(inner, v, where)
  if type_of(v) ~= "array" then return nil end
  return each(v, function(i, element) return judge(inner, element, ("%s[%d]"):format(where, i)) end)
end

function keywords.anyOf(choices, v, where)
  local problems = {}
  for i, inner in ipairs(choices) do
    problems[i] = judge(inner, v, where)
    if not problems[i] then return nil end
  end
  return table.concat(problems, "; or ")
end

judge = function(rules, v, where)
  return each(rules, function(keyword, argument)
    local rule = keywords[keyword] or error("a keyword that is not known: " .. keyword, 0)
    return rule(argument, v, where, rules)
  end)
end

-- What is wrong with a value, or nil.
function schema.problem(name, v) return judge(schema.load(name), v, name) end

function schema.check(name, v)
  local problem = schema.problem(name, v)
  if problem then error(problem, 0) end
end

-- ---- whole outputs of the tool --------------------------------------------------

local with_value = { ["--dir"] = true, ["--color"] = true }

-- The command of a command line (of those that make sense), and what it asks for.
local function read_words(words)
  local found = { words = {} }
  local i = 1
  while i <= #words do
    local word = tostring(words[i])
    if word == "--json" then found.json = true end
    if word == "--help" or word == "-h" then found.help = true end
    if word == "--version" or word == "-V" then found.version = true end
    if with_value[word] then i = i + 1
    elseif not found.command and word:sub(1, 1) ~= "-" then found.command = word end
    i = i + 1
  end
  return found
end

local changes = { load = true, enable = true, disable = true, set = true, unload = true,
                  reload = true }

local function schema_for(found, code)
  if found.help then return "help" end
  if found.version and not found.command then return "version" end
  if changes[found.command] then return "decision" end
  return code == 0 and found.command or "error"
end

local function check_lines(out, code)
  for _, line in ipairs(json.lines(out)) do
    schema.check(code ~= 0 and line.error and "error" or "logs", line)
  end
end

-- Of whatever ended with an exit code of its own; `check` answers with its report
-- even where that is bad news.
function schema.check_output(words, answer)
  local found = read_words(words)
  if tostring(words[1]):match("^__") then return end -- not for people, and no JSON
  if not found.json or answer.code > 130 then return end
  if answer.code == 2 then
    assert(answer.out == "", "JSON from a command line that makes no sense")
  elseif found.command == "logs" and not found.help then
    check_lines(answer.out, answer.code)
  else
    assert(answer.out:sub(-1) == "\n", "no whole line of JSON: " .. answer.out)
    local value = json.decode(answer.out)
    local is_report = found.command == "check" and value.ok ~= nil
    schema.check(is_report and "check" or schema_for(found, answer.code), value)
  end
end

return schema
