-- hotcb.testing: runs a callback as a run does, in plain Lua, for specs: the sandbox's globals
-- and nothing more, parameters judged by the host's rules, what it asks for kept to be looked
-- at. There are no budgets, and no memory cap. Not for callbacks: a run does not know it.
--
--   local testing = require "hotcb.testing"             -- busted --helper=.../testing.lua
--   local cb = testing.load("guard.lua", { init = { every = 10 } })
--   cb:step(20, { loss = 3.5 })                          -- train_step_end, at step 20
--   assert.same({ "loss 3.5" }, cb.lines)
--   assert.is_true(cb:set { max_loss = 5 })              -- or nil and the host's sentence
local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"

local function part(name, ...) return assert(loadfile(here .. name .. ".lua"))(...) end

local text = part "testing_text"
local params = part("testing_params", text)
local tensors = part "testing_tensor"
local sandbox = part("testing_sandbox", text, here, tensors)
local carry_out, say, new_live = sandbox.carry_out, sandbox.say, sandbox.new_live

---@class hotcb.testing
local testing = { null = text.null, tensor = tensors.new }

---One callback in its sandbox. What it did is in these fields; clear them as you like.
---@class hotcb.testing.Callback
---@field id string
---@field name string|nil its `name`
---@field script table|nil its table, which handle gets as self; nil if it defines globals
---@field globals table what it sees as _G
---@field params table<string, any> the values of its parameters
---@field lines string[] what it logged
---@field logs { level: string, text: string }[] the same with levels
---@field scalars { key: string, value: number, step: integer|nil }[]
---@field histograms { key: string, counts: number[], edges: number[], step: integer|nil }[]
---@field images { key: string, pixels: string, width: integer, height: integer,
---  channels: integer, step: integer|nil, path: string }[]
---@field artifacts table<string, string> bytes by name; not those of images
---@field stop_reason string|nil why it asked the run to stop
---@field enabled boolean false after hotcb.disable()
---@field failed string|nil why it was stopped: it is not called any more
---@field calls integer how often handle was called
---@field dropped integer what it asked for beyond what one call may
---@field now number what hotcb.clock() says, in seconds: yours to set
---@field system hotcb.System what hotcb.system(true) says: yours to set, or to change; with
---  gpus, take out gpu_problem
local Callback = {}
Callback.__index = Callback

