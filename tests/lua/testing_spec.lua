-- hotcb.testing by itself: what a script sees in it, and what its driver does.
local testing = require "hotcb.testing"

local function script(body, opts) return testing.script(body, opts) end

-- A callback of one method, and what it says.
local function handler(body, head)
  return script(("local T = { %s } function T:handle(event, env) %s end return T")
    :format(head or "", body))
end

local function raised(fn, ...)
  local ok, why = pcall(fn, ...)
  assert.is_false(ok)
  return why
end

describe("the sandbox", function()
  for _, name in ipairs { "os", "io", "debug", "package", "load", "loadfile", "dofile",
                          "collectgarbage", "warn", "coroutine", "describe", "arg" } do
    it("has no " .. name, function()
      local cb = handler(("print(%s == nil, _G.%s == nil)"):format(name, name))
      cb:step(0)
      assert.same({ "true true" }, cb.lines)
    end)
  end

  it("has no string.dump, no __gc, and hides the metatable of text", function()
    local cb = handler("print(string.dump, getmetatable('')) setmetatable({}, { __gc = print })")
    assert.matches("script.lua:1: __gc is not available to callbacks: use close%(%)",
                   raised(cb.step, cb, 0))
    assert.same({ "nil false" }, cb.lines)
  end)

  it("has coroutines where they are allowed", function()
    local cb = script("function handle() print(coroutine.wrap(function() return 1 end)()) end",
                      { coroutines = true })
    cb:step(0)
    assert.same({ "1" }, cb.lines)
  end)

  it("shares nothing between two callbacks", function()
    script("string.rep = nil math.pi = 3 x = 1 function handle() end")
    local cb = handler("print(('a'):rep(2), math.pi > 3.1, x)")
    cb:step(0)
    assert.same({ "aa true nil" }, cb.lines)
  end)

  it("requires text from beside the script, once", function()
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir -p " .. folder .. "/lib"))
    local function put(name, body)
      local f = assert(io.open(folder .. "/" .. name, "w"))
      f:write(body)
      f:close()
    end
    put("lib/util.lua", "n = (n or 0) + 1 return { n = n, name = ... }")
    put("it.lua", "local a, b = require 'lib.util', require 'lib.util'\n"
      .. "function handle() print(a == b, a.n, a.name) require 'os' end")
    local cb = testing.load(folder .. "/it.lua")
    assert.equal("it", cb.id)
    assert.matches("it.lua:2: require 'os': no such module", raised(cb.step, cb, 0))
    assert.same({ "true 1 lib.util" }, cb.lines)
    os.execute("rm -r " .. folder)
  end)
end)

-- The source and what a load says of it.
local load_rows = {
  { "", "script.lua: is empty" },
  { "x = = 1", "script.lua:1: unexpected symbol near '='" },
  { "return 5", "script.lua: must return a table, or nothing and define global functions" },
  { "return {}", "script.lua: the table it returns has no function handle(event, env)" },
  { "x = 1", "script.lua: is no callback: return a table with a function handle(event, env), or "
    .. "define a global function handle(event, env)" },
  { "\27Lua", "script.lua: precompiled Lua is not accepted: load the source text" },
  { "return { handle = print, name = 5 }", "script.lua: 'name' must be text" },
  { "return { handle = print, events = 'fit_end' }",
    "script.lua: 'events' must be a list of event names" },
  { "return { handle = print, schedule = 'every' }",
    'script.lua: schedule = "every" must name a declared integer parameter' },
  { "return { handle = print, params = 1 }",
    "script.lua: 'params' must be a table of rows { name, default, ... }" },
  { "\nerror('no')", "script.lua:2: no" },
  { "error({})", "script.lua:1: (the error value is a table)" },
}

describe("a load", function()
  for _, row in ipairs(load_rows) do
    it("is refused: " .. row[2], function()
      assert.equal(row[2], raised(script, row[1]))
    end)
  end

  it("takes init and params, and tells set_params", function()
    local cb = script("local T = { params = { { 'a', 1 }, { 'b', 2 } } }\n"
      .. "function T:set_params(p) print(p.a, p.b, self.a) end\n"
      .. "function T:handle() end return T", { init = { a = 5 }, params = { a = 6 } })
    assert.same({ "6 2 6" }, cb.lines)
    assert.is_true(cb:set { a = testing.null })
    assert.same({ a = 5, b = 2 }, cb.params)
    assert.equal("5 nil 5", cb.lines[2])
  end)

  it("picks a symbol", function()
    local source = "return { A = { name = 'x', handle = print } }"
    assert.equal("x", script(source, { symbol = "A" }).name)
    assert.equal("script.lua: returns no table named 'B' (symbol)",
                 raised(script, source, { symbol = "B" }))
  end)
end)

