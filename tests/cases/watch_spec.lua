-- Public cases 14, 16, 18, 20, 22: every way in which a script is saved is live at
-- the next look, and no half-saved version ever takes the place of a good one.
local rig = require "support.rig"
local scripts = require "support.scripts"

local counter_lua, at_version = scripts.counter, scripts.at_version

-- A host whom the kernel tells of changes, and one who has to look.
local function deaf(mode)
  return { env = { LD_PRELOAD = rig.shim_path, SHIM_INOTIFY = mode,
                   ASAN_OPTIONS = "verify_asan_link_order=0" } }
end
local ways = { ["told of"] = {}, ["looked for"] = deaf "EMFILE" }

-- How often the script of `id` was reloaded.
local function reloads(r, id) return #r:ledger { op = "reload", id = id, decision = "applied" } end

-- How a file comes to hold other bytes. Each is given the run, the bytes, and a
-- fresh number.
local saves = {
  ["in place"] = function(r, bytes) r:write("counter.lua", bytes) end,
  ["by rename (mv over it)"] = function(r, bytes)
    r:write("counter.lua.tmp", bytes)
    r:sh("mv counter.lua.tmp counter.lua")
  end,
  ["sed -i"] = function(r, bytes)
    local version = bytes:match('VERSION = "(v%d)"')
    r:sh([[sed -i 's/VERSION = "v[0-9]*"/VERSION = "]] .. version .. [["/' counter.lua]])
  end,
  ["in place, same size and time"] = function(r, bytes)
    r:sh("touch -r counter.lua ../time")
    r:write("counter.lua", bytes)
    r:sh("touch -r ../time counter.lua")
  end,
  ["cp -p of a file with the same size and time"] = function(r, bytes)
    r:write("../other.lua", bytes)
    r:sh("touch -r counter.lua ../other.lua && cp -p ../other.lua counter.lua")
  end,
  ["by rename, same size and time"] = function(r, bytes)
    r:write("../other.lua", bytes)
    r:sh("touch -r counter.lua ../other.lua && mv ../other.lua counter.lua")
  end,
  ["truncate, look, write"] = function(r, bytes)
    r:sh(": > counter.lua")
    r:apply()
    r:write("counter.lua", bytes)
  end,
  ["removed, look, made again"] = function(r, bytes)
    r:sh("rm counter.lua")
    r:apply()
    r:write("counter.lua", bytes)
  end,
  ["symbolic link swapped"] = function(r, bytes, i)
    r:write("../version" .. i .. ".lua", bytes)
    r:sh(("ln -s ../version%d.lua link.tmp && mv -T link.tmp counter.lua"):format(i))
  end,
  ["what the link points to, by rename"] = function(r, bytes)
    r:sh("test -L counter.lua || { mv counter.lua ../real.lua; ln -s ../real.lua counter.lua; }")
    r:write("../real.tmp", bytes)
    r:sh("mv ../real.tmp ../real.lua")
  end,
  ["an editor's way: backup file, new file"] = function(r, bytes)
    r:sh("cp -p counter.lua counter.lua~ && mv counter.lua .counter.lua.swp")
    r:write("counter.lua", bytes)
    r:sh("rm .counter.lua.swp")
  end,
  ["an older time stamp"] = function(r, bytes)
    r:write("counter.lua", bytes)
    r:sh("touch -d 2001-01-01 counter.lua")
  end,
}