---An env by itself, for a spec that calls a function of its own with one.
---@param fields? table<string, any> as for Callback:emit
---@param groups? string[] groups beyond the five
---@return table env
---@return string[] lines what env.log was told
function testing.env(fields, groups)
  local live, lines = new_live(fields, groups, 2), {}
  local clear = sandbox.new_env(function() return live end, "c", function(...)
    lines[#lines + 1] = text.printable(sandbox.line_of("log", ...))
  end)
  return clear(), lines
end

-- ---- one version of a script ---------------------------------------------------------------

local function about(cb, sentence) error(("%s: %s"):format(cb._.name, sentence), 0) end

local function pick_symbol(cb, returned)
  local symbol = cb._.symbol
  if not symbol or returned.name == symbol then return returned end
  if type(returned[symbol]) == "table" then return returned[symbol] end
  about(cb, ("returns no table named '%s' (symbol)"):format(symbol))
end

local function adopt(cb, state, returned)
  if type(returned) == "table" then
    state.self = pick_symbol(cb, returned)
    if type(state.self.handle) ~= "function" then
      about(cb, "the table it returns has no function handle(event, env)")
    end
    state.self.id = cb.id
  elseif returned ~= nil then
    about(cb, "must return a table, or nothing and define global functions")
  elseif cb._.symbol then
    about(cb, "returns nothing, so there is no symbol to pick")
  elseif type(state.globals.handle) ~= "function" then
    about(cb, "is no callback: return a table with a function handle(event, env), or define a "
      .. "global function handle(event, env)")
  end
end

local function text_field(cb, self, field)
  local value = self[field]
  if value ~= nil and type(value) ~= "string" then
    about(cb, ("'%s' must be text"):format(field))
  end
  return value
end

local function read_schedule(cb, state)
  state.schedule = text_field(cb, state.self, "schedule")
  local p = state.schedule and params.find(state.rows, state.schedule)
  if state.schedule and not (p and p.type == "integer") then
    about(cb, ("schedule = \"%s\" must name a declared integer parameter")
      :format(state.schedule))
  end
end

local aliases = { train_batch_end = "train_step_end", step_end = "train_step_end",
                  val_batch_end = "val_step_end", train_begin = "fit_start",
                  train_end = "fit_end" }

local function read_events(cb, state)
  if state.self.events == nil then return end
  local ok, list = pcall(text.from_lua, state.self.events)
  local wants = {}
  for _, event in ipairs(ok and list.type == "list" and list.v or { {} }) do
    if event.type ~= "text" then about(cb, "'events' must be a list of event names") end
    wants[aliases[event.v] or event.v] = true
  end
  state.wants = wants
end

local function read_declarations(cb, state)
  local declared = state.self.params
  state.name = text_field(cb, state.self, "name")
  if declared ~= nil and type(declared) ~= "table" then
    about(cb, "'params' must be a table of rows { name, default, ... }")
  end
  state.declares = declared ~= nil
  if declared then
    local ok, rows = pcall(params.read, declared)
    if not ok then about(cb, rows) end
    state.rows = rows
  end
  read_schedule(cb, state)
  read_events(cb, state)
end

-- Calls into the script; returns true and what it returned, or false and what is said of it.
local function enter(fn, ...)
  local results = table.pack(xpcall(fn, sandbox.describe_error, ...))
  return results[1], results[2]
end

-- Writes the values to self, then tells set_params; `changed` is a list of {name, node}.
local function apply_values(state, changed)
  local values, self = {}, state.self
  for _, pair in ipairs(changed) do values[pair[1]] = text.to_lua(pair[2]) end
  if self and state.declares then
    for _, pair in ipairs(changed) do self[pair[1]] = text.to_lua(pair[2]) end
  end
  local set_params = (self or state.globals).set_params
  if type(set_params) ~= "function" then return true end
  if self then return enter(set_params, self, values) end
  return enter(set_params, values)
end

local function takes_params(state)
  return type((state.self or state.globals).set_params) == "function"
end

-- Values for a script that declares none: as they are, null being none.
local function merge(into, map)
  for _, pair in ipairs(map.v) do
    if pair[2].type ~= "null" then
      if not params.finite(pair[2]) then
        error(("%s=%s: only a declared range can admit that")
          :format(pair[1], pair[2].source or "inf"), 0)
      end
      local old = text.get(into, pair[1])
      if old then old.type, old.v, old.source = pair[2].type, pair[2].v, pair[2].source
      else
        local n = pair[2]
        into.v[#into.v + 1] = { pair[1], text.node(n.type, n.v, n.source) }
      end
    end
  end
end

local function new_map() return text.node("map", {}) end

local function init_values(cb, state, lenient)
  if not state.declares then
    state.loose_init, state.loose = new_map(), new_map()
    merge(state.loose_init, cb._.init)
    merge(state.loose, cb._.init)
    merge(state.loose, cb._.set)
  elseif lenient then
    params.keep(state.rows, cb._.init, true, state.dropped)
    params.keep(state.rows, cb._.set, false, state.dropped)
  else
    for _, good in ipairs(params.convert(state.rows, cb._.init)) do
      good[1].initial, good[1].value = good[2], good[2]
    end
    for _, good in ipairs(params.convert(state.rows, cb._.set)) do good[1].value = good[2] end
  end
end

local function current_values(state)
  if not state.declares then return state.loose.v end
  local values = {}
  for i, p in ipairs(state.rows) do values[i] = { p.name, p.value } end
  return values
end

-- Compiles and sets up `source`; raises what the host would say of a load.
local function set_up(cb, source, lenient)
  local state = { globals = sandbox.new_globals(cb), rows = {}, dropped = {} }
  if not source:find("%S") then about(cb, "is empty") end
  state.env = sandbox.new_env(function() return cb._.live end, cb._.framework, function(...)
    sandbox.queue_log(cb, "info", "log", ...)
  end)
  local chunk = sandbox.compile(source, cb._.name, state.globals)
  local ok, returned = enter(chunk)
  if not ok then error(returned, 0) end
  adopt(cb, state, returned)
  if state.self then read_declarations(cb, state) end
  init_values(cb, state, lenient)
  local values = current_values(state)
  if not state.declares and #values > 0 and not takes_params(state) then
    about(cb, "takes no parameters: it declares none and has no set_params")
  end
  if #values > 0 then
    local told, why = apply_values(state, values)
    if not told then error(why, 0) end
  end
  return state
end

local function try_set_up(cb, source, lenient)
  local ok, state = pcall(set_up, cb, source, lenient)
  carry_out(cb, ok)
  return ok and state or nil, not ok and state or nil
end

-- ---- loading --------------------------------------------------------------------------------

local function show_values(cb)
  cb.params = {}
  for _, pair in ipairs(current_values(cb._.state)) do
    cb.params[pair[1]] = text.to_lua(pair[2])
  end
end

local function take_over(cb, state)
  cb._.state, cb._.attached = state, false
  cb.name, cb.script, cb.globals = state.name, state.self, state.globals
  show_values(cb)
end

local function map_of(values, what)
  local node = text.from_lua(values or {})
  if node.type ~= "map" then error(what .. ": a table of names and values expected", 3) end
  return node
end

local function new_callback(source, name, opts)
  opts = opts or {}
  local stem = name:match("([^/]*)%.lua$") or name:match("([^/.]*)$")
  local cb = setmetatable({
    id = opts.id or stem, enabled = opts.enabled ~= false, calls = 0, dropped = 0, now = 0,
    lines = {}, logs = {}, scalars = {}, histograms = {}, images = {}, artifacts = {},
    system = sandbox.new_system(),
  }, Callback)
  cb._ = {
    name = name, dir = name:match("^(.*/)") or "", symbol = opts.symbol,
    queue = { bytes = 0, said = 0, files = 0 }, framework = opts.framework or "c",
    coroutines = opts.coroutines, groups = opts.groups,
    search_path = opts.search_path or os.getenv("HOTCB_PATH") or "", due = {}, counts = {},
    last = {}, init = map_of(opts.init, "init"), set = map_of(opts.params, "params"),
  }
  local state, why = try_set_up(cb, source, false)
  if not state then error(why, 0) end
  take_over(cb, state)
  return cb
end

---Loads a callback from a file, or a shipped one by its name, as `hotcb load` does. Raises
---the host's sentence if it does not load.
---@param path string "guard.lua", or "hotcb.callbacks.heartbeat"
---@param opts? { id?: string, init?: table, params?: table, symbol?: string, enabled?: boolean,
---  framework?: string, groups?: string[], coroutines?: boolean, search_path?: string }
---@return hotcb.testing.Callback
function testing.load(path, opts)
  if path:find("^hotcb%.callbacks%.") then
    local bytes = sandbox.read_shipped(path) or error(("no shipped module '%s'"):format(path), 2)
    return new_callback(bytes, path, opts)
  end
  local bytes, why = sandbox.read_file(path)
  if not bytes then error(why, 2) end
  local cb = new_callback(bytes, path, opts)
  cb._.path = path
  return cb
end

---The same of a text, which has the name "script.lua".
---@param source string
---@param opts? table as for load
---@return hotcb.testing.Callback
function testing.script(source, opts) return new_callback(source, "script.lua", opts) end

-- ---- schedule -------------------------------------------------------------------------------

local step_events = { train_step_end = true, val_step_end = true, grads_ready = true }

-- Next is the smallest multiple of every (> 0) above step.
local function count_from(due, every, step)
  local rest = math.fmod(step, every)
  local up = rest < 0 and -rest or every - rest
  due.ended = step > math.maxinteger - up
  due.next = due.ended and math.maxinteger or step + up
end

local function every_of(state) return params.find(state.rows, state.schedule).value.v or 0 end

-- Whether `step` is due, and counts it: once per crossed multiple, and at the first step seen
-- (or the first after steps went backwards) only if it is a multiple itself.
local function is_due(cb, event, step, backwards)
  local every, due = every_of(cb._.state), cb._.due[event]
  if every <= 0 then return false end
  local first = not due or backwards
  if not first and (due.ended or step < due.next) then return false end
  cb._.due[event] = due or {}
  count_from(cb._.due[event], every, step)
  return not first or math.fmod(step, every) == 0
end

-- An interval that changed is counted from the last step.
local function update_schedule(cb, before)
  local every = cb._.state.schedule and every_of(cb._.state)
  if not every or every == before or every <= 0 then return end
  for event, due in pairs(cb._.due) do count_from(due, every, cb._.last[event]) end
end

local function count_step(cb, event, live)
  if not step_events[event] then return 0, false end
  local step = live.step or cb._.counts[event] or 0
  local last = cb._.last[event]
  cb._.counts[event] = (cb._.counts[event] or 0) + 1
  cb._.last[event] = step
  return step, last ~= nil and step < last
end

-- ---- events ---------------------------------------------------------------------------------

-- Calls fn with env live; a failure stops the callback and is raised, so that the spec fails.
local function call(cb, fn, ...)
  cb._.live.call = (cb._.live.call or 0) + 1 -- views of tensors hold during one call
  local ok, result = enter(fn, ...)
  carry_out(cb, ok)
  if ok then return end
  cb.failed = result
  error(result, 0)
end

local function attach(cb)
  local self = cb._.state.self
  if cb._.attached or not cb.enabled or cb.failed then return end
  cb._.attached = true
  if self and self.on_attach ~= nil then call(cb, self.on_attach, self, cb._.state.env()) end
end

local function wants(cb, event, step, backwards)
  local state = cb._.state
  if not cb.enabled or cb.failed or (state.wants and not state.wants[event]) then
    return false
  end
  return not (state.schedule and step_events[event]) or is_due(cb, event, step, backwards)
end

local function dispatch(cb, event, live)
  local step, backwards = count_step(cb, event, live)
  local state = cb._.state
  attach(cb)
  if not wants(cb, event, step, backwards) then return false end
  cb.calls = cb.calls + 1
  if state.self then
    call(cb, state.self.handle, state.self, event, state.env())
  else
    call(cb, state.globals.handle, event, state.env())
  end
  return true
end

---One apply of one event. Whether the callback was called; raises what it raised.
---@param event string other names for the canonical ones are taken
---@param fields? table<string, any> what env holds: { step = 1, metrics = { lr = 0.1 } } or
---  { ["metrics.lr"] = 0.1 }; a function is asked when its key is read. What is in a group comes
---  in the order of names, or in that of a list: { grads = { { "w", w }, { "b", b } } }
---@return boolean
function Callback:emit(event, fields)
  if type(event) ~= "string" or event == "" or #event > 63 or event:find("[%c ]") then
    error(("event '%s': a name is one word of 1 to 63 bytes"):format(tostring(event)), 2)
  end
  self._.live = new_live(fields, self._.groups, 2)
  local ok, called = pcall(dispatch, self, aliases[event] or event, self._.live)
  self._.live.over, self._.live = true, nil
  if not ok then error(called, 0) end
  return called
end

---train_step_end at a step.
---@param step integer
---@param fields? table<string, any>
---@return boolean called
function Callback:step(step, fields)
  local all = { step = step }
  for key, value in pairs(fields or {}) do all[key] = value end
  return self:emit("train_step_end", all)
end

---train_step_end at each step from first to last; the steps at which handle was called.
---@param first integer
---@param last integer
---@param fields? table<string, any>|fun(step: integer): table
---@return integer[]
function Callback:steps(first, last, fields)
  local called = {}
  for step = first, last do
    local given = fields
    if type(fields) == "function" then given = fields(step) end
    if self:step(step, given) then called[#called + 1] = step end
  end
  return called
end

---The last value of a scalar, or nil.
---@param key string
---@return number|nil
function Callback:scalar(key)
  for i = #self.scalars, 1, -1 do
    if self.scalars[i].key == key then return self.scalars[i].value end
  end
end

-- ---- parameters -------------------------------------------------------------------------------

local function read_words(...)
  local map = new_map()
  for _, word in ipairs { ... } do
    local key, value = word:match("^([^=]+)=(.*)$")
    if not key then error(("'%s' is not of the form key=value"):format(word), 3) end
    if text.get(map, key) then error(key .. " is given twice", 3) end
    local ok, node = pcall(text.typed, value)
    if not ok then
      return nil, ("%s is a number beyond 64 bits, which no parameter can be"):format(value)
    end
    map.v[#map.v + 1] = { key, node }
  end
  return map
end

local function set_declared(state, map)
  local good, changed, before = params.convert(state.rows, map), {}, {}
  for i, pair in ipairs(good) do
    changed[i], before[i] = { pair[1].name, pair[2] }, { pair[1].name, pair[1].value }
  end
  local ok, why = apply_values(state, changed)
  if not ok then
    for _, pair in ipairs(before) do state.self[pair[1]] = text.to_lua(pair[2]) end
    error(why, 0)
  end
  for _, pair in ipairs(good) do pair[1].value = pair[2] end
end

local function set_loose(state, map)
  local changed, all = new_map(), new_map()
  for i, pair in ipairs(map.v) do
    local value = pair[2].type == "null" and text.get(state.loose_init, pair[1]) or pair[2]
    if value.type == "null" then
      error(pair[1] .. "=null: it has no initial value to go back to", 0)
    end
    changed.v[i] = { pair[1], value }
  end
  merge(all, state.loose)
  merge(all, changed)
  if not takes_params(state) then
    error("it takes no parameters: it declares none and has no set_params", 0)
  end
  local ok, why = apply_values(state, changed.v)
  if not ok then error(why, 0) end
  state.loose = all
end

-- What was set so far: needed again for the next version of the script.
local function remember(cb, map)
  for _, pair in ipairs(map.v) do
    local kept = {}
    for _, old in ipairs(cb._.set.v) do
      if old[1] ~= pair[1] then kept[#kept + 1] = old end
    end
    if pair[2].type ~= "null" then kept[#kept + 1] = pair end
    cb._.set = text.node("map", kept)
  end
end

---Changes parameters, all or nothing: `cb:set { every = 5 }`, or as it is typed after
---`hotcb set ID`: `cb:set("every=5", "mode=max")`. testing.null goes back to the initial value.
---@param values table<string, any>|string
---@param ... string
---@return boolean|nil ok
---@return string|nil why the host's sentence
function Callback:set(values, ...)
  local map, why
  if type(values) == "table" then map = map_of(values, "set")
  else map, why = read_words(values, ...) end
  if not map then return nil, why end
  local state = self._.state
  local before = state.schedule and every_of(state)
  local ok, refusal = pcall(state.declares and set_declared or set_loose, state, map)
  carry_out(self, ok)
  if not ok then return nil, refusal end
  remember(self, map)
  show_values(self)
  update_schedule(self, before)
  return true
end

-- ---- life ---------------------------------------------------------------------------------------

function Callback:disable() self.enabled = false end

---Switches it on; also after a failure. Multiples that went by meanwhile do not count.
function Callback:enable()
  if not self.enabled or self.failed then self._.due = {} end
  self.enabled, self.failed = true, nil
end

-- A hook without env, which need not be there; raises what it raises.
local function call_hook(cb, state, name, ...)
  local hook = state.self and state.self[name]
  if hook == nil then return nil end
  local ok, result = enter(hook, state.self, ...)
  carry_out(cb, ok)
  if not ok then error(result, 0) end
  return result
end

local function save_state(cb, state)
  local saved = call_hook(cb, state, "save")
  if saved == nil then return nil end
  if type(saved) ~= "table" then error("save() must return a table of plain data", 0) end
  local ok, node = pcall(text.from_lua, saved)
  if not ok then error("save(): " .. node, 0) end
  return text.to_lua(node)
end

---What save() gives, as plain data; nil if there is no such hook.
---@return table|nil
function Callback:save() return save_state(self, self._.state) end

---@param saved table
function Callback:restore(saved) call_hook(self, self._.state, "restore", saved) end

function Callback:close() call_hook(self, self._.state, "close") end

-- A save or restore that fails costs the state, never the reload.
local function hand_over(cb, state, source)
  local saved_ok, saved = pcall(save_state, cb, cb._.state)
  local ok, why = saved_ok, saved
  if saved_ok and saved ~= nil then ok, why = pcall(call_hook, cb, state, "restore", saved) end
  if ok then return state end
  say(cb, "warn", ("%s() failed, the new version starts afresh: %s")
    :format(saved_ok and "restore" or "save", why))
  if not saved_ok then return state end
  return try_set_up(cb, source, true)
end

---A new version takes over as after an edit: restore(save()), close() of the old one, values
---kept as far as they fit. Where it does not load, the old version stays.
---@param source? string its text; without it the file is read again
---@return boolean|nil ok
---@return string|nil why
function Callback:reload(source)
  local why
  if not source then source, why = sandbox.read_file(self._.path or "script.lua") end
  if not source then return nil, why end
  local old = self._.state
  local before = old.schedule and every_of(old)
  local state
  state, why = try_set_up(self, source, true)
  if state then state, why = hand_over(self, state, source) end
  if not state then return nil, why end
  if #state.dropped > 0 then
    say(self, "warn", "values that the new version does not take were left out: "
      .. table.concat(state.dropped, ", "))
  end
  if self.failed then self._.due, self.failed = {}, nil end
  take_over(self, state)
  update_schedule(self, before)
  local closed, problem = pcall(call_hook, self, old, "close")
  if not closed then say(self, "warn", "close() failed: " .. problem) end
  return true
end

-- So that `busted --helper=.../testing.lua` is all that a spec's `require` needs.
package.loaded["hotcb.testing"] = testing
return testing
