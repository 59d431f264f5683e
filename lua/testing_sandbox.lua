-- hotcb.testing's part about what a script sees and may ask for: the sandbox's globals, env,
-- modules, and the queue of what was asked. Follows src/script/sandbox.c, lua_host.c, lua_env.c
-- and lua_require.c. `cb` is a callback of testing.lua; what it keeps for itself is in cb._.
local text, here, tensors = ...

-- ---- failures ------------------------------------------------------------------

-- What the host says of an error: a place first, and the type of what is no text.
local function describe_error(e)
  if type(e) == "string" and e:find(":%d+:") then return e end
  local place = ""
  for level = 2, 9 do
    local info = debug.getinfo(level, "Sl")
    if info and info.currentline > 0 then
      place = ("%s:%d: "):format(info.short_src, info.currentline)
      break
    end
  end
  if type(e) == "string" then return place .. e end
  return ("%s(the error value is %s%s)"):format(place, e == nil and "" or "a ", type(e))
end

-- For functions that a script calls: an error with the script's place, as C's have it.
local function bad_argument(n, name, what, depth)
  error(("bad argument #%d to '%s' (%s)"):format(n, name, what), (depth or 0) + 3)
end

local function check_type(value, wanted, n, name, depth)
  if type(value) == wanted then return end
  local got = value == nil and "no value" or type(value)
  bad_argument(n, name, ("%s expected, got %s"):format(wanted, got), (depth or 0) + 1)
end

-- ---- what a script may ask for ---------------------------------------------------

local EFFECTS, EFFECT_BYTES, TEXT_BYTES, FILES, LINE_BYTES = 1024, 8 << 20, 256 << 10, 16, 4096

