-- Files and processes for the specs: bytes in and out, scratch folders, and
-- waiting for a condition (never for a time).
local lfs = require "lfs"
local system = require "system"

-- Only what hangs needs all of the patience; a slow machine needs minutes for some tests.
local shell = { patience_s = 600 }

function shell.quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

-- A command line from words, each quoted.
function shell.words(list)
  local quoted = {}
  for i, word in ipairs(list) do quoted[i] = shell.quote(tostring(word)) end
  return table.concat(quoted, " ")
end

-- Runs a shell command, which must succeed; returns what it printed.
function shell.must(command)
  local pipe = assert(io.popen("exec 2>&1; " .. command))
  local output = pipe:read("a")
  local ok, _, code = pipe:close()
  if not ok then error(("%s: exit %s: %s"):format(command, code, output), 2) end
  return output
end

function shell.exists(path) return lfs.symlinkattributes(path, "mode") ~= nil end

function shell.size(path) return lfs.attributes(path, "size") or 0 end

function shell.read(path)
  local f = io.open(path, "rb")
  if not f then return nil end
  local bytes = f:read("a")
  f:close()
  return bytes
end

local function put(path, bytes, mode)
  local f = assert(io.open(path, mode))
  assert(f:write(bytes))
  assert(f:close())
end

function shell.write(path, bytes) put(path, bytes, "wb") end

function shell.append(path, bytes) put(path, bytes, "ab") end

function shell.mkdir(path) shell.must("mkdir -p " .. shell.quote(path)) end

-- The names in a folder, sorted.
function shell.names(path)
  local names = {}
  for name in lfs.dir(path) do
    if name ~= "." and name ~= ".." then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

function shell.sleep(seconds) system.sleep(seconds) end

-- Calls condition() until it returns something true, and returns that. It is an
-- error, saying `what` did not come, when the patience is used up.
function shell.wait(what, condition)
  local give_up = system.monotime() + shell.patience_s
  local pause = 0.001
  while true do
    local result = condition()
    if result then return result end
    if system.monotime() > give_up then error("gave up waiting for " .. what, 2) end
    system.sleep(pause)
    pause = math.min(pause * 1.5, 0.02)
  end
end

-- Starts a shell command in the background. The job's done() says whether it has
-- ended; collect() waits for that and returns {code, out, err}.
function shell.start(command, folder)
  local base = shell.must("mktemp " .. shell.quote(folder .. "/job.XXXXXX")):gsub("\n", "")
  local job = { base = base, command = command }
  local script = ("( %s ) >%s.out 2>%s.err; echo $? >%s.tmp; mv %s.tmp %s.rc")
    :format(command, base, base, base, base, base)
  assert(os.execute(("sh -c %s </dev/null >/dev/null 2>&1 &"):format(shell.quote(script))))
  function job.done() return shell.exists(base .. ".rc") end
  function job.collect()
    shell.wait("the end of: " .. command:sub(1, 300), job.done)
    return {
      code = tonumber(shell.read(base .. ".rc")),
      out = shell.read(base .. ".out"),
      err = shell.read(base .. ".err"),
    }
  end
  return job
end

-- Whether a process is there, and not merely waits to be collected by its parent.
function shell.alive(pid)
  local stat = shell.read(("/proc/%d/stat"):format(pid)) or ""
  return os.execute(("kill -0 %d 2>/dev/null"):format(pid)) == true and not stat:match("%) Z ")
end

return shell
