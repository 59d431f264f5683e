-- Public case 72 by what a script sees of it (the rows with control groups are in
-- c/test_system.c), and the GPUs, with a library that stands in for NVML.
local json = require "support.json"
local rig = require "support.rig"
local testing = require "hotcb.testing"

local nvml = os.getenv "HOTCB_TEST_NVML"

local script = [[return { handle = function(self, event, env)
  local plain, whole = hotcb.system(), hotcb.system(true)
  assert(plain.gpus == nil and plain.gpu_problem == nil)
  if not self.asked then -- NVML is loaded after this call
    self.asked = true
    assert(whole.gpus == nil and whole.gpu_problem:find "ask again")
  else
    print(hotcb.json.encode(whole))
  end
end }]]

-- What hotcb.system(true) is in a host that finds this library.
local function ask(library, mode)
  local r = rig.new { env = { LD_LIBRARY_PATH = nvml .. "/" .. library,
                              HOTCB_TEST_NVML_MODE = mode } }
  r:script("sys.lua", script)
  r:load("sys")
  r:apply(3)
  local callback = r:callback("sys")
  assert.equal("on", callback.state, callback.error and callback.error.message)
  return json.decode(r:said("sys"))
end

local GIB = 1 << 30

local first = { name = "Stub 9000", utilisation = 37.0, memory_used = 4 * GIB,
                memory_total = 24 * GIB, process_memory = 3 * GIB, temperature = 61.0 }
local second = { name = "GPU 1", utilisation = 37.0, temperature = 61.0 }

local function without(gpu, field)
  local copy = {}
  for name, value in pairs(gpu) do copy[name] = name ~= field and value or nil end
  return copy
end

-- The library, what it does, and the GPUs or the problem.
local rows = {
  { "now", nil, { first, second } },
  { "old", nil, { without(first, "temperature"), without(second, "temperature") } },
  { "now", "slow", { first, second } }, -- its start is no time of the script's
  { "now", "refuse", "NVML does not start: nvmlInit_v2 says 9" },
  { "now", "none", "there is no GPU" },
  { "now", "closed", "NVML lets this process look at none of the GPUs" },
  { "lacking", nil, "libnvidia-ml.so.1 lacks functions that NVML must have" },
  { "broken", nil,
    "NVML is not here (libnvidia-ml.so.1 of NVIDIA's driver cannot be loaded)" },
}

-- The name and the type of each field.
local function shape_of(s)
  local shape = {}
  for name, value in pairs(s) do shape[name] = math.type(value) or type(value) end
  return shape
end

describe("hotcb.system", function()
  after_each(rig.clean)

  it("has what the process takes of the machine", function()
    local s = ask("broken")
    assert.is_true(s.cpu_seconds > 0 and s.cpus > 0)
    assert.is_true(s.rss > 0 and s.rss_peak >= s.rss)
    assert.is_true(s.ram_total > s.rss and s.ram_used > 0)
    assert.truthy(s.ram_source:match("^host$") or s.ram_source:match("^cgroup v[12]$"))
    assert.is_string(s.cpus_source)
    assert.same(shape_of(testing.script(script).system), shape_of(s)) -- as a spec has it
  end)

  it("has the GPUs, as far as NVML knows them", function()
    for _, row in ipairs(rows) do
      local s, what = ask(row[1], row[2]), row[1] .. " " .. (row[2] or "")
      local gpus = type(row[3]) == "table" and row[3] or nil
      assert.same(gpus, s.gpus, what)
      assert.equal(not gpus and row[3] or nil, s.gpu_problem, what)
    end
  end)

  it("has sixteen of them at most, without those that it may not look at", function()
    local s = ask("now", "many")
    assert.equal(16, #s.gpus)
    assert.same({ without(second, "name"), first },
                { without(s.gpus[1], "name"), s.gpus[2] })
  end)
end)
