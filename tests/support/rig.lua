-- A test rig: a run directory with a real host process on it (support/host.c),
-- which takes a step when it is told, and the real tool.
--
--   local rig = require "support.rig"
--   after_each(rig.clean)
--   local r = rig.new()                  -- a scratch folder, a host on r.dir
--   r:script("hb.lua"); r:load("hb")     -- a case's file, loaded by a command line
--   r:apply(3)                           -- three applies, a look at each
--   local answer = r:tool("set", "hb", "every=5")   -- {code, out, err, step}
--
-- rig.clean ends what is left running, checks what must hold of every run (see
-- check_sane), and removes the scratch folders.
local json = require "support.json"
local schema = require "support.schema"
local shell = require "support.shell"

local function env(name)
  return os.getenv(name) or error(name .. " is not set: run the specs by ctest", 0)
end

local rig = {
  host_path = env "HOTCB_TEST_HOST",
  tool_path = env "HOTCB_TEST_TOOL",
  shim_path = env "HOTCB_TEST_SHIM",
  files = env "HOTCB_TEST_SOURCE" .. "/tests/cases/files",
  -- What a build that is not optimised, or has sanitizers in it, costs more: measured
  -- bounds are multiplied by it, long runs are divided by it.
  slack = tonumber(os.getenv("HOTCB_TEST_SLACK") or 1),
  null = json.null,
}

local Rig = {}
Rig.__index = Rig
local rigs, folders = {}, {}

