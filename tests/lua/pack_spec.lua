-- What holds of every shipped and every example callback.
local pack = require "support.pack"
local testing = require "hotcb.testing"

-- The names that a command line of hotcb 0.1.0 gives after --symbol.
local names = {
  heartbeat = "HeartbeatCallback", timing = "TimingCallback",
  system_stats = "SystemStatsCallback", tensor_stats = "TensorStatsCallback",
  grad_stats = "GradStatsCallback", anomaly_guard = "AnomalyGuardCallback",
  jsonl_logger = "JSONLLoggerCallback", feat_viz = "FeatureVizCallback",
}

local function read(path)
  local f = assert(io.open(pack.root .. path, "rb"))
  local bytes = f:read("a")
  f:close()
  return bytes
end

local function files_in(folder)
  local list = io.popen(("ls '%s%s'"):format(pack.root, folder))
  local names_there = {}
  for name in list:lines() do names_there[#names_there + 1] = name:match("^(.*)%.lua$") end
  list:close()
  return names_there
end

describe("the pack", function()
  it("is what 0.1.0 ships, and its examples", function()
    assert.same({ "anomaly_guard", "grad_stats", "heartbeat", "jsonl_logger", "system_stats",
                  "tensor_stats", "timing" }, files_in "callbacks")
    assert.same({ "dead_units", "feat_viz", "grad_histogram", "print_metrics" },
                files_in "examples/callbacks")
  end)

  for _, folder in ipairs { "callbacks", "examples/callbacks" } do
    for _, name in ipairs(files_in(folder)) do
      it(("keeps %s short, with help, and tested"):format(name), function()
        local path = ("%s/%s.lua"):format(folder, name)
        local _, lines = read(path):gsub("\n", "")
        assert.is_true(lines < 60, lines .. " lines")
        assert.matches("^%-%- " .. name .. "%.lua: ", read(path))
        assert.matches("support.pack", read(("tests/callbacks/%s_spec.lua"):format(name)), 1, true)
        local cb = testing.load(pack.root .. path)
        assert.is_string(cb.name)
        assert.equal(names[name] or cb.name, cb.name)
        assert.same({ "every", 0 }, { cb.script.params[1][1], cb.script.params[1].min })
        for _, row in ipairs(cb.script.params) do
          assert.is_true(row.help ~= nil and row.help ~= "", row[1] .. " has no help")
        end
      end)
    end
  end
end)
