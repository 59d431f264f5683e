-- Public cases 64, 66 and 68: what a run writes, on a disk that is full, in a directory
-- that goes, and for ever. And what callbacks ask for, beyond all measure. Case 51 but for
-- its handle(), which is in run_spec.
local json = require "support.json"
local rig = require "support.rig"
local shell = require "support.shell"

-- Numbers each thing it asks for by the step, which counts from 0 in each host.
local chatty = [[
function set_params() end
function handle(event, env)
  hotcb.log("info", "line %d", env.step)
  hotcb.scalar("x", env.step)
  hotcb.histogram("h", { env.step }, { 0, 1 })
end]]

local scalar_only = 'function handle(event, env) hotcb.scalar("x", env.step) end\n'

-- The numbers in a file of lines and in the part before it, in order; each line must be
-- a whole one. number(line) is nil for lines that are about something else.
local function numbers(r, name, number)
  local found = {}
  for _, part in ipairs { name .. ".1", name } do
    local bytes = r:read(part) or ""
    assert.is_true(bytes == "" or bytes:sub(-1) == "\n", part .. " ends inside a line")
    for line in bytes:gmatch("(.-)\n") do found[#found + 1] = number(line) end
  end
  return found
end

local function metric_number(line)
  local at = assert(json.decode(line))
  return at.key == "x" and at.value or nil
end

local function media_number(line) return assert(json.decode(line)).counts[1] end

local function log_number(line)
  assert(line:match("^%d%d%d%d%-%d%d%-%d%dT[%d:.]+Z %+%d+%.%d+ %u+ ?  ?%[[^%]]+%] "), line)
  return tonumber(line:match("%] line (%d+)$"))
end

local function metrics(r) return numbers(r, "hotcb.metrics.jsonl", metric_number) end

local function media(r) return numbers(r, "hotcb.media.jsonl", media_number) end

local function logged(r) return numbers(r, "hotcb.log", log_number) end

-- They are `last` and those before it, none left out.
local function assert_end_of(list, last)
  assert.is_true(#list > 0)
  for i, n in ipairs(list) do
    if n ~= last - #list + i then
      error(("%s in the place of %d, of %d"):format(n, last - #list + i, #list), 2)
    end
  end
end

local function total(r, name) return shell.size(r:path(name)) + shell.size(r:path(name .. ".1")) end

-- The loop counts its steps on, whatever becomes of the run.
local function load_by_path(r, text)
  r:script(r.folder .. "/hb.lua", text)
  r:load("hb", { target = { kind = "lua_file", path = r.folder .. "/hb.lua" } })
end

-- ---- case 68 ---------------------------------------------------------------------------

local MIB = 1 << 20

describe("case 68: files of lines", function()
  after_each(rig.clean)

  it("stay within their cap over 1,000,000 steps, and no metric is a log line as well", function()
    local r = rig.new { args = { "--poll-ms", 50, "--metrics-bytes", MIB, "--log-bytes", MIB } }
    local steps = 1000000 // rig.slack
    r:script("hb.lua", scalar_only)
    r:load("hb")
    for _ = 1, 10 do
      r:apply(steps // 10)
      assert.is_true(total(r, "hotcb.metrics.jsonl") <= MIB)
    end
    r.host:quit()
    local kept = metrics(r)
    assert_end_of(kept, steps)
    assert.is_true(total(r, "hotcb.metrics.jsonl") > MIB // 4)
    assert.equal(steps + 1, #kept + r:status().dropped.scalars)
    assert.same({}, logged(r))
    assert.is_true(total(r, "hotcb.log") < 1000)
    assert.same({}, r:complaints())
  end)

  it("so does a log that is written to at each step", function()
    local r = rig.new { args = { "--log-bytes", 100000 } }
    r:script("hb.lua", chatty)
    r:load("hb")
    for i = 1, 10 do
      r:apply(1000)
      assert.is_true(total(r, "hotcb.log") <= 100000)
      assert_end_of(logged(r), i * 1000)
    end
    assert.same({ 0, 0 }, { r:status().dropped.scalars, metrics(r)[1] })
  end)

  it("and restarts change nothing about it, in good order or by kill -9", function()
    local r = rig.new { host = false }
    local args = { "--metrics-bytes", 60000, "--media-bytes", 60000, "--log-bytes", 60000 }
    r:script("hb.lua", chatty)
    r:yaml("callbacks:\n  hb: { target: { kind: lua_file, path: hb.lua } }\n")
    for i = 1, 12 do
      r:start { args = args }
      r:step((i - 1) * 300)
      r:apply(300)
      if i % 3 == 0 then r.host:quit() else r.host:kill() end
      assert_end_of(metrics(r), i * 300 - 1)
      assert_end_of(media(r), i * 300 - 1)
      assert_end_of(logged(r), i * 300 - 1)
      assert.is_true(#metrics(r) >= math.min(i * 300, 200))
      assert.is_true(#media(r) >= math.min(i * 300, 200))
      for _, name in ipairs { "log", "metrics.jsonl", "media.jsonl" } do
        assert.is_true(total(r, "hotcb." .. name) <= 60000)
      end
    end
    r.killed = true
  end)

  -- Starts a follower of hotcb.log whose output is a file; returns the numbers in that.
  local followers = {
    ["tail -F"] = function(r) return ("tail -n +1 -F %s/hotcb.log"):format(r.dir) end,
    ["tail -F that polls"] = function(r)
      return ("tail -n +1 ---disable-inotify -s 0.02 -F %s/hotcb.log"):format(r.dir)
    end,
    ["hotcb logs -f"] = function(r) return ("%s --dir %s logs -f"):format(rig.tool_path, r.dir) end,
  }

  for name, command in pairs(followers) do
    it("are followed over their rotation by " .. name, function()
      local r = rig.new { args = { "--log-bytes", 40000 } }
      r:script("hb.lua", chatty)
      r:load("hb")
      local out = r.folder .. "/followed"
      local pid = shell.must(("exec %s >%s 2>/dev/null & echo $!"):format(command(r), out))
      finally(function() os.execute("kill " .. pid) end)
      local function followed()
        local found = {}
        for line in (shell.read(out) or ""):gmatch("(.-)\n") do
          found[#found + 1] = log_number(line)
        end
        return found
      end
      for last = 50, 2000, 50 do
        r:apply(50)
        shell.wait("line " .. last .. " by " .. name, function()
          local found = followed()
          return found[#found] == last
        end)
      end
      assert_end_of(followed(), 2000)
      assert.is_true(#logged(r) < 1000)
    end)
  end
end)

-- ---- case 64 ---------------------------------------------------------------------------

-- A small file system on r.dir, till the end of the test; nil where we may not mount one.
local function small_disk(options)
  local r = rig.new { host = false, loose = true }
  local mounted = os.execute(("mount -t tmpfs -o mode=755,%s tmpfs %s 2>/dev/null"):format(
    options, r.dir))
  if not mounted then return nil end
  finally(function()
    if r.host then r.host:kill() end
    shell.must("umount " .. r.dir)
  end)
  return r
end

local function fill_space(r) r:sh("dd if=/dev/zero of=filler bs=1k 2>/dev/null; true") end

local function fill_inodes(r)
  r:sh("mkdir -p filler; i=0; while touch filler/$i; do i=$((i+1)); done 2>/dev/null; true")
end

local function make_space(r) r:sh("rm -rf filler") end

-- The sizes of files that a process may write, from now on.
local function limit_files(bytes)
  return function(r) shell.must(("prlimit --pid %d --fsize=%s:"):format(r.host.pid, bytes)) end
end

-- Each: a run on it, how it becomes full, and how it ends to be; whether that costs lines
-- of files that are there already.
local disks = {
  ["64 KiB"] = { function() return small_disk "size=64k" end, fill_space, make_space, true },
  ["one without room for another file"] = {
    function() return small_disk "size=1m,nr_inodes=30" end, fill_inodes, make_space, false,
  },
  ["one with a limit on the size of files"] = {
    function() return rig.new { host = false } end,
    limit_files "20000", limit_files "unlimited", true,
  },
}

-- How many complaints name each of the run's files.
local function complaints_by_file(r, from)
  local count = {}
  for _, text in ipairs(r:complaints(from)) do
    local name = text:match("hotcb%.[%a.]+[a-z]") or text
    if not text:find("is written again", 1, true) then count[name] = (count[name] or 0) + 1 end
  end
  return count
end

-- A number for each of the steps 0 to `last`, or a loss that is owned up to.
local function assert_accounted(list, dropped, last)
  for i = 2, #list do assert(list[i] > list[i - 1], "out of order at " .. list[i]) end
  assert.equal(last, list[#list])
  assert.equal(last + 1, #list + dropped)
end

describe("case 64: a full disk", function()
  after_each(rig.clean)

  for name, disk in pairs(disks) do
    it("costs lines, which are counted, and nothing else: " .. name, function()
      local make, fill, free, loses = table.unpack(disk)
      local r = make()
      if not r then return pending("mounting is not permitted here") end
      r:start()
      load_by_path(r, chatty)
      fill(r)
      local from = r:log_length()
      r:apply(1000)
      assert.equal("on", r:callback("hb").state)
      for file, n in pairs(complaints_by_file(r, from)) do assert.same({ file, 1 }, { file, n }) end
      free(r)
      r:apply(10)
      r:send { op = "set_params", id = "hb", params = { a = 1 } }
      r:apply()
      assert.same({ "load hb applied", "set_params hb applied" }, r:verdicts())
      local dropped = r:status().dropped
      assert.same({ loses, loses }, { dropped.scalars > 0, dropped.media > 0 })
      assert_accounted(metrics(r), dropped.scalars, 1011)
      assert_accounted(media(r), dropped.media, 1011)
      assert.equal(1011, logged(r)[#logged(r)])
      assert.is_true(dropped.log_lines >= 1012 - #logged(r))
      for file, lost in pairs { metrics = dropped.scalars, media = dropped.media } do
        local again = ("%s.jsonl is written again; %d lines"):format(file, lost)
        assert.equal(loses and 1 or 0, #r:log(again, from))
      end
    end)
  end

  -- The files end at the end of a page, so that not one byte more has room.
  it("is where a run begins, with lines that a dead process left torn", function()
    local r = small_disk "size=64k"
    if not r then return pending("mounting is not permitted here") end
    r:start()
    load_by_path(r, chatty)
    r:apply(100)
    r.host:kill()
    r:sh("truncate -s 4096 hotcb.log hotcb.metrics.jsonl hotcb.media.jsonl")
    fill_space(r)
    r:start()
    assert.matches("^0", r.host.opened)
    local from = r:log_length()
    r:load("hb", { target = { kind = "lua_file", path = r.folder .. "/hb.lua" } })
    r:apply(100)
    make_space(r)
    r:apply(10)
    local files = { ["hotcb.metrics.jsonl"] = metric_number,
                    ["hotcb.media.jsonl"] = media_number, ["hotcb.log"] = log_number }
    for name, number in pairs(files) do
      local torn = {}
      local found = numbers(r, name, function(line)
        local whole, n = pcall(number, line)
        if not whole then torn[#torn + 1] = line end
        return whole and n
      end)
      assert.equal(110, found[#found])
      assert.is_true(#torn <= 1, torn[2])
      assert.equal(1, #r:log(name:gsub("%p", "%%%0") .. " is written again", from))
    end
  end)

  for name, fill in pairs { space = fill_space, inodes = fill_inodes } do
    it("is where a run cannot begin, and the loop goes on: no " .. name, function()
      local r = small_disk "size=64k,nr_inodes=20"
      if not r then return pending("mounting is not permitted here") end
      fill(r)
      r:start()
      for _ = 1, 10 do r.host:ask("apply 100") end
      if not r.host.opened:match("^0") then assert.matches("No space left", r.host.opened) end
      make_space(r)
      if not r.host.opened:match("^0") then r:restart() end
      assert.matches("^0", r.host.opened)
      r:apply(10)
    end)
  end
end)

-- ---- case 66 ---------------------------------------------------------------------------

-- How a run directory goes.
local ways_to_go = {
  ["rm -rf"] = "rm -rf run",
  ["moved away"] = "mv run run.away",
  ["a file in its place"] = "rm -rf run && : >run",
  ["a link to nowhere in its place"] = "rm -rf run && ln -s /nowhere run",
}

-- Little room in the log, so that it would be rotated meanwhile.
local function run_that_goes(command)
  local r = rig.new { loose = true, args = { "--log-bytes", 2000 } }
  load_by_path(r, chatty)
  r:apply(10)
  local from = r:log_length()
  shell.must(("cd %s && %s"):format(r.folder, command))
  return r, from
end

describe("case 66: a run directory that goes", function()
  after_each(rig.clean)

  for name, command in pairs(ways_to_go) do
    it("is warned about once; made again, it is used, and what was lost is known: " .. name,
       function()
      local r, from = run_that_goes(command)
      r:apply(100)
      assert.equal(1, #r:complaints(from))
      assert.truthy(r:complaints(from)[1]:find(r.dir, 1, true))
      assert.equal("line 110", r:said("hb"))
      shell.must("rm -rf " .. r.dir)
      assert.equal(0, r:tool_alone("init").code)
      r:apply(5)
      assert.equal(1, #r:log("is there again: ", from))
      assert.equal(0, r:tool("set", "hb", "a=1").code)
      assert.same({ 111, 112, 113, 114, 115, 116 }, metrics(r))
      assert.same({ 111, 112, 113, 114, 115, 116 }, media(r))
      assert.same({ 111, 112, 113, 114, 115, 116 }, logged(r))
      assert.same({ 100, 100 }, { r:status().dropped.scalars, r:status().dropped.media })
      shell.must("rm -rf " .. r.dir) -- the new ledger does not begin at 1
    end)
  end

  it("and is another run's when it comes back, is left alone", function()
    local r, from = run_that_goes("rm -rf run")
    local other = r:another_host(r.dir)
    assert.matches("^0", other.opened)
    for _ = 1, 20 do
      r:apply(20)
      other:ask("apply 1")
    end
    assert.equal(1, #r:complaints(from))
    assert.is_false(shell.exists(r:path("hotcb.log.1")))
    assert.same({}, logged(r))
    assert.same({ {}, {} }, { metrics(r), media(r) })
    other:quit()
    r:apply(2)
    assert.same({ { 411, 412 }, { 411, 412 } }, { metrics(r), media(r) })
  end)
end)

-- ---- case 51 ---------------------------------------------------------------------------

-- Callbacks that fail at each event, elsewhere than in what handle() itself raises; the
-- event, and how many of them.
local failing = {
  { "save", 'return { save = function() error("no") end, handle = function() end }',
    "checkpoint", 500 },
  { "save by turns", [[
local n = 0
return { handle = function() end,
         save = function() n = n + 1 if n % 2 == 0 then error("no") end return { n = n } end }]],
    "checkpoint", 500 },
  { "save, for it gives no table",
    "return { save = function() return 5 end, handle = function() end }", "checkpoint", 500 },
  { "save, in a loop",
    "return { save = function() while true do end end, handle = function() end }",
    "checkpoint", 300 },
  { "on_attach, made anew for each call",
    'function on_attach() error("no") end function handle() while true do end end',
    "train_step_end", 300 },
  { "a loop, with a value that it does not take",
    "local T = { params = { { 'a', 1 } } } function T:handle() while true do end end return T",
    "train_step_end", 300 },
  { "two ways by turns", [[
function handle(event, env)
  if env.step % 2 == 0 then error("no") end
  while true do end
end]], "train_step_end", 600 },
}

describe("case 51: a callback that fails at each event in", function()
  after_each(rig.clean)

  for _, row in ipairs(failing) do
    it(row[1] .. " is counted, not repeated", function()
      local r = rig.new()
      r:script("hb.lua", row[2] .. "\n")
      r:load("hb", { limits = { errors = 0, time_ms = 1 } })
      r:apply(row[4] // rig.slack + 10, row[3])
      assert.equal("on", r:callback("hb").state)
      assert.is_true(#r:complaints() < 60, #r:complaints() .. " complaints")
      assert.is_true(shell.size(r.dir .. ".host.log") < 10000)
    end)
  end
end)

-- ---- what callbacks ask for ------------------------------------------------------------

-- What one call asks for; how many of it are dropped; what is there of it after each of
-- the calls: log lines, scalars, files, verdicts besides those of loading.
local floods = {
  { "log lines", 'for i = 1, 5000 do hotcb.log("info", "line %d", i) end', 3976, 1024, 0, 0, 0 },
  { "lines by print", 'for i = 1, 2000 do print("line " .. i) end', 976, 1024, 0, 0, 0 },
  { "lines of 5 MB", 'local x = ("y"):rep(5000000) for i = 1, 5 do hotcb.log("warn", x) end',
    0, 5, 0, 0, 0 },
  { "scalars", 'for i = 1, 2000 do hotcb.scalar("x", i) end', 976, 0, 1024, 0, 0 },
  { "scalars with long keys", 'for i = 1, 2000 do hotcb.scalar(("k"):rep(250), i) end',
    976, 0, 1024, 0, 0 },
  { "artifacts", 'for i = 1, 100 do hotcb.artifact("f" .. i, "x") end', 84, 0, 0, 16, 0 },
  { "artifacts of 5 MB",
    'local x = ("y"):rep(5000000) for i = 1, 3 do hotcb.artifact("f" .. i, x) end',
    2, 0, 0, 1, 0 },
  { "one artifact, again and again", 'for i = 1, 100 do hotcb.artifact("f", "x", "append") end',
    84, 0, 0, 1, 0 },
  { "pictures", 'for i = 1, 100 do hotcb.image("f" .. i, "x", 1, 1, 1) end', 84, 0, 0, 16, 0 },
  { "pictures and artifacts", 'for i = 1, 20 do hotcb.image("f" .. i, "x", 1, 1, 1) '
    .. 'hotcb.artifact("a" .. i, "x") end', 24, 0, 0, 16, 0 },
  { "stop", 'for i = 1, 5000 do hotcb.stop("enough " .. i) end', 0, 0, 0, 0, 1 },
  { "stop for 5 MB of reasons", 'hotcb.stop(("y"):rep(5000000))', 0, 0, 0, 0, 1 },
  { "disable", 'for i = 1, 5000 do hotcb.disable() end', 0, 0, 0, 0, 1, once = true },
}

describe("a call that asks for too much", function()
  after_each(rig.clean)

  for _, row in ipairs(floods) do
    it("gets some, and the rest is counted: " .. row[1], function()
      local r = rig.new()
      local calls = row.once and 1 or 20 // math.min(rig.slack, 4)
      r:script("flood.lua", ("function handle(event, env) %s end\n"):format(row[2]))
      r:load("flood", { limits = { time_ms = 1000, memory_mb = 64 } })
      r:apply(calls)
      r.host:quit()
      calls = row.once and 1 or calls + 1
      assert.equal(row[3] * calls, r:status().dropped.effects)
      assert.equal(row[4] * calls, #r:log("\tflood\t"))
      for _, line in ipairs(r:log("\tflood\t")) do assert.is_true(#line.text < 4200) end
      assert.equal(row[5] * calls, #r:metrics())
      assert.equal(row[6], tonumber(r:sh("find artifacts -type f 2>/dev/null | wc -l")))
      assert.equal(1 + row[7], #r:ledger())
      local warned = row[3] == 0 and 0 or calls < 10 and 1 or 2
      assert.equal(warned, #r:log("asked for more than one call may"))
    end)
  end

  it("leaves no memory with the run", function()
    local r = rig.new()
    r:script("flood.lua", [[
local x = ("y"):rep(5000000)
function handle(event, env)
  for i = 1, 2000 do hotcb.log("info", x) hotcb.scalar("x", i) hotcb.artifact("f", x) end
end]])
    r:load("flood", { limits = { time_ms = 1000 } })
    local function heap() return tonumber(r:ask("heap"):match("%d+")) end
    local before = heap()
    r:apply(10)
    assert.is_true(heap() < before + (1 << 20))
  end)

  it("is seen by who looks at the run", function()
    local r = rig.new()
    r:script("flood.lua", [[
function handle(event, env)
  for i = 1, 2000 do hotcb.scalar("x", i) end
  hotcb.artifact("../x", "")
end]])
    r:load("flood")
    r:send { op = "disable", id = "flood" }
    r:apply()
    local out = r:tool_alone("status").out
    assert.matches("977 beyond what one call may ask", out)
  end)
end)

-- Names that are none; what is said of them.
local no_names = {
  ['"../../hotcb.yaml"'] = "has \".\" or \"..\"",
  ['"/etc/passwd"'] = "begins with '/'",
  ['"a\\0b"'] = "has a control character",
  ['"a\\27[31m"'] = "has a control character",
  ['"a\\xff"'] = "is not valid UTF-8",
  ['"a/"'] = "has an empty component",
  ['("n"):rep(201)'] = "is longer than 200 bytes",
  ['("n"):rep(5000000)'] = "is longer than 200 bytes",
  ['("n/"):rep(17) .. "n"'] = "has more than 16 components",
  ['""'] = "is empty",
}

describe("artifacts", function()
  after_each(rig.clean)

  for name, says in pairs(no_names) do
    it("are not called " .. name, function()
      local r = rig.new()
      r:script("a.lua", ('function handle() hotcb.artifact(%s, "x") end\n'):format(name))
      r:load("a", { limits = { memory_mb = 64, time_ms = 10000 } })
      r:apply(99)
      r.host:quit()
      assert.is_false(shell.exists(r:path("artifacts")))
      assert.equal(100, r:status().dropped.artifacts)
      assert.equal("on", r:status().callbacks[1].state)
      assert.equal(3, #r:complaints()) -- the first, the tenth, the hundredth
      for _, text in ipairs(r:complaints()) do
        assert.truthy(text:find(says, 1, true), text)
        assert.is_true(#text < 300)
      end
    end)
  end

  -- What one of two callbacks writes at each step, how much it may, and what is there.
  local hoards = {
    { "files", 'hotcb.artifact("f" .. env.step, "12345")', { "--artifact-files", 50 }, 50, 250 },
    { "folders", 'hotcb.artifact(env.step .. "/" .. "f", "12345")',
      { "--artifact-files", 50 }, 25, 125 },
    { "bytes", 'hotcb.artifact("f" .. env.step, ("x"):rep(100))', { "--artifact-bytes", 2550 },
      25, 2500 },
    { "bytes at the end of one", 'hotcb.artifact("f", ("x"):rep(100), "append")',
      { "--artifact-bytes", 2550 }, 1, 2500 },
  }

  for _, row in ipairs(hoards) do
    it("have an end: " .. row[1], function()
      local r = rig.new { args = row[3] }
      r:script("hoard.lua", ("function handle(event, env) %s end\n"):format(row[2]))
      r:script("good.lua", 'function handle(event, env) hotcb.artifact("f", "" .. env.step) end\n')
      local function check(last)
        assert.equal(row[4], tonumber(r:sh("find artifacts/hoard -type f | wc -l")))
        assert.equal(row[5], #r:sh("find artifacts/hoard -type f | xargs cat"))
        assert.equal(tostring(last), r:read("artifacts/good/f"))
      end
      r:load("hoard")
      r:load("good")
      r:apply(998)
      check(999)
      r:restart()
      r:step(1000)
      r:load("hoard")
      r:load("good")
      r:apply(98)
      check(1099)
      r.host:quit()
      assert.equal(100, r:status().dropped.artifacts)
      assert.equal(0, #r:log("artifact not written.*good"))
      assert.equal(6, #r:log("no room for"))
    end)
  end

  it("that are replaced for ever count once", function()
    local r = rig.new { args = { "--artifact-bytes", 1000, "--artifact-files", 1 } }
    r:script("a.lua", 'function handle(event, env) hotcb.artifact("f", ("x"):rep(900)) end\n')
    r:load("a")
    r:apply(1000)
    assert.same({}, r:complaints())
  end)
end)
