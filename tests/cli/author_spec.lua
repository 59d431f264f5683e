-- What the tool does for who writes callbacks: `new`, and what `check` has to say beyond
-- whether a script loads.
local json = require "support.json"
local rig = require "support.rig"
local shell = require "support.shell"

local function check(body, ...)
  local r = rig.new { host = false }
  r:write(r.folder .. "/it.lua", body)
  local out = r:tool_alone("check", "it.lua", "--json", ...).out
  return json.decode(out), r
end

local head = "local T = { params = { { 'x', 1 } } }\n"
local tail = "\nreturn T"
local handle = "function T:handle(event, env) end"

-- A script and the warnings about it, line by line; `own`: head and tail are its own.
local warning_rows = {
  { handle, {} },
  { "local n = 0\nfunction T:handle(event, env) n = n + 1 hotcb.scalar('n', n) end", {} },
  { "function T:handle(event, env)\n  n = 1\nend",
    { "it.lua:3: sets the global 'n': write local, if it is meant to be this script's own" } },
  { "count = 0\nfunction T:handle() count = count + 1 end",
    { "it.lua:2: sets the global 'count': write local, if it is meant to be this script's own" } },
  { "local count = 0\nfunction T:handle() cuont = count + 1 end",
    { "it.lua:3: sets the global 'cuont': write local, if it is meant to be this script's own" } },
  { "function T:handle(event, env) local a = mth.pi end",
    { "it.lua:2: reads the global 'mth', which nothing sets - did you mean 'math'?" } },
  { "function T:handle(event, env) return os.time() end",
    { "it.lua:2: reads the global 'os', which nothing sets" } },
  { "function T:handle(event, env) return evn.loss end",
    { "it.lua:2: reads the global 'evn', which nothing sets - did you mean 'env'?" } },
  { "T.handle = function(event, env) return self.x end",
    { "it.lua:2: reads the global 'self', which nothing sets" } },
  { "function T:handle() coroutine.yield() end",
    { "it.lua:2: reads the global 'coroutine', which is there only where limits.coroutines "
      .. "allows it" } },
  { handle .. "\nfunction T:on_atach(env) end",
    { "it.lua:3: 'on_atach' is no hook - did you mean 'on_attach'?" } },
  { handle .. "\nfunction T:set_parms(p) end\nfunction T:Save() end",
    { "it.lua:3: 'set_parms' is no hook - did you mean 'set_params'?",
      "it.lua:4: 'Save' is no hook - did you mean 'save'?" } },
  { handle .. "\nfunction T:handler() end\nfunction T:update() end", {} },
  { handle .. "\nT.close = true", { "it.lua: 'close' is no function, so calling it will fail" } },
  { handle .. "\nfunction set_params() end",
    { "it.lua:3: sets the global 'set_params', which is not called: the table that is returned "
      .. "counts" } },
  { "#!/usr/bin/lua and words\nn = 0\nfunction handle() n = n + 1 end", {}, own = true },
  { "function handle(event, env)\n  last = env.loss\nend",
    { "it.lua:2: sets the global 'last': write local, if it is meant to be this script's own" },
    own = true },
  { "function handle() helper() end function helper() end", {}, own = true },
  { "function handle() end\nfunction set_param(p) end",
    { "it.lua:2: 'set_param' is no hook - did you mean 'set_params'?" }, own = true },
  { "function handle() end\nfunction save() end",
    { "it.lua:2: 'save' is not called: only a script that returns a table has that hook" },
    own = true },
}