-- With `said` bytes of text, and so many others; false where it was dropped.
local function queue(cb, effect, said, bytes)
  local q = cb._.queue
  local file = effect.kind == "artifact" or effect.kind == "image"
  bytes = bytes or 0
  if effect.kind == "stop" or effect.kind == "disable" then
    if q[effect.kind] then return false end
    q[effect.kind] = true
  elseif #q >= EFFECTS or q.bytes + said + bytes > EFFECT_BYTES or q.said + said > TEXT_BYTES
    or (file and q.files == FILES) then
    cb.dropped = cb.dropped + 1
    return false
  end
  q.files = q.files + (file and 1 or 0)
  q.bytes, q.said = q.bytes + said + bytes, q.said + said
  q[#q + 1] = effect
  return true
end

local function say(cb, level, line)
  line = text.printable(line)
  cb.lines[#cb.lines + 1] = line
  cb.logs[#cb.logs + 1] = { level = level, text = line }
end

-- fmt and its arguments; one alone is the line itself, so that a '%' in it is no format.
local function line_of(name, fmt, ...)
  if select("#", ...) == 0 then return tostring(fmt) end
  check_type(fmt, "string", 1, name, 2)
  local ok, line = pcall(string.format, fmt, ...)
  if not ok then error(line, 4) end
  return line
end

local function queue_line(cb, level, line)
  local kept = text.cut(line, LINE_BYTES)
  if #kept < #line then line = ("%s... (%d bytes)"):format(kept, #line) end
  queue(cb, { kind = "log", level = level, text = line }, #kept)
end

local function queue_log(cb, level, name, ...)
  if select("#", ...) == 0 then bad_argument(1, name, "value expected", 1) end
  queue_line(cb, level, line_of(name, ...))
end

local function fault_of_artifact(name)
  if name == "" then return "is empty" end
  if #name > 200 then return "is longer than 200 bytes" end
  if name:sub(1, 1) == "/" then return "begins with '/'" end
  if name:find("%c") then return "has a control character" end
  if not utf8.len(name) then return "is not valid UTF-8" end
  local components = 0
  for component in (name .. "/"):gmatch("([^/]*)/") do
    components = components + 1
    if component == "" then return "has an empty component" end
    if component == "." or component == ".." then
      return 'has "." or ".." as a component'
    end
    if component:find("^%..+%.%d+%.tmp$") then
      return 'has a component like ".a.1.tmp", as half-written files are called'
    end
  end
  if components > 16 then return "has more than 16 components" end
end

local add_media, carry_media = assert(loadfile(here .. "testing_media.lua"))(
  queue, bad_argument, check_type, fault_of_artifact)
local carry = {}

function carry.log(cb, effect) say(cb, effect.level, effect.text) end

function carry.stop(cb, effect) cb.stop_reason = cb.stop_reason or effect.text end

function carry.disable(cb) cb.enabled = false end

for kind, fn in pairs(carry_media) do
  carry[kind] = function(cb, effect, ok)
    if ok then fn(cb, effect) end
  end
end

function carry.artifact(cb, effect, ok)
  local fault = fault_of_artifact(effect.name)
  if ok and fault then
    say(cb, "warn", ('artifact not written: artifact "%s" %s: name a file below artifacts/, as '
      .. 'in "plots/loss.png"'):format(text.printable(text.cut(effect.name, 60)), fault))
  elseif ok then
    local before = effect.append and cb.artifacts[effect.name] or ""
    cb.artifacts[effect.name] = before .. effect.bytes
  end
end

local function carry_out(cb, ok)
  local q = cb._.queue
  cb._.queue = { bytes = 0, said = 0, files = 0 }
  for _, effect in ipairs(q) do carry[effect.kind](cb, effect, ok) end
end

-- ---- the global hotcb -------------------------------------------------------------

local function deep_copy(value)
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, item in pairs(value) do copy[key] = deep_copy(item) end
  return copy
end

-- What hotcb.system() says until a spec has it otherwise: a quarter of a machine.
local function new_system()
  return {
    cpu_seconds = 12.5, cpus = 4.0, cpus_source = "cgroup v2", rss = 512 << 20,
    rss_peak = 768 << 20, ram_total = 16 << 30, ram_used = 4 << 30, ram_source = "cgroup v2",
    gpu_problem = "NVML is not here (libnvidia-ml.so.1 of NVIDIA's driver cannot be loaded)",
  }
end

local levels = { debug = true, info = true, warn = true, error = true }

local function new_host(cb)
  local host = { json = {} }

  function host.log(...)
    local level = ...
    if select("#", ...) == 0 then
      bad_argument(1, "log", "string expected, got no value")
    elseif select("#", ...) == 1 then
      queue_log(cb, "info", "log", level)
    elseif not levels[level] then
      bad_argument(1, "log", ("invalid option '%s'"):format(tostring(level)))
    else
      queue_log(cb, level, "log", select(2, ...))
    end
  end

  add_media(host, cb)

  function host.artifact(name, bytes, mode)
    check_type(name, "string", 1, "artifact")
    check_type(bytes, "string", 2, "artifact")
    if mode ~= nil and mode ~= "replace" and mode ~= "append" then
      bad_argument(3, "artifact", ("invalid option '%s'"):format(tostring(mode)))
    end
    queue(cb, { kind = "artifact", name = name, bytes = bytes, append = mode == "append" },
          math.min(#name, 256), #bytes)
  end

  function host.stop(reason)
    if reason == nil then reason = "a callback asked for it" end
    check_type(reason, "string", 1, "stop")
    queue(cb, { kind = "stop", text = text.printable(text.cut(reason, 1000)) }, 0)
  end

  function host.disable() queue(cb, { kind = "disable" }, 0) end

  function host.clock() return cb.now + 0.0 end

  function host.system(gpus)
    local copy = deep_copy(cb.system)
    if not gpus then copy.gpus, copy.gpu_problem = nil, nil end
    return copy
  end

  function host.json.encode(value)
    local ok, node = pcall(text.from_lua, value)
    if not ok then error("json.encode: " .. node, 2) end
    return text.json(node)
  end

  function host.json.decode(s)
    check_type(s, "string", 1, "decode")
    if #s > 1 << 20 then return nil, "more than 1024 KiB of text" end
    local ok, node = pcall(text.from_json, s)
    if not ok then return nil, node end
    return text.to_lua(node)
  end

  return host
end

-- ---- modules -----------------------------------------------------------------------

local function read_file(path)
  local f, why = io.open(path, "rb")
  if not f then return nil, why end
  local bytes = f:read("a")
  f:close()
  return bytes, not bytes and path .. " is not a regular file" or nil
end

-- The text of a shipped helper or callback, and its name in messages.
local function read_shipped(name)
  local stem = name:match("^hotcb%.callbacks%.([%w_]+)$")
  local path = stem and here .. "../callbacks/" .. stem .. ".lua"
  stem = name:match("^hotcb%.([%w_]+)$")
  if stem and not stem:find("^testing") then path = here .. stem .. ".lua" end
  local bytes = path and read_file(path)
  return bytes, name
end

local function find_module(cb, name)
  if not name:find("^[%w_-]") or name:find("[^%w_.-]") or name:find("%.%.") or
    name:find("%.$") then
    error(("require '%s': a name is words with points between them"):format(name), 3)
  end
  local bytes, chunkname = read_shipped(name)
  if bytes then return bytes, chunkname end
  local places = { cb._.dir }
  for place in cb._.search_path:gmatch("[^:]+") do places[#places + 1] = place .. "/" end
  for _, place in ipairs(places) do
    local path = place .. name:gsub("%.", "/") .. ".lua"
    bytes = read_file(path)
    if bytes then return bytes, path end
  end
  error(("require '%s': no such module (looked in the shipped helpers, beside the script and "
    .. "along HOTCB_PATH)"):format(name), 3)
end

-- Makes text fit to be compiled, and compiles it; raises a sentence.
local function compile(source, name, globals)
  if #source > 256 << 10 then
    error(name .. ": larger than 256 KiB, which no script may be", 0)
  end
  source = source:gsub("^\xef\xbb\xbf", "")
  if source:sub(1, 1) == "\27" then
    error(name .. ": precompiled Lua is not accepted: load the source text", 0)
  elseif source:find("\0", 1, true) then
    error(name .. ": holds a NUL byte, so it is no Lua source", 0)
  end
  local chunk, why = load(source:gsub("^#[^\n]*", ""), "@" .. name, "t", globals)
  return chunk or error(why, 0)
end

local function new_require(cb, globals)
  local loaded = {}
  return function(name)
    check_type(name, "string", 1, "require")
    if loaded[name] == false then
      error(("require '%s': it requires itself, or failed when it was required before")
        :format(name), 2)
    elseif loaded[name] ~= nil then
      return loaded[name]
    end
    local bytes, chunkname = find_module(cb, name)
    local chunk = compile(bytes, chunkname, globals)
    loaded[name] = false
    loaded[name] = chunk(name) or true
    return loaded[name]
  end
end

-- ---- the sandbox ---------------------------------------------------------------------

local plain = { "assert", "error", "ipairs", "pairs", "pcall", "rawequal", "rawlen", "rawset",
                "select", "tonumber", "tostring", "type", "xpcall", "_VERSION" }

-- Two states share no table that a script could write to.
local function copy_library(library, without)
  local copy = {}
  for name, value in pairs(library) do
    if name ~= without then copy[name] = value end
  end
  return copy
end

local function sandbox_getmetatable(value)
  if type(value) == "string" then return false end
  return getmetatable(value)
end

local function sandbox_setmetatable(object, meta)
  if type(meta) == "table" and rawget(meta, "__gc") ~= nil then
    error("__gc is not available to callbacks: use close()", 2)
  end
  local ok, result = pcall(setmetatable, object, meta)
  if not ok then error(result, 2) end
  return result
end

local function check_table(name, t)
  if type(t) ~= "table" then
    bad_argument(1, name, "table expected, got " .. type(t), 1)
  end
end

-- These two go by no metamethods, and yet find what env shows.
local function sandbox_rawget(t, key)
  check_table("rawget", t)
  if text.shown[t] then return t[key] end
  return rawget(t, key)
end

local function new_next()
  local walks = setmetatable({}, { __mode = "k" })
  return function(t, key)
    check_table("next", t)
    if not text.shown[t] then return next(t, key) end
    if key == nil or not walks[t] then
      walks[t] = {}
      for name in pairs(t) do walks[t][name] = true end
    end
    local value
    repeat
      key = next(walks[t], key)
      if key ~= nil then value = t[key] end
    until key == nil or value ~= nil
    return key, value
  end
end

local function new_globals(cb)
  local globals = {
    getmetatable = sandbox_getmetatable, setmetatable = sandbox_setmetatable,
    rawget = sandbox_rawget, next = new_next(),
    string = copy_library(string, "dump"), table = copy_library(table),
    math = copy_library(math), utf8 = copy_library(utf8), hotcb = new_host(cb),
  }
  for _, name in ipairs(plain) do globals[name] = _G[name] end
  if cb._.coroutines then globals.coroutine = copy_library(coroutine) end
  globals._G = globals
  globals.require = new_require(cb, globals)
  function globals.print(...)
    local words = table.pack(...)
    for i = 1, words.n do words[i] = tostring(words[i]) end
    queue_line(cb, "info", table.concat(words, " "))
  end
  return globals
end

-- ---- env -------------------------------------------------------------------------------

local standard_groups = { "metrics", "model", "grads", "batch", "outputs" }

local function put_field(live, group, key, value, level)
  local kind = type(value)
  if kind ~= "number" and kind ~= "string" and kind ~= "boolean" and kind ~= "function" and
    not tensors.is_tensor(value) then
    error(("env %s: a host sets numbers, text, true and false, tensors (and functions, which are "
      .. "asked when a script reads the key), not a %s"):format(key, kind), level + 1)
  end
  if group == "" and key == "step" then
    value = math.tointeger(value) or error("env step: an integer expected", level + 1)
    live.step = value
  end
  local order = live.order[group] or {}
  if live.groups[group][key] == nil then order[#order + 1] = key end
  live.order[group], live.groups[group][key] = order, value
end

-- A group's members in their order: that of a list of {name, value}, or else that of the names.
local function members_of(group)
  local list = {}
  if group[1] ~= nil then return group end
  for name, item in pairs(group) do list[#list + 1] = { name, item } end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

local function is_group(value) return type(value) == "table" and not tensors.is_tensor(value) end

-- What the host says at one apply. "metrics.lr" and metrics = { lr = ... } are the same.
local function new_live(fields, groups, level)
  local live = { groups = { [""] = {} }, order = {} }
  for _, list in ipairs { standard_groups, groups or {} } do
    for _, name in ipairs(list) do live.groups[name] = {} end
  end
  for key, value in pairs(fields or {}) do
    if is_group(value) then live.groups[key] = live.groups[key] or {} end
  end
  for key, value in pairs(fields or {}) do
    local group, rest = key:match("^([^.]*)%.(.+)$")
    if is_group(value) then
      for _, member in ipairs(members_of(value)) do
        put_field(live, key, member[1], member[2], level + 1)
      end
    elseif group and live.groups[group] then
      put_field(live, group, rest, value, level + 1)
    else
      put_field(live, "", key, value, level + 1)
    end
  end
  return live
end

-- A function stands for a value that is worked out when it is first read.
local function read_field(live, group, key)
  local fields = live.groups[group]
  local value = fields and fields[key]
  if type(value) == "function" then
    value = value()
    fields[key] = value
  end
  if not tensors.is_tensor(value) then return value end
  local call = live.call -- a view holds during the one in which it was read
  return tensors.new_view(value, function() return not live.over and live.call == call end)
end

-- The table `env` of one state; get_live() says what holds now, or nil.
local function new_env(get_live, framework, log)
  local views, view = {}, nil

  local function live_now()
    return get_live() or error("env holds only during handle and on_attach", 3)
  end

  local function index(group, key)
    local live = live_now()
    if type(key) ~= "string" then return nil end
    if group == "" and key == "log" then return log end
    local value = read_field(live, group, key)
    if value ~= nil or group ~= "" then return value end
    if key == "framework" then return framework end
    return key ~= "" and live.groups[key] and view(key) or nil
  end

  local function all(own)
    local live, copy = live_now(), { framework = framework, log = log }
    for name in pairs(live.groups) do copy[name] = name ~= "" and view(name) or nil end
    for key in pairs(live.groups[""]) do copy[key] = read_field(live, "", key) end
    for key, value in next, own do copy[key] = value end
    return next, copy, nil
  end

  -- What the host has set, in its order; then what the script wrote.
  local function members(group, own)
    local live, at, seen, last = live_now(), 0, {}, nil
    local order = live.order[group] or {}
    return function()
      while at < #order do
        at = at + 1
        local key = order[at]
        local value = rawget(own, key)
        if value == nil then value = read_field(live, group, key) end
        seen[key] = true
        if value ~= nil then return key, value end
      end
      local value
      repeat last, value = next(own, last) until last == nil or not seen[last]
      return last, value
    end, own, nil
  end

  -- For json.encode, which reads tables as they are.
  local function all_of(group)
    if not get_live() then error("env, which holds only during handle and on_attach", 0) end
    if group == "" then error("env itself, which is not plain data", 0) end
    local copy = {}
    for key, value in pairs(views[group]) do copy[key] = value end
    return copy
  end

  view = function(group)
    if views[group] then return views[group] end
    views[group] = setmetatable({}, {
      __index = function(_, key) return index(group, key) end,
      __pairs = function(own)
        if group == "" then return all(own) end
        return members(group, own)
      end,
      __metatable = false,
    })
    text.shown[views[group]] = function() return all_of(group) end
    return views[group]
  end

  -- What a script wrote into env is gone at the next call.
  local function clear()
    for _, own in pairs(views) do
      for key in next, own do rawset(own, key, nil) end
    end
    return view ""
  end
  return clear
end

return {
  describe_error = describe_error,
  say = say,
  line_of = line_of,
  queue_log = queue_log,
  carry_out = carry_out,
  read_file = read_file,
  read_shipped = read_shipped,
  compile = compile,
  new_globals = new_globals,
  new_system = new_system,
  new_live = new_live,
  new_env = new_env,
}