describe("case 14: a save", function()
  after_each(rig.clean)

  it("by sed -i, three times: the case's script", function()
    local r = rig.new()
    r:script("hb.lua")
    r:load("hb")
    r:send { op = "set_params", id = "hb", params = { every = 7 } }
    r:apply()
    for v = 2, 4 do
      r:sh(("sed -i s/v%d/v%d/ hb.lua"):format(v - 1, v))
      r:apply()
      assert.equal(("hb v%d train_step_end calls=1"):format(v), r:said("hb"))
      assert.equal("on", r:callback("hb").state)
      assert.equal(7, r:callback("hb").params.every)
    end
  end)

  local function each_save(check)
    for way, opts in pairs(ways) do
      for name, save in pairs(saves) do check(name .. ", " .. way, save, opts) end
    end
  end

  each_save(function(name, save, opts)
    it("is live at the next look, three times: " .. name, function()
      local r = rig.new(opts)
      r:script("counter.lua", counter_lua)
      r:load("counter", { init = { every = 3 } })
      r:load("sleeper", { enabled = false, target = { kind = "lua_file", path = "counter.lua" } })
      local n = 2
      for v = 2, 4 do
        save(r, at_version(counter_lua, v), v)
        r:apply()
        n = tonumber(r:said("counter"):match("n=(%d+)"))
        assert.equal(("counter v%d n=%d every=3"):format(v, r.host.next_step), r:said("counter"))
        assert.equal(v - 1, reloads(r, "counter"))
        assert.equal(v - 1, reloads(r, "sleeper"))
        assert.same({ "on", "off" }, { r:callback("counter").state, r:callback("sleeper").state })
      end
      r:apply(3)
      assert.equal(3, reloads(r, "counter"))
      assert.equal(n + 3, tonumber(r:said("counter"):match("n=(%d+)")))
      r:send { op = "enable", id = "sleeper" }
      r:apply()
      assert.matches("^counter v4 n=1 ", r:said("sleeper"))
    end)
  end)

  each_save(function(name, save, opts)
    it("of hotcb.yaml is live at the next look as well: " .. name, function()
      local r = rig.new(opts)
      r:script("hb.lua")
      local text = '# VERSION = "v1"\ncallbacks:\n  hb:\n    target: {kind: lua_file, path: ' ..
        r.dir .. '/hb.lua}\n    params: {note: a VERSION = "v1"}\n'
      r:write("counter.lua", text)
      r.host:quit()
      r:start { args = { "--config", r.dir .. "/counter.lua" }, env = opts.env }
      r:apply()
      for v = 2, 4 do
        save(r, at_version(text, v), v)
        r:apply()
        assert.equal(('a VERSION = "v%d"'):format(v), r:callback("hb").params.note)
      end
      assert.equal("on", r:callback("hb").state)
      assert.equal("hb v1 train_step_end calls=" .. r.host.next_step, r:said("hb"))
    end)
  end)

  it("of a helper reloads those who required it", function()
    local r = rig.new()
    r:write("words.lua", 'return { word = "one" }\n')
    for _, id in ipairs { "a", "b" } do
      r:script(id .. ".lua", 'local w = require "words"\n' ..
        'function handle() hotcb.log("info", "%s", w.word) end\n')
      r:load(id)
    end
    r:script("c.lua", "function handle() end\n")
    r:load("c")
    for i, word in ipairs { "two", "three" } do
      r:write("words.lua", ('return { word = "%s" }\n'):format(word))
      r:apply()
      assert.same({ word, word }, { r:said("a"), r:said("b") })
      assert.same({ i, i, 0 }, { reloads(r, "a"), reloads(r, "b"), reloads(r, "c") })
    end
  end)
end)

