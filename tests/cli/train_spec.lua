-- The real training: hotcb in its loop changes no bit of what it learns.
local shell = require "support.shell"

local train = assert(os.getenv("HOTCB_TEST_TRAIN"), "HOTCB_TEST_TRAIN names no train_mlp")
local folder

local function run(arguments)
  local output = shell.must(("cd %s && %s %s"):format(
    shell.quote(folder), shell.quote(train), arguments))
  return output, assert(output:match("weights (%x+)"), output)
end

local heartbeat_and_reader = [[
callbacks:
  heartbeat:
    target: { kind: module, path: hotcb.callbacks.heartbeat }
    init: { every: 5 }
  reader:
    target: { kind: lua_file, path: reader.lua }
]]

local reader = [[
function handle(event, env)
  for key, value in pairs(env) do tostring(value) end
  for key, value in pairs(env.metrics) do hotcb.scalar(key, value) end
end
]]

describe("train_mlp", function()
  setup(function() folder = shell.must("mktemp -d"):gsub("\n", "") end)
  teardown(function() shell.must("rm -rf " .. shell.quote(folder)) end)

  it("ends with the same weights with hotcb, without it, and with callbacks", function()
    local small = "--train 2000 --epochs 1"
    local _, plain = run(small .. " --no-hotcb")
    local _, idle = run(small .. " --dir idle --poll-ms 0")
    assert.equal(plain, idle)
    shell.mkdir(folder .. "/busy")
    shell.write(folder .. "/busy/hotcb.yaml", heartbeat_and_reader)
    shell.write(folder .. "/busy/reader.lua", reader)
    local output, busy = run(small .. " --dir busy --poll-ms 0")
    assert.matches("alive event=train_step_end step=30 ", output, 1, true)
    assert.is_true(shell.size(folder .. "/busy/hotcb.metrics.jsonl") > 0)
    assert.equal(plain, busy)
  end)

  it("goes on without hotcb where the run directory cannot be had", function()
    shell.write(folder .. "/file", "")
    local output, weights = run("--train 640 --epochs 1 --dir file")
    local _, plain = run("--train 640 --epochs 1 --no-hotcb")
    assert.matches("training without hotcb", output, 1, true)
    assert.equal(plain, weights)
  end)

  it("stops where a callback sees a NaN", function()
    shell.mkdir(folder .. "/guarded")
    shell.write(folder .. "/guarded/guard.lua", [[
function handle(event, env)
  local loss = env.loss
  if loss and loss ~= loss then hotcb.stop("loss is not a number at step " .. env.step) end
end
]])
    shell.write(folder .. "/guarded/hotcb.yaml",
      "callbacks: { guard: { target: { kind: lua_file, path: guard.lua } } }\n")
    local output = run("--train 2000 --epochs 1 --dir guarded --nan-at 7")
    assert.matches("stopped at step 7: loss is not a number at step 7", output, 1, true)
  end)

  it("reaches 85 % within three epochs", function()
    local output = run("--epochs 3 --dir full")
    local last
    for accuracy in output:gmatch("test accuracy ([%d.]+) %%") do last = tonumber(accuracy) end
    assert.is_true(last >= 85, output)
  end)
end)
