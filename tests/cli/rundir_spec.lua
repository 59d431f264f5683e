-- Run directories that are missing, closed to us, taken, deleted, or full of work.
local rig = require "support.rig"
local scripts = require "support.scripts"
local shell = require "support.shell"

-- Words that run what follows as somebody who owns nothing here.
local function as_nobody()
  if shell.must("id -u") ~= "0\n" then return {} end
  return { "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups" }
end

-- Copies of the programs that somebody else may run, too, wherever they were built.
local function for_everybody(r, path)
  local copy = r.folder .. "/" .. path:match("[^/]+$")
  shell.must(("cp %s %s && chmod 755 %s"):format(path, copy, copy))
  return copy
end

-- Another host, whose log is not mixed with that of the first.
local function other_host(r, dir)
  return r:another_host(dir, { args = { "--log", r.folder .. "/log" } })
end

-- Makes a place for a run directory that cannot be had; returns its path and what
-- the sentence must name.
local bad_places = {
  ["a file"] = function(r)
    shell.write(r.folder .. "/file", "x")
    return r.folder .. "/file"
  end,
  ["below a file"] = function(r)
    shell.write(r.folder .. "/file", "x")
    return r.folder .. "/file/run"
  end,
  ["a dangling link"] = function(r)
    r:sh("ln -s /nowhere/at/all ../link")
    return r.folder .. "/link"
  end,
  ["a loop of links"] = function(r)
    r:sh("ln -s loop ../loop")
    return r.folder .. "/loop/run"
  end,
  ["a name that is too long"] = function(r) return r.folder .. "/" .. ("x"):rep(300) end,
  ["in /proc"] = function() return "/proc/hotcb" end,
}

describe("no run directory", function()
  after_each(rig.clean)

  for name, make in pairs(bad_places) do
    it("can be had: " .. name .. "; the loop goes on without", function()
      local r = rig.new { host = false }
      local dir = make(r)
      local host = other_host(r, dir)
      assert.matches("^%-%d+ .*" .. dir:match("[^/]+$"):sub(1, 20), host.opened)
      assert.matches("^%-1 ", host:ask("apply 5"))
      assert.equal("none", host:ask("stop?"))
      assert.matches("^%-", host:ask('command {"op":"enable","id":"x"}'))
      assert.matches("%w", host:ask("errmsg"))
    end)
  end

  it("is made by the host, with its parents", function()
    local r = rig.new { host = false }
    r.dir = r.folder .. "/a/b c/run"
    shell.mkdir(r.folder .. "/a/b c")
    r:start()
    assert.matches("^0", r.host.opened)
    r:apply()
    assert.equal(0, r:tool_alone("status").code)
  end)

  it("is not made where the host says so", function()
    local r = rig.new { host = false }
    local host = r:another_host(r.folder .. "/none", { args = { "--no-create" } })
    assert.matches("^%-4 .*none", host.opened)
    assert.is_false(shell.exists(r.folder .. "/none"))
  end)
end)

