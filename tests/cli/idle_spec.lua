-- What an idle apply costs the system: nothing between two looks.
local shell = require "support.shell"
local rig = require "support.rig"

-- Counts of system calls, by name, of the whole host process; `env`: words that set more of
-- its environment.
local function traced(applies, poll_ms, env)
  local r = rig.new { host = false }
  local out = r.dir .. "/trace"
  local host = shell.quote(os.getenv("HOTCB_TEST_HOST"))
  -- (The leak sanitizer cannot work in a process that is traced.)
  local command = "printf 'apply 1\\napply %d\\nquit\\n' | " ..
    "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 " ..
    "strace -f -qq -c -o %s env %s %s %s --poll-ms %d > /dev/null"
  local dir = shell.quote(r.dir .. "/traced")
  shell.must(command:format(applies, shell.quote(out), env or "", host, dir, poll_ms))
  local calls, total = {}, 0
  for line in shell.read(out):gmatch("[^\n]+") do
    local count, name = line:match("^%s*[%d.]+%s+[%d.]+%s+%d+%s+(%d+)%s+%d*%s*([%l_%d]+)$")
    if name and name ~= "total" then
      calls[name] = tonumber(count)
      total = total + calls[name]
    end
  end
  return total, calls
end

describe("an idle apply", function()
  after_each(rig.clean)

  it("makes no system call when no look is due: 100,000 of them", function()
    local few = traced(1, 3600000)
    local many, calls = traced(100000, 3600000)
    local names = {}
    for name, count in pairs(calls) do names[#names + 1] = name .. " " .. count end
    table.sort(names)
    print(("\n100,000 idle applies: %d system calls in the whole process, 1 apply: %d (%s)"):format(
      many, few, table.concat(names, ", ")))
    assert.is_true(few > 0)
    assert.equal(few, many)
  end)

  -- Of 1000 applies that look, on average; the status is written by the clock, four times a
  -- second.
  local function per_look(env)
    local few = traced(1, -1, env)
    local n = (traced(1001, -1, env) - few) / 1000
    print(("\n%.2f system calls a look"):format(n))
    return n
  end

  it("makes one when each one looks and the kernel tells of changes", function()
    local n = per_look()
    local told = rig.new { args = { "--poll-ms", "-1" } }:status().look.method ~= "stat"
    assert.is_true(n >= 1 and n <= (told and 2 or 16), n .. " system calls a look")
  end)

  it("makes a handful when it does not", function()
    local env = "LD_PRELOAD=" .. shell.quote(rig.shim_path) .. " SHIM_INOTIFY=EMFILE"
    local n = per_look(env)
    -- the directory and each file
    assert.is_true(n >= 3 and n <= 16, n .. " system calls a look")
  end)
end)
