-- Scripts that several specs load, and what they say.
local scripts = {}

-- Logs each parameter as it arrives: name, type and value, all digits.
scripts.types = [[
function set_params(p)
  for k, v in pairs(p) do
    local text = tostring(v)
    if math.type(v) == "integer" then text = string.format("%d", v) end
    if math.type(v) == "float" then text = string.format("%.17g", v) end
    hotcb.log("info", "%s = %s %s", k, math.type(v) or type(v), text)
  end
end
function handle() end
]]

-- What `types`, loaded as `id`, said last of each parameter, by name.
function scripts.types_heard(r, id)
  local by_name = {}
  for _, line in ipairs(r:log("\t" .. id .. "\t")) do
    local name, meant = line.text:match("^(%S+) = (.*)$")
    if name then by_name[name] = meant end
  end
  return by_name
end

-- A type and a value, spelt as `types` spells them.
function scripts.meant(kind, value)
  return kind .. " " .. (kind == "float" and ("%.17g"):format(value) or tostring(value))
end

-- Declares parameters, keeps a count over reloads; VERSION is edited.
scripts.counter = [[
local VERSION = "v1"
local Counter = { name = "Counter", params = { { "every", 1, min = 1 } } }
local n = 0
function Counter:handle(event, env)
  n = n + 1
  hotcb.log("info", "counter %s n=%d every=%d", VERSION, n, self.every)
end
function Counter:save() return { n = n } end
function Counter:restore(saved) n = saved.n end
return Counter
]]

-- One of each kind of declared parameter.
scripts.declared = [[
return {
  name = "Declared",
  params = {
    { "every", 50, min = 0, max = 1000, unit = "steps", help = "0 = never" },
    { "threshold", 0.5, min = 0, max = 1 },
    { "mode", "l2", choices = { "l2", "max" } },
    { "verbose", false },
    { "paths", { "loss" } },
  },
  handle = function() end,
}
]]

-- Says at which steps it was due.
scripts.due = [[
return {
  params = { { "every", 5, min = 0 } },
  schedule = "every",
  handle = function(self, event, env) hotcb.log("info", "due %d", env.step) end,
}
]]

-- The steps at which `due`, loaded as `id`, said that it was due.
function scripts.due_steps(r, id)
  local steps = {}
  for _, line in ipairs(r:log("\t" .. id .. "\tdue")) do
    steps[#steps + 1] = math.tointeger(tonumber(line.text:match("due (%-?%d+)")))
  end
  return steps
end

-- The same script with another VERSION.
function scripts.at_version(text, v)
  return (text:gsub('VERSION = "v%d"', 'VERSION = "v' .. v .. '"'))
end

return scripts