describe("env", function()
  it("holds what the host set, in groups, and nil else", function()
    local cb = handler("print(env.step, env.loss, env.metrics.lr, env.grads['a.b'], env['x.y'], "
      .. "env.mine.z, env.framework, env.model.w, env.nothing)")
    local asked = 0
    cb:emit("step_end", { step = 3, loss = 0.5, ["metrics.lr"] = 0.1, ["x.y"] = "t",
                          grads = { ["a.b"] = function() asked = asked + 1 return 7 end },
                          mine = { z = true } })
    assert.same({ "3 0.5 0.1 7 t true c nil nil" }, cb.lines)
    assert.equal(1, asked)
  end)

  it("ends with the call, and forgets what was written into it", function()
    local cb = script("local kept\nlocal T = {}\nfunction T:handle(event, env)\n"
      .. "  print(env.mine, env.metrics.mine) env.mine = 1 env.metrics.mine = 2 kept = env\nend\n"
      .. "function T:set_params() print(kept.step) end return T")
    cb:step(0)
    cb:step(1)
    assert.same({ "nil nil", "nil nil" }, cb.lines)
    local ok, why = cb:set { x = 1 }
    assert.is_nil(ok)
    assert.equal("script.lua:6: env holds only during handle and on_attach", why)
  end)

  it("can be walked", function()
    local cb = handler("local t = {} for k in pairs(env) do t[#t + 1] = k end table.sort(t) "
      .. "print(table.concat(t, ','))")
    cb:step(1, { loss = 1 })
    assert.same({ "batch,framework,grads,log,loss,metrics,model,outputs,step" }, cb.lines)
  end)

  it("formats only where there are arguments", function()
    local cb = handler("env.log('100 %') env.log('%d %s', env.step, event)")
    cb:step(4)
    assert.same({ "100 %", "4 train_step_end" }, cb.lines)
  end)

  it("comes by itself, too", function()
    local env, lines = testing.env({ step = 1, ["optim.lr"] = 2 }, { "optim" })
    env.log("%d %d", env.step, env.optim.lr)
    assert.same({ "1 2" }, lines)
  end)

  it("takes from a spec only what a host can set", function()
    local cb = handler("")
    assert.matches("testing_spec.lua:.*env x: a host sets numbers", raised(function()
      cb:emit("fit_end", { x = io.stdout })
    end))
    assert.matches("env step: an integer expected", raised(cb.step, cb, 1.5))
  end)
end)