describe("case 16: a second save within one tick of the clock", function()
  after_each(rig.clean)

  local function touched(r)
    r:sh("touch -r hb.lua ../time")
    return function() r:sh("touch -r ../time hb.lua") end
  end

  it("is found by content, and a bare touch is none", function()
    local r = rig.new()
    r:script("hb.lua")
    r:load("hb")
    local same_time = touched(r)
    r:script("hb.lua", rig.file("hb_same_size_v2.lua"))
    same_time()
    r:apply()
    assert.equal("hb v2 train_step_end calls=1", r:said("hb"))
    r:sh("touch hb.lua")
    r:apply(2)
    assert.equal("hb v2 train_step_end calls=3", r:said("hb"))
    assert.equal(1, reloads(r, "hb"))
    r:sh("touch -d 1990-01-01 hb.lua; chmod 600 hb.lua; cp -p hb.lua x; mv x hb.lua")
    r:apply(2)
    assert.equal("hb v2 train_step_end calls=5", r:said("hb"))
    assert.equal(1, reloads(r, "hb"))
  end)

  it("as are 50 saves in a row, with a look after each", function()
    local r = rig.new()
    r:script("hb.lua")
    r:load("hb")
    local same_time = touched(r)
    for i = 1, 50 do
      r:script("hb.lua", rig.file(i % 2 == 0 and "hb.lua" or "hb_same_size_v2.lua"))
      same_time()
      r:apply()
      assert.equal(("hb v%d train_step_end calls=1"):format(i % 2 + 1), r:said("hb"))
    end
    assert.equal(50, reloads(r, "hb"))
  end)

  it("of hotcb.yaml is found, too", function()
    local r = rig.new()
    r:script("hb.lua")
    local yaml = "callbacks:\n  hb: {target: {kind: lua_file, path: hb.lua}, params: {every: %d}}\n"
    r:yaml(yaml:format(1))
    r:apply()
    r:sh("touch -r hotcb.yaml ../time")
    for i = 2, 9 do
      r:yaml(yaml:format(i))
      r:sh("touch -r ../time hotcb.yaml")
      r:apply()
      assert.equal(i, r:callback("hb").params.every)
    end
  end)
end)

-- What a file may look like while it is being saved, and what mends it.
local gaps = {
  ["empty"] = function(r) r:sh(": > hb.lua") end,
  ["removed"] = function(r) r:sh("rm hb.lua") end,
  ["only white space"] = function(r) r:write("hb.lua", "\n  \n") end,
  ["a folder"] = function(r) r:sh("rm hb.lua && mkdir hb.lua") end,
  ["a dangling link"] = function(r) r:sh("ln -sf nowhere.lua hb.lua") end,
  ["a FIFO"] = function(r) r:sh("rm hb.lua && mkfifo hb.lua") end,
}

