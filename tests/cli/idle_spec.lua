-- What an idle apply costs the system: nothing between two looks.
local shell = require "support.shell"
local rig = require "support.rig"

-- Counts of system calls, by name, of the whole host process.
local function traced(applies, poll_ms)
  local r = rig.new { host = false }
  local out = r.dir .. "/trace"
  local host = shell.quote(os.getenv("HOTCB_TEST_HOST"))
  -- (The leak sanitizer cannot work in a process that is traced.)
  local command = "printf 'apply 1\\napply %d\\nquit\\n' | ASAN_OPTIONS=detect_leaks=0 " ..
    "strace -f -qq -c -o %s %s %s --poll-ms %d > /dev/null"
  local dir = shell.quote(r.dir .. "/traced")
  shell.must(command:format(applies, shell.quote(out), host, dir, poll_ms))
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

  it("makes a handful when each one looks", function()
    local few = traced(1, -1)
    local many = traced(1001, -1)
    -- the process and each file; the status is written by the clock, four times a second
    local per_look = (many - few) / 1000
    print(("\n%.2f system calls a look"):format(per_look))
    assert.is_true(per_look >= 3 and per_look <= 16, per_look .. " system calls a look")
  end)
end)