describe("what it asks for", function()
  it("is carried out after the call: scalars and artifacts only if it succeeded", function()
    local cb = handler("hotcb.log('warn', 'w %d', 1) hotcb.scalar('a', env.step) "
      .. "hotcb.scalar('b', 2.5, 9) hotcb.artifact('t.txt', 'x', 'append') "
      .. "if env.step == 2 then hotcb.stop('enough') hotcb.stop('more') error('no') end")
    cb:step(1)
    assert.is_nil(cb.stop_reason)
    assert.equal("script.lua:1: no", raised(cb.step, cb, 2))
    assert.same({ { key = "a", value = 1, step = 1 }, { key = "b", value = 2.5, step = 9 } },
                cb.scalars)
    assert.equal(2.5, cb:scalar("b"))
    assert.same({ ["t.txt"] = "x" }, cb.artifacts)
    assert.same({ { level = "warn", text = "w 1" }, { level = "warn", text = "w 1" } }, cb.logs)
    assert.equal("enough", cb.stop_reason)
    assert.equal("script.lua:1: no", cb.failed)
  end)

  it("stops after a failure, until it is enabled", function()
    local cb = handler("if env.step == 1 then error('no') end")
    raised(cb.step, cb, 1)
    assert.is_false(cb:step(2))
    cb:enable()
    assert.is_true(cb:step(3))
    assert.equal(2, cb.calls)
  end)

  it("may be to be switched off, and to know the time", function()
    local cb = handler("print(hotcb.clock()) if hotcb.clock() > 1 then hotcb.disable() end")
    cb:step(1)
    cb.now = 1.5
    cb:step(2)
    assert.is_false(cb.enabled)
    assert.is_false(cb:step(3))
    assert.same({ "0.0", "1.5" }, cb.lines)
  end)

  it("says of the machine what the spec says, a copy each time", function()
    local cb = handler([[local s = hotcb.system(self.gpus)
      print(s.cpus, s.gpu_problem ~= nil, s.gpus and s.gpus[1].name)
      s.cpus, s.gpus = 0, s.gpus and table.remove(s.gpus)]])
    cb:step(0)
    cb.script.gpus = true
    cb:step(1)
    cb.system.gpu_problem, cb.system.gpus = nil, { { name = "A" } }
    cb:step(2)
    cb:step(3)
    assert.same({ "4.0 false nil", "4.0 true nil", "4.0 false A", "4.0 false A" }, cb.lines)
  end)

  it("is bounded", function()
    local cb = handler("for i = 1, 2000 do hotcb.scalar('k', i) end hotcb.stop('s')")
    cb:step(1)
    assert.same({ 1024, 976, "s" }, { #cb.scalars, cb.dropped, cb.stop_reason })
  end)

  it("has lines of 4096 bytes at most of print, too", function()
    local cb = handler("print(('y'):rep(300000), 'z') print('last')")
    cb:step(0)
    assert.same({ ("y"):rep(4096) .. "... (300002 bytes)", "last", 0 },
                { cb.lines[1], cb.lines[2], cb.dropped })
  end)

  it("has lines of 4096 bytes at most", function()
    local cb = handler("for i = 1, 3 do hotcb.log(('y'):rep(5000000)) end hotcb.log('last')")
    cb:step(1)
    assert.same({ ("y"):rep(4096) .. "... (5000000 bytes)", "last", 0 },
                { cb.lines[3], cb.lines[4], cb.dropped })
  end)

  for _, row in ipairs {
    { "hotcb.scalar(5, 1)", "bad argument #1 to 'scalar' (string expected, got number)" },
    { "hotcb.scalar('k')", "bad argument #2 to 'scalar' (number expected, got no value)" },
    { "hotcb.scalar('', 1)", "bad argument #1 to 'scalar' (a key of 1 to 250 bytes expected)" },
    { "hotcb.log('loud', 'x')", "bad argument #1 to 'log' (invalid option 'loud')" },
    { "hotcb.log()", "bad argument #1 to 'log' (string expected, got no value)" },
    { "hotcb.artifact('a', 5)", "bad argument #2 to 'artifact' (string expected, got number)" },
    { "hotcb.json.encode({ print })", "json.encode: a function, which is not plain data" },
    { "hotcb.json.encode(env)", "json.encode: env itself, which is not plain data" },
  } do
    it("is refused: " .. row[1], function()
      local cb = handler(row[1])
      assert.equal("script.lua:1: " .. row[2], raised(cb.step, cb, 0))
    end)
  end

  it("cannot be a file elsewhere", function()
    local cb = handler("hotcb.artifact('../x', '')")
    cb:step(0)
    assert.same({}, cb.artifacts)
    assert.matches('artifact "../x" has "." or ".." as a component', cb.lines[1])
    cb = handler("hotcb.artifact(('n/'):rep(16) .. 'n', '') hotcb.artifact('.a.1.tmp', '')")
    cb:step(0)
    assert.same({}, cb.artifacts)
    assert.matches("more than 16 components", cb.lines[1])
    assert.matches("as half%-written files are called", cb.lines[2])
  end)

  it("json goes both ways", function()
    local cb = handler([[
      print(hotcb.json.encode({ 1, 2.0, 0.1, "a\n\u{e9}", { k = true } }))
      local t = hotcb.json.decode('{"a":[1,2.5,null,"\\u00e9\\ud83d\\ude00"],"b":false}')
      print(t.a[1], t.a[2], t.a[3], t.a[4], t.b)
      print(hotcb.json.decode('{"a":1'))]])
    cb:step(0)
    assert.equal([=[[1,2.0,0.1,"a\né",{"k":true}]]=], cb.lines[1])
    assert.equal("1 2.5 nil é😀 false", cb.lines[2])
    assert.matches("^nil not valid JSON", cb.lines[3])
  end)

  it("next and rawget find what env shows", function()
    local cb = handler("local n, m = 0, env.metrics for k, v in next, m do n = n + v end " ..
                       "m.own = 4 print(n, next(m) ~= nil, rawget(m, 'x'), rawget(m, 'own'), " ..
                       "rawget(env, 'loss'), next(env.model), next({}), next({ 1 }))")
    cb:step(0, { ["metrics.x"] = 1, ["metrics.y"] = 2, loss = 0.5 })
    cb:step(1, { ["metrics.y"] = 5 })
    assert.same({ "3 true 1 4 0.5 nil nil 1 1", "5 true nil 4 nil nil nil 1 1" }, cb.lines)
  end)

  it("json shows the groups of env", function()
    local cb = handler("env.metrics.own = 1 print(hotcb.json.encode({ env.metrics, env.model }))")
    cb:step(0, { ["metrics.lr"] = 0.5 })
    assert.same({ '[{"lr":0.5,"own":1},{}]' }, cb.lines)
  end)
end)

local every = "params = { { 'every', 5, min = 0 } }, schedule = 'every',"

describe("the schedule", function()
  for _, row in ipairs {
    { { 0, 1, 4, 5, 6, 10 }, { 0, 5, 10 } },
    { { 3, 4, 7, 8, 23, 24, 25 }, { 7, 23, 25 } },
    { { 5, 5, 5, 6, 10 }, { 5, 10 } },
    { { 8, 9, 10, 3, 4, 5 }, { 10, 5 } },
    { { 8, 10, 5, 6, 10 }, { 10, 5, 10 } },
    { { -7, -6, -5, -1, 0 }, { -5, 0 } },
    { { math.maxinteger - 1, math.maxinteger, math.mininteger }, {} },
  } do
    it("is due once per crossed multiple: " .. table.concat(row[1], " "), function()
      local cb, due = handler("", every), {}
      for _, step in ipairs(row[1]) do
        if cb:step(step) then due[#due + 1] = step end
      end
      assert.same(row[2], due)
    end)
  end

  it("is of step events alone, each by itself, and of steps that are counted", function()
    local cb = handler("", every)
    assert.is_true(cb:emit("fit_start"))
    assert.is_true(cb:emit("train_batch_end", { step = 5 }))
    assert.is_true(cb:emit("val_step_end", { step = 5 }))
    assert.is_false(cb:emit("val_batch_end", { step = 6 }))
    local due = {}
    for i = 0, 10 do due[#due + 1] = cb:emit("grads_ready") and i or nil end
    assert.same({ 0, 5, 10 }, due)
  end)

  it("follows the parameter", function()
    local cb = handler("", every)
    assert.same({ 0, 5 }, cb:steps(0, 8))
    assert.is_true(cb:set { every = 3 })
    assert.same({ 9, 12 }, cb:steps(9, 13))
    assert.is_true(cb:set("every=0"))
    assert.same({}, cb:steps(14, 30))
  end)

  it("gives way to events", function()
    local cb = handler("print(event)", "events = { 'train_end', 'mine' }")
    assert.is_false(cb:step(1))
    assert.is_true(cb:emit("fit_end"))
    assert.is_true(cb:emit("mine"))
    assert.same({ "fit_end", "mine" }, cb.lines)
  end)
end)

local counter = [[
local T = { name = "VERSION", params = { { "every", 1 } } }
local n = 0
function T:handle() n = n + 1 end
function T:save() return { n = n } end
function T:restore(saved) n = saved.n end
function T:on_attach(env) print("attach", env.step) end
function T:close() print("close", self.name, n) end
return T
]]

describe("life", function()
  it("of state over an edit: save, restore, close, on_attach", function()
    local cb = script(counter)
    cb:steps(1, 3)
    assert.same({ n = 3 }, cb:save())
    assert.is_true(cb:set { every = 7 })
    assert.is_true(cb:reload((counter:gsub("VERSION", "v2"))))
    assert.equal("v2", cb.name)
    assert.same({ every = 7 }, cb.params)
    cb:step(4)
    assert.same({ n = 4 }, cb:save())
    assert.same({ "attach 1", "close VERSION 3", "attach 4" }, cb.lines)
    cb:restore { n = 40 }
    cb:close()
    assert.equal("close v2 40", cb.lines[4])
  end)

  it("goes on with the old version where the new one does not load", function()
    local cb = script(counter)
    cb:step(1)
    local ok, why = cb:reload("x = = 1")
    assert.is_nil(ok)
    assert.equal("script.lua:1: unexpected symbol near '='", why)
    cb:step(2)
    assert.same({ n = 2 }, cb:save())
  end)

  it("loses the state, not the reload, where restore fails; and values that do not fit", function()
    local cb = script(counter)
    cb:step(1)
    cb:set { every = 9 }
    local edited = counter:gsub("n = saved.n", "error('bad')"):gsub('"every"', '"often"')
    assert.is_true(cb:reload(edited))
    assert.same({ n = 0 }, cb:save())
    assert.same({ often = 1 }, cb.params)
    assert.matches("restore%(%) failed, the new version starts afresh: script.lua:5: bad",
                   cb.lines[2])
    assert.equal("values that the new version does not take were left out: every", cb.lines[3])
  end)

  it("refuses what save() may not return", function()
    local cb = script("return { handle = print, save = function() return { print } end }")
    assert.equal("save(): a function, which is not plain data", raised(cb.save, cb))
  end)
end)

describe("a set that set_params refuses", function()
  it("leaves the values as they were", function()
    local cb = script("local T = { params = { { 'a', 1 } } }\n"
      .. "function T:set_params() if self.a > 5 then error('too much') end end\n"
      .. "function T:handle() print(self.a) end return T")
    local ok, why = cb:set { a = 6 }
    assert.same({ false, "script.lua:2: too much" }, { ok or false, why })
    cb:step(0)
    assert.same({ "1" }, cb.lines)
    assert.same({ a = 1 }, cb.params)
  end)
end)
