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

  -- A callback that counts what it sees, and saves the count.
  local counter = [[
local Counter = { params = { { "every", 10 }, { "label", "seen" } }, events = { "train_step_end" } }
Counter.seen = 0
function Counter:handle(event, env)
  self.seen = self.seen + 1
  if (env.step + 1) % self.every ~= 0 then return end
  env.log("%s %d at %d", self.label, self.seen, env.step)
end
function Counter:save() return { seen = self.seen } end
function Counter:restore(saved) self.seen = saved.seen end
return Counter
]]

  it("killed with -9 and resumed, ends as if nothing had been, callbacks included", function()
    local small = "--train 6400 --epochs 2 --checkpoint-every 25 --dir killed --poll-ms 0"
    local _, unbroken = run("--train 6400 --epochs 2 --no-hotcb")
    shell.mkdir(folder .. "/killed")
    shell.write(folder .. "/killed/counter.lua", counter)
    shell.write(folder .. "/killed/hotcb.commands.jsonl", table.concat({
      '{"op":"load","id":"counter","target":{"kind":"lua_file","path":"counter.lua"}}',
      '{"op":"load","id":"off","target":{"kind":"lua_file","path":"counter.lua"},"enabled":false}',
      '{"op":"set_params","id":"counter","params":{"label":"1.10"}}', "" }, "\n"))
    local start = ("echo $$ > pid && exec %s %s --sleep-ms 30"):format(shell.quote(train), small)
    local job = shell.start(("cd %s && exec sh -c %s"):format(
      shell.quote(folder), shell.quote(start)), folder)
    shell.wait("a second checkpoint", function()
      return (shell.read(folder .. "/killed/hotcb.log") or ""):find("1.10 60 at 59", 1, true)
    end)
    shell.must("kill -KILL " .. shell.read(folder .. "/pid"))
    assert.equal(137, job.collect().code)
    local output, weights = run(small .. " --resume")
    assert.matches("resumed after step %d+", output)
    assert.matches("resuming run [%w-]+: 2 callbacks", output)
    assert.equal(unbroken, weights)
    assert.matches("1.10 200 at 199", output, 1, true) -- each step counted once
    assert.is_nil(output:find("seen", 1, true))
    local ledger = shell.read(folder .. "/killed/hotcb.applied.jsonl")
    assert.equal(2, select(2, ledger:gsub('"origin":"resume"', "")))
  end)
end)