describe("a read-only run directory", function()
  after_each(rig.clean)

  it("is refused by the host and by the tool, with a sentence", function()
    local r = rig.new { host = false }
    local program, tool = for_everybody(r, rig.host_path), for_everybody(r, rig.tool_path)
    assert.equal(0, r:tool_alone("init").code)
    r:sh("chmod 555 . && chmod 444 *")
    r:sh(": > ../log && chmod 666 ../log")
    local host = r:another_host(r.dir, { program = program, as = as_nobody(),
                                         args = { "--log", r.folder .. "/log" } })
    assert.matches("^%-3 .*run.*[Pp]ermission denied", host.opened)
    assert.matches("^%-1 ", host:ask("apply 5"))
    local words = as_nobody()
    table.move({ tool, "--dir", r.dir, "enable", "hb" }, 1, 5, #words + 1, words)
    local answer = shell.start(shell.words(words), r.folder).collect()
    assert.equal(1, answer.code)
    assert.matches("hotcb%.commands%.jsonl.*[Pp]ermission denied", answer.err)
    assert.equal("", r:read("hotcb.commands.jsonl"))
  end)

  it("that became so while the run goes on costs a warning, and the run mends itself", function()
    local r = rig.new { host = false }
    local program = for_everybody(r, rig.host_path)
    r:script("hb.lua")
    r:sh("chmod 777 . && chmod 644 hb.lua && : > ../run.host.log && chmod 666 ../run.host.log")
    r:start { program = program, as = as_nobody() }
    assert.matches("^0", r.host.opened)
    r:load("hb")
    r:sh("chmod 555 .")
    local from = r:log_length()
    r:send { op = "set_params", id = "hb", params = { every = 2 } }
    r:apply(100)
    assert.equal(1, #r:log("status%.json.*[Pp]ermission denied", from))
    assert.equal(1, #r:log("state%.json.*[Pp]ermission denied", from))
    assert.equal(2, #r:complaints(from))
    assert.equal("hb v1 train_step_end calls=101", r:said("hb"))
    r:sh("chmod 777 .")
    r:send { op = "set_params", id = "hb", params = { every = 3 } }
    r:apply(2)
    assert.equal(2, #r:ledger { op = "set_params", decision = "applied" })
    assert.equal(3, r:status().callbacks[1].params.every)
  end)
end)

describe("a run directory deleted while the run goes on", function()
  after_each(rig.clean)

  local function deleted_run()
    local r = rig.new { loose = true }
    r:script(r.folder .. "/hb.lua", rig.file("hb.lua"))
    r:load("hb", { target = { kind = "lua_file", path = r.folder .. "/hb.lua" } })
    local from = r:log_length()
    shell.must("rm -rf " .. r.dir)
    r:apply(100)
    return r, from
  end

  it("is warned about once, and the run goes on", function()
    local r, from = deleted_run()
    assert.equal(1, #r:complaints(from))
    assert.truthy(r:complaints(from)[1]:find(r.dir, 1, true))
    assert.equal("hb v1 train_step_end calls=101", r:said("hb"))
    assert.is_false(shell.exists(r.dir))
    assert.equal(4, r:tool_alone("status").code)
  end)

  it("is used again when init makes it again", function()
    local r, from = deleted_run()
    assert.equal(0, r:tool_alone("init").code)
    r:apply(2)
    assert.equal(1, #r:log("is gone", from))
    assert.equal(1, #r:log("is there again: ", from))
    local answer = r:tool("set", "hb", "every=3")
    assert.same({ 0, "" }, { answer.code, answer.err })
    assert.equal(3, r:status().callbacks[1].params.every)
    assert.equal("set_params hb applied", r:verdicts()[1])
    assert.equal(0, r:tool("disable", "hb").code)
    assert.matches("^%-5 ", other_host(r).opened)
    shell.must("rm -rf " .. r.dir)
    r:apply(10)
    assert.equal(2, #r:log("is gone", from))
  end)

  it("is used again when it comes back as it was", function()
    local r = rig.new { loose = true }
    r:script(r.folder .. "/hb.lua", rig.file("hb.lua"))
    r:load("hb", { target = { kind = "lua_file", path = r.folder .. "/hb.lua" } })
    shell.must(("mv %s %s.away"):format(r.dir, r.dir))
    r:apply(10)
    shell.must(("mv %s.away %s"):format(r.dir, r.dir))
    r:apply(2)
    r:send { op = "disable", id = "hb" }
    r:apply()
    assert.same({ "load hb applied", "disable hb applied" }, r:verdicts())
    assert.equal("off", r:callback("hb").state)
  end)

  it("does not stop the run from closing", function()
    local r = deleted_run()
    r.host:quit()
  end)
end)

-- Other names of the same directory.
local other_names = {
  ["the same"] = function(r) return r.dir end,
  ["a slash behind"] = function(r) return r.dir .. "/" end,
  ["dots"] = function(r) return r.dir .. "/../run/." end,
  ["a link"] = function(r)
    r:sh("ln -sfn run ../other")
    return r.folder .. "/other"
  end,
  ["relative"] = function() return "run" end,
}

describe("a second host on the same directory", function()
  after_each(rig.clean)

  for name, make in pairs(other_names) do
    it("is refused with the owner's pid, by " .. name .. " name", function()
      local r = rig.new()
      for _ = 1, 2 do
        local other = other_host(r, make(r))
        assert.matches("^%-5 .*%f[%d]" .. r.host.pid .. "%f[%D]", other.opened)
        assert.matches("^%-1 ", other:ask("apply 3"))
        local here = r:ask("second " .. make(r))
        assert.matches("^%-5 .*%f[%d]" .. r.host.pid .. "%f[%D]", here)
      end
      r:script("hb.lua")
      r:load("hb")
      assert.equal("on", r:callback("hb").state)
      r.host:quit()
      local last = other_host(r, make(r))
      assert.matches("^0", last.opened)
    end)
  end

  it("leaves no trace in the first one's files", function()
    local r = rig.new()
    r:script("hb.lua")
    r:load("hb")
    local before = { r:read("hotcb.applied.jsonl"), r:status().run, r:status().pid }
    other_host(r)
    r:send { op = "disable", id = "hb" }
    assert.same(before, { r:read("hotcb.applied.jsonl"), r:status().run, r:status().pid })
    r:apply()
    assert.same({ "load hb applied", "disable hb applied" }, r:verdicts())
  end)
end)

describe("a host that forks", function()
  after_each(rig.clean)

  it("and dies, leaves a directory that can be taken again", function()
    local r = rig.new()
    r.killed = true
    r:script("hb.lua")
    r:load("hb")
    local child = tonumber(r:ask("fork"))
    r.host:kill()
    assert.is_true(shell.alive(child))
    assert.matches("not running", r:tool_alone("status").out)
    r:start()
    assert.matches("^0", r.host.opened)
    assert.is_true(shell.alive(child))
    r:load("hb2", { target = { kind = "lua_file", path = "hb.lua" } })
    assert.equal("on", r:callback("hb2").state)
    shell.must("kill -9 " .. child)
  end)

  it("goes on as the owner, and its child does nothing", function()
    local r = rig.new()
    r:script("hb.lua")
    r:load("hb")
    r:send { op = "disable", id = "hb" }
    assert.equal("0", r:ask("child 10"))
    assert.same({ "load hb applied" }, r:verdicts())
    assert.equal("hb v1 train_step_end calls=1", r:said("hb"))
    assert.matches("^%-5 ", other_host(r).opened)
    r:apply()
    assert.same({ "load hb applied", "disable hb applied" }, r:verdicts())
    assert.equal("running", r:status().state)
  end)
end)

-- What may stand where hotcb's files should.
local obstacles = {
  ["a directory"] = function(r, name) r:sh("rm -f " .. name .. " && mkdir " .. name) end,
  ["a FIFO"] = function(r, name) r:sh("rm -f " .. name .. " && mkfifo " .. name) end,
}

describe("in the place of hotcb.yaml,", function()
  after_each(rig.clean)

  for name, put in pairs(obstacles) do
    it(name .. " is complained of once, commands go on, and a file mends it", function()
      local r = rig.new()
      r:script("hb.lua")
      put(r, "hotcb.yaml")
      r:apply(5)
      assert.equal(1, #r:complaints())
      assert.matches("hotcb%.yaml", r:complaints()[1])
      r:load("hb")
      assert.equal("on", r:callback("hb").state)
      r:sh("rm -rf hotcb.yaml")
      r:yaml("callbacks: {hb2: {target: {kind: lua_file, path: hb.lua}}}\n")
      r:apply()
      assert.equal("on", r:callback("hb2").state)
      assert.is_nil(r:status().config.error)
    end)
  end
end)

describe("in the place of the command file,", function()
  after_each(rig.clean)

  for name, put in pairs(obstacles) do
    it(name .. " is complained of once, and a file mends it", function()
      local r = rig.new { loose = true }
      r:script("hb.lua")
      r:apply()
      put(r, "hotcb.commands.jsonl")
      r:apply(5)
      assert.equal(1, #r:complaints())
      assert.matches("hotcb%.commands%.jsonl", r:complaints()[1])
      local answer = r:tool_alone("enable", "hb", "--no-wait")
      assert.equal(1, answer.code)
      assert.matches("hotcb%.commands%.jsonl", answer.err)
      r:sh("rm -rf hotcb.commands.jsonl")
      r:load("hb")
      assert.equal("on", r:callback("hb").state)
    end)
  end
end)

-- Files of the run that somebody could have made a link to something of value.
local written = { "log", "metrics.jsonl", "applied.jsonl", "status.json", "state.json", "lock" }

describe("a link in the place of a file that the run writes", function()
  after_each(rig.clean)

  for _, name in ipairs(written) do
    it("is not followed: " .. name, function()
      local r = rig.new { host = false }
      r:script("hb.lua")
      r:write("../victim", '{"mine":true}\n')
      r:sh("ln -s ../victim hotcb." .. name)
      local host = other_host(r, r.dir)
      if not host.opened:match("^0") then assert.matches("hotcb%." .. name, host.opened) end
      host:ask("apply 3")
      host:quit()
      assert.equal('{"mine":true}\n', r:read("../victim"))
      r:sh("rm -f hotcb." .. name)
    end)
  end

  it("nor in that of a callback's artifacts", function()
    local r = rig.new()
    r:script("hb.lua", 'function handle() hotcb.artifact("a/b.txt", "mine") end\n')
    r:sh("mkdir ../elsewhere artifacts && ln -s ../../elsewhere artifacts/hb")
    r:load("hb")
    r:sh("rm artifacts/hb && mkdir artifacts/hb && ln -s ../../../elsewhere artifacts/hb/a")
    r:apply()
    assert.same({}, shell.names(r.folder .. "/elsewhere"))
    assert.is_true(#r:complaints() > 0)
    r:sh("rm artifacts/hb/a")
    r:apply()
    assert.equal("mine", r:read("artifacts/hb/a/b.txt"))
  end)

  it("a command file that anybody may write is warned about", function()
    local r = rig.new { host = false }
    r:sh(": > hotcb.commands.jsonl && chmod 666 hotcb.commands.jsonl")
    r:start()
    assert.equal(1, #r:complaints())
    assert.matches("hotcb%.commands%.jsonl.*anybody", r:complaints()[1])
  end)
end)

local look_ops, look_bytes = 256, 1 << 20

describe("10,000 queued commands", function()
  after_each(rig.clean)

  local function ledger_lines(r) return select(2, r:read("hotcb.applied.jsonl"):gsub("\n", "")) end

  -- Applies until n more are answered; no look may take in more than the caps.
  local function take_in(r, n, line_bytes)
    local looks, answered, before = 0, 0, ledger_lines(r)
    while answered < n do
      r:apply()
      looks = looks + 1
      local now = ledger_lines(r) - before
      assert.is_true(now - answered <= look_ops, "ops in one look: " .. now - answered)
      assert.is_true((now - answered) * line_bytes <= look_bytes + line_bytes)
      assert.is_true(now > answered, "a look that took in nothing")
      answered = now
      if answered < n and looks == 1 then assert.is_true(r:status().commands.queued_more) end
    end
    assert.is_false(r:status().commands.queued_more)
    return looks
  end

  it("are spread over looks, in order", function()
    local r = rig.new()
    r:script("hb.lua")
    r:load("hb")
    local lines = {}
    for i = 1, 10000 do
      lines[i] = ('{"op":"set_params","id":"hb","params":{"n":%d},"cmd":"c%d"}\n'):format(i, i)
    end
    r:send(table.concat(lines))
    local looks = take_in(r, 10000, #lines[10000])
    assert.is_true(looks <= 10000 // look_ops + 2, "looks: " .. looks)
    for i, line in ipairs(r:ledger { op = "set_params" }) do
      assert.same({ "c" .. i, "applied", i }, { line.cmd, line.decision, line.params.n })
    end
    assert.equal(10000, r:callback("hb").params.n)
    assert.equal("hb v1 train_step_end calls=" .. looks + 1, r:said("hb"))
  end)

  it("and a megabyte of empty lines costs a look little", function()
    local r = rig.new()
    r:script("hb.lua")
    r:load("hb")
    r:send(("\n"):rep(look_bytes))
    r:send { op = "disable", id = "hb" }
    local cpu = tonumber(r:ask("cpu"))
    r:apply(2)
    local took = tonumber(r:ask("cpu")) - cpu
    assert.is_true(took < 200000 * rig.slack, "CPU time " .. took)
    assert.equal("off", r:callback("hb").state)
  end)

  it("that are bad ones, and long ones, are as well", function()
    local r = rig.new()
    r:script("hb.lua")
    r:load("hb")
    r:send(("{bad}\n"):rep(1000))
    for _ = 1, 1000 // look_ops + 2 do r:apply() end
    assert.equal(1000, #r:ledger { op = "?", decision = "rejected" })
    local line = ('{"op":"set_params","id":"hb","params":{"x":"%s"}}\n'):format(("y"):rep(20000))
    r:send(line:rep(300))
    take_in(r, 300, #line)
    assert.equal(300, #r:ledger { op = "set_params", decision = "applied" })
  end)
end)

-- Ids, and whether they may be.
local ids = {}
for _, id in ipairs { "hb", "a.b", "a-b_c", "x2", "😀", "héartbeat界", ("x"):rep(120), "CON", "true",
                      "12" } do
  ids[#ids + 1] = { id, true }
end
for _, id in ipairs { "", "a b", " a", "a/b", "../a", "/etc", ".", "..", ".a", "-a", "a\\b", 'a"b',
                      "a'b", "a\nb", "a\tb", "a\27[31mb", ("x"):rep(121), ("x"):rep(1024),
                      ("界"):rep(400) } do
  ids[#ids + 1] = { id, false }
end

local yaml_escapes = {
  ["\n"] = "\\n", ["\t"] = "\\t", ["\27"] = "\\e", ['"'] = '\\"', ["\\"] = "\\\\",
}

describe("an id", function()
  after_each(rig.clean)

  local function check(r, id, good, told)
    if good then
      assert.equal("on", (r:callback(id) or {}).state)
      return
    end
    assert.same({}, r:callbacks())
    assert.matches("1 to 120 bytes of UTF%-8 without spaces", told)
    assert.is_true(#told < 1500)
  end

  for _, row in ipairs(ids) do
    local id, good = row[1], row[2]
    local name = ("%q of %d bytes %s"):format(id:sub(1, 20), #id, good and "may be" or "is refused")
    it(name, function()
      local r = rig.new()
      r:script("hb.lua", [[
function handle() hotcb.scalar("x", 1) hotcb.artifact("a.txt", "a") end]])
      r:send { op = "load", id = id, target = { kind = "lua_file", path = "hb.lua" } }
      r:apply()
      assert.equal(good and "applied" or "rejected", r:ledger()[1].decision)
      check(r, id, good, r:ledger()[1].error)
      if good then assert.equal("a", r:read("artifacts/" .. id .. "/a.txt")) end
      assert.is_false(shell.exists(r.folder .. "/a"))
    end)

    it(name .. " in hotcb.yaml", function()
      local r = rig.new()
      r:script("hb.lua")
      local quoted = id:gsub('[\n\t\27"\\]', yaml_escapes)
      -- With `?`, since a key before a mere `:` may have 1024 characters at most.
      r:yaml('callbacks:\n  ? "' .. quoted .. '"\n  : {target: {kind: lua_file, path: hb.lua}}\n')
      r:apply()
      check(r, id, good, r:status().config.error)
    end)

    it(name .. " from the tool", function()
      local r = rig.new()
      r:script("hb.lua")
      local answer = r:tool("load", "--file", "run/hb.lua", "--enabled", "--", id)
      assert.equal(good, answer.code == 0, answer.err)
      check(r, id, good, answer.err)
    end)
  end
end)

describe("a long run", function()
  after_each(rig.clean)

  it("has a heap that does not grow over 1,000,000 steps with two callbacks", function()
    local r = rig.new { args = { "--poll-ms", 50 } }
    r:script("due.lua", scripts.due)
    r:script("sum.lua", [[
local sum = 0
function handle(event, env)
  sum = sum + env.loss + env.metrics.accuracy
  if env.step % 1000 == 0 then hotcb.scalar("sum", sum) end
end]])
    -- Both by the first look: the whole run may be over before the next one is due.
    r:send { op = "load", id = "due", init = { every = 10000 },
             target = { kind = "lua_file", path = "due.lua" } }
    r:load("sum")
    assert.equal("on", r:callback("sum").state)
    -- Lua's collector lets the heap swing, so its peaks are compared: of ten readings
    -- in the second half of the run, and in the first.
    local steps = 1000000 // rig.slack
    r:apply(steps // 10)
    local function peak()
      local heap, rss = 0, 0
      for _ = 1, 10 do
        r:apply(steps // 20)
        local h, k = r:ask("heap"):match("(%d+) (%d+)")
        heap, rss = math.max(heap, tonumber(h)), math.max(rss, tonumber(k))
      end
      return heap, rss
    end
    local heap, rss = peak()
    local heap_after, rss_after = peak()
    print(("\nheap over %d steps: at most %d, then at most %d bytes; resident %d, then %d KiB")
      :format(steps, heap, heap_after, rss, rss_after))
    assert.is_true(heap_after <= heap + 4096)
    assert.is_true(rss_after <= rss + 256 * rig.slack)
    assert.equal("on", r:callback("sum").state)
  end)
end)