describe("check", function()
  after_each(rig.clean)

  for i, row in ipairs(warning_rows) do
    it("warns, row " .. i .. ": " .. (row[2][1] or "nothing"), function()
      local report = check(row.own and row[1] or head .. row[1] .. tail)
      assert.is_true(report.ok, report.error)
      table.sort(report.warnings)
      table.sort(row[2])
      assert.same(row[2], { table.unpack(report.warnings) })
    end)
  end

  it("names the hooks, and notes events that are a host's", function()
    local report = check("return { handle = print, close = print, events = { 'fit_end', "
      .. "'train_end', 'train_step_edn', 'epoch_begin_of_mine' } }")
    assert.same({ "handle", "close" }, { table.unpack(report.hooks) })
    assert.same({ "event 'train_step_edn' is none of hotcb's own - did you mean 'train_step_end'?",
                  "event 'epoch_begin_of_mine' is none of hotcb's own: it comes where the host "
                  .. "emits it" }, { table.unpack(report.notes) })
    assert.equal(0, #report.warnings)
  end)

  it("knows what a required module sets, and the shipped callbacks are fine", function()
    local report, r = check("require 'other'\nreturn { handle = function() return there end }")
    assert.is_false(report.ok)
    r:write(r.folder .. "/other.lua", "there = 1")
    report = json.decode(r:tool_alone("check", "it.lua", "--json").out)
    assert.same({ true, 0 }, { report.ok, #report.warnings })
    local root = os.getenv "HOTCB_TEST_SOURCE"
    for _, folder in ipairs { root .. "/callbacks", root .. "/examples/callbacks" } do
      for _, name in ipairs(shell.names(folder)) do
        report = json.decode(r:tool_alone("check", folder .. "/" .. name, "--json").out)
        assert.same({ true, 0, 0 }, { report.ok, #report.warnings, #report.notes }, name)
      end
    end
  end)

  it("is not led astray by what a script does to its state", function()
    local report = check("setmetatable(_G, { __index = function() error('no') end })\n"
      .. "return setmetatable({ handle = print }, { __index = function() error('no') end })")
    assert.is_boolean(report.ok)
    report = check("for i = 1, 500 do _G['on_atach' .. i] = print end\n"
      .. "function handle() end")
    assert.is_true(report.ok)
  end)

  it("says warnings on standard error, and still succeeds", function()
    local _, r = check(head .. "function T:handle() n = 1 end\nfunction T:clsoe() end" .. tail)
    local answer = r:tool_alone("check", "it.lua")
    assert.equal(0, answer.code)
    assert.matches("hooks: handle\n", answer.out)
    assert.is_nil(answer.out:find("global", 1, true))
    assert.matches("warning: it.lua:2: sets the global 'n'", answer.err)
    assert.matches("warning: it.lua:3: 'clsoe' is no hook %- did you mean 'close'%?", answer.err)
  end)
end)

describe("new", function()
  after_each(rig.clean)

  it("makes a callback that loads and runs, and a spec that passes as it is printed", function()
    local r = rig.new()
    local answer = r:start_tool({ cwd = r.dir }, "new", "my_guard_2").collect()
    assert.equal(0, answer.code, answer.err)
    assert.equal("made  my_guard_2.lua\nmade  my_guard_2_spec.lua\n", answer.out)
    local test = answer.err:match("then: ([^\n]+)\n")
    assert.matches("successes / 0 failures / 0 errors", r:sh(test))
    assert.matches("3 successes", r:sh(test .. " --output=plainTerminal"))
    local report = json.decode(r:tool_alone("check", r.dir .. "/my_guard_2.lua", "--json").out)
    assert.same({ true, 0, 0 }, { report.ok, #report.warnings, #report.notes })
    r:load("my_guard_2", { init = { every = 1 } })
    assert.equal("on", r:callback("my_guard_2").state)
    for _, name in ipairs { "my_guard_2.lua", "my_guard_2_spec.lua" } do
      local _, lines = r:read(name):gsub("\n", "")
      assert.is_true(lines < 30)
    end
  end)

  local function new(r, ...) return r:start_tool({ cwd = r.dir }, "new", ...).collect() end

  it("leaves alone what is there", function()
    for _, name in ipairs { "x.lua", "x_spec.lua" } do
      local r = rig.new { host = false }
      r:write(name, "mine")
      local answer = new(r, "x")
      assert.equal(1, answer.code)
      assert.is_truthy(answer.err:find(name .. " is there already: nothing is written", 1, true))
      assert.equal("mine", r:read(name))
      assert.same({ name }, shell.names(r.dir))
    end
  end)

  it("takes letters, digits and '_', and nothing else", function()
    local r = rig.new { host = false }
    for _, name in ipairs { "", "a-b", "a.lua", "../x", "a b", ("n"):rep(65), "é" } do
      assert.equal(2, new(r, name).code, name)
    end
    assert.same({}, shell.names(r.dir))
    assert.equal(0, new(r, ("n"):rep(64)).code)
  end)

  it("says it in JSON, too, and what it lacks", function()
    local r = rig.new { host = false }
    local answer = r:start_tool({ env = { PATH = r.folder } }, "new", "a", "--json").collect()
    local made = json.decode(answer.out)
    assert.same({ "a.lua", "a_spec.lua" }, { table.unpack(made.made) })
    assert.matches("^lua5.4 /usr/bin/busted %-%-helper=", made.test)
    assert.matches("busted, which runs specs, is not installed", answer.err)
  end)

  it("leaves nothing behind where it cannot write", function()
    local r = rig.new { host = false }
    r:sh("ln -s /nowhere/x b_spec.lua")
    assert.equal(1, new(r, "b").code)
    assert.same({ "b_spec.lua" }, shell.names(r.dir))
  end)
end)