describe("case 18: while a file is", function()
  after_each(rig.clean)

  for name, open_gap in pairs(gaps) do
    it(name .. ", the last version goes on", function()
      local r = rig.new()
      r:script("hb.lua")
      r:load("hb")
      local from = r:log_length()
      open_gap(r)
      r:apply(2)
      assert.equal("hb v1 train_step_end calls=3", r:said("hb"))
      assert.equal("on", r:callback("hb").state)
      assert.is_true(#r:complaints(from) <= 1)
      r:sh("rm -rf hb.lua")
      r:script("hb.lua", at_version(rig.file("hb.lua"), 2))
      r:apply()
      assert.equal("hb v2 train_step_end calls=1", r:said("hb"))
      assert.is_true(#r:complaints(from) <= 1)
      assert.same({}, r:ledger { op = "unload" })
    end)
  end

  it("written in pieces, with a look after each, only whole versions run", function()
    local r = rig.new()
    r:script("hb.lua")
    r:load("hb")
    local new = at_version(rig.file("hb.lua"), 2)
    local from = r:log_length()
    r:sh(": > hb.lua")
    for at = 1, #new, 60 do
      r:append("hb.lua", new:sub(at, at + 59))
      r:apply()
      assert.equal("on", r:callback("hb").state)
      assert.matches("^hb v[12] train_step_end", r:said("hb"))
    end
    assert.matches("^hb v2", r:said("hb"))
    for _, line in ipairs(r:log(nil, from)) do
      assert.is_nil(line.text:find("unloaded"))
    end
  end)
end)

describe("case 20: where the kernel tells nothing of changes", function()
  after_each(rig.clean)

  for _, mode in ipairs { "EMFILE", "ENOSYS", "ENOSPC", "silent", "deaf" } do
    it("edits are live all the same: " .. mode, function()
      local r = rig.new(deaf(mode))
      r:script("hb.lua")
      r:load("hb")
      for v = 2, 4 do
        r:sh(("sed -i s/v%d/v%d/ hb.lua"):format(v - 1, v))
        r:apply()
        assert.equal(("hb v%d train_step_end calls=1"):format(v), r:said("hb"))
      end
      assert.equal("stat", r:status().look.method)
      assert.same({}, r:complaints())
      assert.same({}, r:log("[Nn]o space left"))
    end)
  end
end)

-- What is done in the scratch folder (hb.lua is scripts/deep/hb.lua in it, of version 1) to
-- have version 2 where version 1 was, without a write to that file.
local swaps = {
  ["its folder is replaced"] = "cp -r scripts/deep new && mv scripts/deep old && " ..
    "mv new scripts/deep && sed -i s/v1/v2/ scripts/deep/hb.lua",
  ["its folder's folder is replaced"] = "cp -r scripts new && " ..
    "sed -i s/v1/v2/ new/deep/hb.lua && mv scripts old && mv new scripts",
  ["its folder becomes a link"] = "mv scripts/deep other && sed -i s/v1/v2/ other/hb.lua && " ..
    "ln -s ../other scripts/deep",
  ["its folder's folder becomes a link"] = "mv scripts other && " ..
    "sed -i s/v1/v2/ other/deep/hb.lua && ln -s other scripts",
  ["it is written by another name"] = 'text=$(sed s/v1/v2/ name) && printf %s "$text" > name',
}

describe("case 14, where the kernel tells of changes, also: a script is saved, for", function()
  after_each(rig.clean)

  for name, swap in pairs(swaps) do
    it(name, function()
      local r = rig.new()
      r:sh("mkdir -p ../scripts/deep")
      r:write("../scripts/deep/hb.lua", rig.file("hb.lua"))
      -- One that it is given later would be noticed within a second.
      if name:match("another name") then r:sh("ln ../scripts/deep/hb.lua ../name") end
      r:load("hb", { target = { kind = "lua_file", path = r.folder .. "/scripts/deep/hb.lua" } })
      r:apply(3)
      r:sh("cd .. && " .. swap)
      r:apply()
      assert.equal("hb v2 train_step_end calls=1", r:said("hb"))
      for v = 3, 5 do
        r:sh(("cd ../scripts/deep && sed -i s/v%d/v%d/ hb.lua"):format(v - 1, v))
        r:apply()
        assert.equal(("hb v%d train_step_end calls=1"):format(v), r:said("hb"))
      end
    end)
  end

  it("the run directory is a link that is swapped for another", function()
    local r = rig.new { host = false, dir = "latest" }
    r:sh("cd .. && rmdir latest && mkdir one && ln -s one latest")
    r:start()
    r:script("hb.lua")
    r:load("hb")
    for v = 2, 3 do
      r:sh(("sed -i s/v%d/v%d/ hb.lua"):format(v - 1, v))
      r:apply()
      assert.equal(("hb v%d train_step_end calls=1"):format(v), r:said("hb"))
    end
    r:sh("cd .. && cp -r one two && rm two/hotcb.lock && sed -i s/v3/v4/ two/hb.lua && " ..
      "ln -sfT two latest")
    r:apply(2)
    assert.equal("hb v4 train_step_end calls=1", r:log("hb v4", 0)[1].text)
  end)
end)

-- Versions that must not take over, and what the message must say.
local broken = {
  ["a syntax error"] = { "function handle(event, env)\n  x = = 1\nend\n", "hb%.lua:2: " },
  ["an error while it loads"] = { 'error("not today")\n', "hb%.lua:1: not today" },
  ["no handle"] = { "VERSION = 3\n", "handle" },
  ["a number returned"] = { "return 5\n", "hb%.lua" },
  ["a table without handle"] = { "return { name = 'x' }\n", "handle" },
  ["a handle that is text"] = { "handle = 'x'\n", "handle" },
  ["byte code"] = { string.dump(load("function handle() end")), "precompiled" },
  ["a bad declaration"] = { "return { handle = print, params = { { 'id', 1 } } }\n", "id" },
  ["a script without end"] = { "while true do end\n", "hb%.lua" },
  ["a script that eats memory"] = { "local t = {} for i = 1, 1e9 do t[i] = i end\n", "memory" },
  ["Python"] = { "def handle(event, env):\n    print(env)\n", "hb%.lua:1: " },
}

local function assert_v1_goes_on(r, from, pattern)
  assert.equal("on", r:callback("hb").state)
  assert.equal(1, #r:complaints(from))
  assert.matches(pattern, r:complaints(from)[1])
  assert.equal(1, #r:ledger { op = "reload", decision = "rejected" })
  assert.matches(pattern, r:callback("hb").pending)
end

describe("case 22: a half-saved script", function()
  after_each(rig.clean)

  it("is reported once, and the fixed one runs: the case's files", function()
    local r = rig.new()
    r:script("hb.lua")
    r:load("hb")
    local from = r:log_length()
    r:script("hb.lua", rig.file("hb_half_saved.lua"))
    r:apply(1000)
    assert.equal("hb v1 train_step_end calls=1001", r:said("hb"))
    assert_v1_goes_on(r, from, "hb%.lua:%d+: ")
    r:script("hb.lua", at_version(rig.file("hb.lua"), 2))
    r:apply()
    assert.equal("hb v2 train_step_end calls=1", r:said("hb"))
    assert.equal("on", r:callback("hb").state)
    assert.is_true(r:callback("hb").enabled)
    assert.is_nil(r:callback("hb").pending)
  end)

  for name, row in pairs(broken) do
    it("so is " .. name, function()
      local r = rig.new()
      r:script("hb.lua")
      r:load("hb")
      local from = r:log_length()
      r:script("hb.lua", row[1])
      r:apply(20)
      assert.equal("hb v1 train_step_end calls=21", r:said("hb"))
      assert_v1_goes_on(r, from, row[2])
      r:send { op = "disable", id = "hb" }
      r:apply()
      r:script("hb.lua", at_version(rig.file("hb.lua"), 2))
      r:apply()
      assert.equal("off", r:callback("hb").state)
      r:send { op = "enable", id = "hb" }
      r:apply()
      assert.equal("hb v2 train_step_end calls=1", r:said("hb"))
    end)
  end

  it("that hotcb.yaml wants is listed as FAILED, and runs once it is mended", function()
    local r = rig.new()
    r:yaml("callbacks: {hb: {target: {kind: lua_file, path: hb.lua}, params: {every: 3}}}\n")
    for i, text in ipairs { false, "", "x = = 1\n", rig.file("hb_half_saved.lua") } do
      if text then r:script("hb.lua", text) end
      r:apply(5)
      assert.equal("FAILED", r:callback("hb").state)
      assert.is_true(r:callback("hb").enabled)
      assert.is_true(#r:complaints() <= i)
      assert.matches("hb%.lua", r:callback("hb").error.message)
    end
    r:script("hb.lua")
    r:apply()
    assert.equal("on", r:callback("hb").state)
    assert.is_nil(r:callback("hb").error)
    assert.equal(3, r:callback("hb").params.every)
    assert.equal("hb v1 train_step_end calls=1", r:said("hb"))
  end)

  it("that a second broken save follows is reported again, for that is news", function()
    local r = rig.new()
    r:script("hb.lua")
    r:load("hb")
    for i, bad in ipairs { "x = = 1\n", "\nx = = 1\n", "x = = 1\n" } do
      r:script("hb.lua", bad)
      r:apply(5)
      assert.equal(i, #r:ledger { op = "reload", decision = "rejected" })
    end
    r:script("hb.lua")
    r:apply()
    assert.matches("^hb v1 train_step_end", r:said("hb"))
    assert.is_nil(r:callback("hb").pending)
  end)
end)