function rig.scratch()
  local folder = shell.must("mktemp -d"):gsub("\n", "")
  shell.must("chmod 755 " .. folder)
  folders[#folders + 1] = folder
  return folder
end

-- What stands in for the names that the cases' scripts use; on one line with the
-- script's first, so that line numbers stay.
rig.prelude = table.concat({
  'local log = function(s) hotcb.log("info", "%s", s) end ',
  "local emit = function(t) for k, v in pairs(t) do ",
  'if type(v) == "number" then hotcb.scalar(k, v) ',
  'else hotcb.log("info", "%s=%s", k, v) end end end ',
  "local stop = function(s) hotcb.stop(s) end ",
})

-- The bytes of a case's file, a script with the prelude before them.
function rig.file(name)
  local bytes = assert(shell.read(rig.files .. "/" .. name), name)
  return name:match("%.lua$") and rig.prelude .. bytes or bytes
end

-- Words that set a process's environment, hotcb's own variables cleared first.
local function with_env(variables)
  local words = { "env", "-u", "HOTCB_DIR", "-u", "HOTCB_PATH", "-u", "NO_COLOR" }
  for name, value in pairs(variables or {}) do words[#words + 1] = name .. "=" .. value end
  return words
end

-- ---- hosts -------------------------------------------------------------------

local Host = {}
Host.__index = Host

-- opts: args (for host.c), env, cwd, as (words that run the rest as somebody else).
-- host.opened is what hotcb_open() said: "0 " or "-5 sentence".
local function start_host(folder, dir, opts)
  local base = shell.must("mktemp -u " .. folder .. "/host.XXXXXX"):gsub("\n", "")
  shell.must(("mkfifo %s.in %s.out && chmod 666 %s.in %s.out"):format(base, base, base, base))
  local words = {}
  for _, list in ipairs { with_env(opts.env), opts.as or {}, { opts.program or rig.host_path, dir },
                          opts.args or {} } do
    table.move(list, 1, #list, #words + 1, words)
  end
  local pipe = assert(io.popen(("( cd %s && exec %s ) <%s.in >%s.out 2>%s.err & echo $!"):format(
    shell.quote(opts.cwd or folder), shell.words(words), base, base, base)))
  local host = setmetatable({ pid = tonumber(pipe:read("l")), base = base, next_step = 0 }, Host)
  pipe:close()
  host.requests = assert(io.open(base .. ".in", "r+b"))
  host.answers = assert(io.open(base .. ".out", "rb"))
  host.opened = host.answers:read("l") or error("no host: " .. (shell.read(base .. ".err") or ""))
  return host
end

-- Sends a request and returns the answer, one line.
function Host:ask(request)
  assert(self.requests:write(request, "\n"))
  self.requests:flush()
  local answer = self.answers:read("l")
  if not answer then
    local complaint = shell.read(self.base .. ".err")
    error(("the host died at %q: %s"):format(request:sub(1, 200), complaint), 2)
  end
  return answer
end

-- Sends a request that is not answered before the next one (after `run`).
function Host:tell(request)
  assert(self.requests:write(request, "\n"))
  self.requests:flush()
end

function Host:gone() return not shell.alive(self.pid) end

function Host:release()
  self.requests:close()
  self.answers:close()
  self.released = true
end

function Host:kill()
  if self.released then return end
  os.execute(("kill -9 %d 2>/dev/null"):format(self.pid))
  shell.wait("the end of the host", function() return self:gone() end)
  self:release()
end

-- Ends the host in good order.
function Host:quit()
  if self.released then return end
  self:tell("quit")
  local last = self.answers:read("l")
  shell.wait("the end of the host", function() return self:gone() end)
  local complaint = shell.read(self.base .. ".err")
  self:release()
  assert(last == "bye" and complaint == "", ("the host ended badly: %s %s"):format(last, complaint))
end

-- ---- rigs --------------------------------------------------------------------

-- opts: as for start_host, and: host = false (none yet), loose = true (the command
-- file is replaced, so offsets need not grow), dir (name of the run directory).
function rig.new(opts)
  opts = opts or {}
  local folder = rig.scratch()
  local r = setmetatable({ folder = folder, dir = folder .. "/" .. (opts.dir or "run"),
                           loose = opts.loose, opts = opts }, Rig)
  rigs[#rigs + 1] = r
  shell.mkdir(r.dir)
  if opts.host ~= false then r:start() end
  return r
end

function Rig:start(opts)
  self.host = start_host(self.folder, self.dir, opts or self.opts)
  return self.host
end

-- Another host, on this directory or another one; ended by clean, too.
function Rig:another_host(dir, opts)
  local host = start_host(self.folder, dir or self.dir, opts or {})
  self.others = self.others or {}
  table.insert(self.others, host)
  return host
end

function Rig:ask(request) return self.host:ask(request) end

function Rig:restart()
  self.host:quit()
  return self:start()
end

-- `count` applies of `event`; each takes a look, unless the host was told otherwise.
function Rig:apply(count, event)
  count = count or 1
  local answer = self.host:ask(("apply %d %s"):format(count, event or ""))
  assert(answer:match("^0"), answer)
  self.host.next_step = self.host.next_step + count
end

function Rig:step(n)
  self.host:ask("step " .. n)
  self.host.next_step = math.tointeger(n) or 0
end

function Rig:path(name) return name:sub(1, 1) == "/" and name or self.dir .. "/" .. name end

function Rig:write(name, bytes) shell.write(self:path(name), bytes) end

function Rig:append(name, bytes) shell.append(self:path(name), bytes) end

function Rig:read(name) return shell.read(self:path(name)) end

-- Runs a shell command with the run directory as the working directory.
function Rig:sh(command)
  return shell.must(("cd %s && %s"):format(shell.quote(self.dir), command))
end

-- Puts a case's file (or `bytes`) into the run directory.
function Rig:script(name, bytes) self:write(name, bytes or rig.file(name)) end

function Rig:yaml(text) self:write("hotcb.yaml", text) end

-- Appends command lines, byte for byte; a table is written as JSON.
function Rig:send(...)
  for _, line in ipairs { ... } do
    self:append("hotcb.commands.jsonl", type(line) == "table" and json.encode(line) .. "\n" or line)
  end
end

-- Loads run/<id>.lua (or what `more` says) by a command line, and takes it in.
function Rig:load(id, more)
  local op = { op = "load", id = id, target = { kind = "lua_file", path = id .. ".lua" } }
  for key, value in pairs(more or {}) do op[key] = value end
  self:send(op)
  self:apply()
end

-- ---- the tool ----------------------------------------------------------------

local function tool_command(r, opts, args)
  local words = with_env(opts.env)
  words[#words + 1] = rig.tool_path
  if opts.dir ~= false then
    table.move({ "--dir", opts.dir or r.dir }, 1, 2, #words + 1, words)
  end
  table.move(args, 1, #args, #words + 1, words)
  return ("cd %s && exec %s%s"):format(shell.quote(opts.cwd or r.folder), opts.before or "",
                                       shell.words(words))
end

-- Starts the tool in the background; opts: cwd, env, dir (false: none given), before.
-- What it prints under --json is judged by the schemas in cli/schemas/, always.
function Rig:start_tool(opts, ...)
  local words = { ... }
  local job = shell.start(tool_command(self, opts, words), self.folder)
  local collect = job.collect
  function job.collect()
    local answer = collect()
    local ok, why = pcall(schema.check_output, words, answer)
    if not ok then error(("%s: %s"):format(shell.words(words), why), 2) end
    return answer
  end
  return job
end

-- Runs the tool to its end with nobody looking meanwhile.
function Rig:tool_alone(...)
  local opts = {}
  return self:start_tool(opts, ...).collect()
end

-- One step, in which the host takes in what was sent. A file has grown a moment before its
-- writer has done, and before the kernel tells of it: then the next step is the one.
local function step_with_news(r)
  local before = shell.size(r:path("hotcb.applied.jsonl"))
  local step
  for _ = 1, 5 do
    step = r.host.next_step
    r:apply()
    if shell.size(r:path("hotcb.applied.jsonl")) > before then break end
    shell.sleep(0.02)
  end
  return step
end

local sends = { load = true, unload = true, enable = true, disable = true, set = true,
                reload = true }

-- The words of a command whose answer comes, however slow the machine: the tool waits for it
-- as long as the run lives.
function rig.patient(...)
  local args = { ... }
  for _, word in ipairs(args) do
    if word:find "^%-%-wait" or word == "--no-wait" then return ... end
  end
  if not sends[args[1]] then return ... end
  return args[1], "--wait", table.unpack(args, 2)
end

-- Runs the tool, and lets the host take one step when the tool has sent its
-- command; .step is that step (nil if it sent none, or had ended before).
function Rig:tool_with(opts, ...)
  local before = shell.size(self:path("hotcb.commands.jsonl"))
  local job = self:start_tool(opts, rig.patient(...))
  shell.wait("the tool to send or to end", function()
    return job.done() or shell.size(self:path("hotcb.commands.jsonl")) > before
  end)
  local step = not job.done() and step_with_news(self) or nil
  local answer = job.collect()
  answer.step = step
  return answer
end

function Rig:tool(...) return self:tool_with({}, ...) end

-- ---- what the run wrote ---------------------------------------------------------

-- A copy without nulls, so that `if x.error` asks what it seems to ask.
local function without_nulls(v)
  if v == json.null then return nil end
  if type(v) ~= "table" then return v end
  local copy = {}
  for key, element in pairs(v) do copy[key] = without_nulls(element) end
  return copy
end

-- The ledger's lines, or those whose fields are as in `like`.
function Rig:ledger(like)
  local found = {}
  for _, line in ipairs(without_nulls(json.lines(self:read("hotcb.applied.jsonl") or ""))) do
    local same = true
    for key, value in pairs(like or {}) do same = same and line[key] == value end
    if same then found[#found + 1] = line end
  end
  return found
end

-- The ledger as "op id decision" words, to compare at a glance.
function Rig:verdicts(like)
  local words = {}
  for i, line in ipairs(self:ledger(like)) do
    words[i] = ("%s %s %s"):format(line.op, line.id or "-", line.decision)
  end
  return words
end

function Rig:status()
  return without_nulls(json.decode(assert(self:read("hotcb.status.json"), "no status")))
end

-- The callbacks, as the host knows them now, by id.
function Rig:callbacks()
  local by_id = {}
  for _, callback in ipairs(without_nulls(json.decode(self:ask("list")))) do
    by_id[callback.id] = callback
  end
  return by_id
end

function Rig:callback(id) return self:callbacks()[id] end

function Rig:metrics() return json.lines(self:read("hotcb.metrics.jsonl") or "") end

function Rig:media() return json.lines(self:read("hotcb.media.jsonl") or "") end

-- What went to the log hook: lines of {level, callback, text}; those after `from`
-- (a number of lines, default 0) that hold `pattern`.
function Rig:log(pattern, from)
  local lines, n = {}, 0
  for line in (shell.read(self.dir .. ".host.log") or ""):gmatch("(.-)\n") do
    local level, callback, text = line:match("^(%u+)\t([^\t]*)\t(.*)$")
    n = n + 1
    if n > (from or 0) and (not pattern or line:find(pattern)) then
      lines[#lines + 1] = { level = level, callback = callback, text = text }
    end
  end
  return lines, n
end

function Rig:log_length() return select(2, self:log("^$")) end

-- Warnings and errors after line `from` of the log, as text.
function Rig:complaints(from)
  local texts = {}
  for _, line in ipairs(self:log(nil, from)) do
    if line.level ~= "INFO" and line.level ~= "DEBUG" then texts[#texts + 1] = line.text end
  end
  return texts
end

-- The last line that callback `id` logged.
function Rig:said(id)
  local last
  for _, line in ipairs(self:log()) do
    if line.callback == id then last = line.text end
  end
  return last
end

-- ---- what holds of every run --------------------------------------------------

local known_files = {
  "hotcb%.yaml", "hotcb%.commands%.jsonl", "hotcb%.applied%.jsonl", "hotcb%.status%.json",
  "hotcb%.state%.json", "hotcb%.metrics%.jsonl", "hotcb%.metrics%.jsonl%.1",
  "hotcb%.media%.jsonl", "hotcb%.media%.jsonl%.1", "hotcb%.log", "hotcb%.log%.1", "hotcb%.lock",
}

local function is_known(name)
  if not name:match("^hotcb%.") and not name:match("^%.hotcb") then return true end
  for _, pattern in ipairs(known_files) do
    if name:match("^" .. pattern .. "$") then return true end
  end
  return false
end

local function check_text(name, bytes)
  local _, bad = utf8.len(bytes)
  assert(not bad, ("%s: not UTF-8 at byte %s"):format(name, bad))
  local at = bytes:find("[%z\1-\8\11-\31\127]")
  assert(not at, ("%s: a control character at byte %s"):format(name, at))
end

local function check_ledger(r)
  local offset, run, mono = -1, nil, nil
  for i, line in ipairs(r:ledger()) do
    assert(line.seq == i, ("ledger line %d has seq %s"):format(i, line.seq))
    assert(line.decision == "applied" or line.decision == "rejected", line.decision)
    assert(line.decision == "applied" or line.error, "a refusal without a reason, line " .. i)
    assert(line.run ~= run or line.mono >= mono, "the ledger's clock goes back at line " .. i)
    run, mono = line.run, line.mono
    if line.offset and not r.loose then
      assert(line.offset > offset, "a command out of order at ledger line " .. i)
      offset = line.offset
    end
  end
end

-- Whatever a test did: files are whole, strict and printable, nothing is left over.
local function check_sane(r)
  if not shell.exists(r.dir .. "/hotcb.applied.jsonl") then return end
  check_ledger(r)
  if shell.exists(r.dir .. "/hotcb.status.json") then r:status() end
  for _, name in ipairs { "hotcb.state.json" } do
    if shell.exists(r:path(name)) then json.decode(r:read(name)) end
  end
  r:metrics()
  for _, line in ipairs(r:media()) do
    if line.path and not r.killed then assert(shell.exists(r:path(line.path)), line.path) end
  end
  check_text("the log hook", shell.read(r.dir .. ".host.log") or "")
  check_text("hotcb.log", r:read("hotcb.log") or "")
  for _, name in ipairs(shell.names(r.dir)) do
    assert(is_known(name) or r.killed, "left over: " .. name)
  end
end

local function end_hosts(r)
  local failure
  for _, host in ipairs { r.host, table.unpack(r.others or {}) } do
    if host and not host.released then
      local ok, problem = pcall(host.gone(host) and host.kill or host.quit, host)
      failure = failure or (not ok and problem)
      if not ok then pcall(host.kill, host) end
    end
  end
  return failure
end

function rig.clean()
  local failures = {}
  for _, r in ipairs(rigs) do
    local problem = end_hosts(r)
    local ok, why = pcall(check_sane, r)
    failures[#failures + 1] = problem or (not ok and why) or nil
  end
  for _, folder in ipairs(folders) do
    os.execute(("chmod -R u+rwX %s 2>/dev/null; rm -rf %s"):format(folder, folder))
  end
  rigs, folders = {}, {}
  if #failures > 0 then error(table.concat(failures, "\n"), 0) end
end

return rig
