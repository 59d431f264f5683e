-- The diagnostics that come with hotcb, and those of the examples, in a real training: each
-- is loaded as hotcb 0.1.0's page has it, says what it sees, and each of its parameters can
-- be set while it runs. They change nothing of what is learnt, unless they are to stop it.
local json = require "support.json"
local rig = require "support.rig"
local shell = require "support.shell"

local train = assert(os.getenv("HOTCB_TEST_TRAIN"), "HOTCB_TEST_TRAIN names no train_mlp")
local examples = os.getenv("HOTCB_TEST_SOURCE") .. "/examples/callbacks/"
local nvml = os.getenv("HOTCB_TEST_NVML") .. "/now"

local media = "hotcb.media.jsonl"
local odd_step = "step=%d*[1-9] " -- which every=50 never has

-- Of each diagnostic: how it is loaded, and what it then says. A row is what is set (the first
-- of its words is the parameter that it is about) and what is seen after that, and was not
-- before: in its lines of hotcb.log, or in the file that the row names.
local pack = {
  { id = "heartbeat", symbol = "HeartbeatCallback", init = "every=50",
    says = "alive event=train_step_end step=%d*[05]0 epoch=%d+%.000 phase=train\n",
    { "every=1", odd_step },
    { "message=still here", "%] still here event=" } },

  { id = "timing", symbol = "TimingCallback", init = "every=50 window=9",
    says = "timing event=train_step_end step=%d*[05]0 dt=%S+s mean=%S+s p50=%S+s p95=%S+s %(n=9%)",
    { "every=1", odd_step },
    { "window=30", "%(n=30%) steps/s=[%d.]+\n" } },

  -- The host of this one has two GPUs; without, two of its lines stand one below the other.
  { id = "system_stats", symbol = "SystemStatsCallback", init = "every=50",
    says = "sys event=train_step_end step=%d*[05]0 ru_maxrss=%d+ cpu=%d+%% .*\n[^\n]* gpu 1 mem ",
    { "every=1", odd_step },
    { "gpu=false", "%] sys [^\n]*\n[^\n]*%] sys " } },

  { id = "tensor_stats", symbol = "TensorStatsCallback", init = "every=50",
    says = "%] loss: [%d.]+\n",
    { "paths=step,model.layers.0.weight,outputs.logits", "%] step: %d*[05]0\n"
      .. "[^\n]*%] model%.layers%.0%.weight: shape=%[784,128%] dtype=f32 numel=100352 [^\n]*\n"
      .. "[^\n]*%] outputs%.logits: shape=%[64,10%]" },
    { "every=1", "%] step: %d*[1-9]\n" },
    { "prefix=now/", "%] now/outputs%.logits: shape=%[64,10%]" } },

  { id = "grad_stats", symbol = "GradStatsCallback", init = "every=50",
    says = "grad event=grads_ready step=%d*[05]0 norm=%S+ max_abs=%S+ grads=6/6 nan_params=0\n",
    { "every=1", odd_step },
    { "norm_type=inf", "norm=(%S+) max_abs=%1 " },
    { "per_param=true", "grad layers%.2%.bias norm=%S+ max_abs=%S+ nan_or_inf=0\n" } },

  { id = "jsonl_logger", symbol = "JSONLLoggerCallback", init = "every=50",
    says = "wrote jsonl step=%d+ %-> artifacts/jsonl_logger/hotcb_metrics%.jsonl\n",
    { "every=1", '"step":%d*[1-8][,}]', -- an epoch ends with a step ..99
      "artifacts/jsonl_logger/hotcb_metrics.jsonl" },
    { "scalars=metrics", '"metrics%.accuracy":[%d.]+[,}]',
      "artifacts/jsonl_logger/hotcb_metrics.jsonl" },
    { "tensor_paths=outputs.logits,grads", '"outputs%.logits%.stats":{[^\n]*"shape":%[64,10%]',
      "artifacts/jsonl_logger/hotcb_metrics.jsonl" },
    { "out_path=logs/late.jsonl", '"grads%.layers%.0%.weight%.stats":{',
      "artifacts/jsonl_logger/logs/late.jsonl" } },

  -- Its training has a NaN in it, and ends when it says so.
  { id = "anomaly_guard", symbol = "AnomalyGuardCallback", init = "every=50", sick = true,
    says = "ANOMALY DETECTED path=loss event=grads_ready step=%d*[05]0 stats={nan}\n",
    { "every=1", odd_step },
    { "paths=grads", "path=grads%.layers%.%d%.%a+ event=grads_ready step=%d+ stats={shape=%[" },
    { "disable_after_trigger=true", "disable anomaly_guard %(script%): applied" },
    { "raise_on_trigger=true", "asks the run to stop: %[hotcb:anomaly_guard%] anomaly in grads",
      enable = true } },

  { id = "print_metrics", file = "print_metrics.lua", symbol = "PrintMetrics", init = "every=50",
    says = "%[metrics%] id=print_metrics step=%d*[05]0 event=train_step_end batch_idx=%d+\n",
    { "every=1", odd_step },
    { "prefix=[now]", "%] %[now%] id=print_metrics " } },

  { id = "dead_units", file = "dead_units.lua", symbol = "DeadUnits", init = "every=50",
    says = "INFO [^\n]* dead units in outputs%.layers%.0 at step %d*[05]0: %d+ of 128 ",
    { "every=1", "at step %d*[1-9]:" },
    { "path=outputs", "dead units in outputs%.layers%.1 at step %d+: %d+ of 64 " },
    { "warn_above=0", "WARN [^\n]* dead units in outputs" } },

  { id = "grad_histogram", file = "grad_histogram.lua", symbol = "GradHistogram",
    init = "every=50",
    says = "%] 6 histograms of gradients at step %d*[05]0\n",
    { "every=1", "gradients at step %d*[1-9]\n" },
    { "bins=3", '"grads/layers%.0%.weight"[^\n]*"counts":%[%d+,%d+,%d+%],'
      .. '"edges":%[[^],]+,[^],]+,[^],]+,[^],]+%]}\n', media },
    { "only=bias", "%] 3 histograms of gradients" } },

  { id = "feat_viz", file = "feat_viz.lua", symbol = "FeatureVizCallback",
    init = "every=100 out_dir=debug/features",
    says = "%[feat_viz%] id=feat_viz step=%d+00 units=128 worst=64/64 loss=[%d.]+\n",
    { "every=9", odd_step },
    { "threshold=30.5 prefix=[debug]", "%] %[debug%] id=feat_viz [^\n]*worst=0/64 loss=none\n" },
    { "prefix=[now]", "%] %[now%] id=feat_viz " },
    { "out_dir=late", '"key":"late/weights"', media },
    { "columns=4", '"key":"late/weights"[^\n]*"width":116,', media },
    { "weights=nowhere", "%] %[now%] no nowhere\n" },
    { "images=no.images weights=model.layers.0.weight", "%] %[now%] no no%.images\n" },
    { "labels=no.labels images=batch.images", "%] %[now%] no no%.labels\n" },
    { "logits=no.logits labels=batch.labels", "%] %[now%] no no%.logits\n" } },
}

-- ---- a training, and the tool beside it -----------------------------------------------------

-- The command line of a training that ends by itself after so many steps, if not before.
local function command(r, ...)
  return { "env", "LD_LIBRARY_PATH=" .. nvml, "timeout", 300, train, "--dir", r.dir, "--poll-ms", 0,
           "--epochs", 0, "--train", 6400, ... }
end

-- Starts one that learns until it is told to stop.
local function start(...)
  local r = rig.new { host = false }
  r.job = shell.start(shell.words(command(r, "--sleep-ms", 1, ...)), r.folder)
  shell.wait("the run", function()
    return r.job.done() or shell.exists(r:path("hotcb.status.json"))
  end)
  return r
end

-- What it printed; it ends by itself, or has been told to.
local function output_of(r)
  local answer = r.job.collect()
  assert.equal(0, answer.code, answer.err)
  return answer.out
end

local function interrupt(r)
  if not r.job.done() then shell.must("kill -INT " .. r:status().pid) end
end

-- What the tool says when all went well; it waits for the run's answer, if there is a run.
local function must(r, ...)
  local answer = r:tool_alone(rig.patient(...))
  assert.equal(0, answer.code, answer.err)
  return answer.out
end

-- The command line of 0.1.0's page; budgets are larger where all takes longer.
local function load(r, row, init)
  local words = { "load", row.id }
  local function add(...) table.move({ ... }, 1, select("#", ...), #words + 1, words) end
  if row.file then add("--file", examples .. row.file)
  else add("--module", "hotcb.callbacks." .. row.id) end
  add("--symbol", row.symbol, "--enabled")
  if rig.slack > 1 then add("--limit", ("time_ms=%d"):format(50 * rig.slack)) end
  if init then
    add("--init")
    for word in init:gmatch("%S+") do add(word) end
  end
  return must(r, table.unpack(words))
end

-- "message=still here" is one word, "threshold=30.5 prefix=[debug]" are two.
local function assignments(text)
  local words = {}
  for word in (text:gsub(" ([%w_]+=)", "\0%1")):gmatch("%Z+") do words[#words + 1] = word end
  return words
end

local function parameter_of(text) return text:match("^[^=]+") end

-- The lines of a file after byte `from` that are of this callback, whole ones only.
local function lines_of(r, id, file, from)
  local f = io.open(r:path(file or "hotcb.log"), "rb")
  if not f then return "" end
  f:seek("set", from or 0)
  local text = f:read("a"):match("^.*\n") or ""
  f:close()
  if file and file ~= media then return text end
  local own = {}
  for line in text:gmatch("[^\n]+\n") do
    if line:find("%f[%w_]" .. id .. "%f[^%w_]") then own[#own + 1] = line end
  end
  return table.concat(own)
end

local function wait_for(r, row, pattern, file, from)
  shell.wait(("%s of %s"):format(pattern, row.id), function()
    local over = r.job.done()
    return lines_of(r, row.id, file, from):find(pattern)
      or over and error("the training has ended: " .. shell.read(r.job.base .. ".err"))
  end)
end

local function set(r, row, change)
  local text, pattern, file = change[1], change[2], change[3]
  local before = lines_of(r, row.id, file)
  assert.is_nil(before:match(pattern), "before " .. text)
  local from = shell.size(r:path(file or "hotcb.log"))
  assert.matches("applied at step %d+", must(r, "set", row.id, table.unpack(assignments(text))))
  if change.enable then must(r, "enable", row.id) end
  wait_for(r, row, pattern, file, from)
end

-- That there is a row for each parameter that it declares, and for no other.
local function check_declared(r, row)
  local declared, rows = {}, {}
  for _, parameter in ipairs(json.decode(must(r, "get", row.id, "--json")).declared) do
    declared[parameter.name] = true
  end
  for word in row.init:gmatch("%S+") do assert.is_true(declared[parameter_of(word)], word) end
  for _, change in ipairs(row) do rows[parameter_of(change[1])] = true end
  assert.same(declared, rows)
end

local function scalars_of(r)
  local keys = {}
  for _, line in ipairs(r:metrics()) do keys[line.key] = true end
  return keys
end

-- ---- pictures and histograms ----------------------------------------------------------------

local signatures = { png = "\137PNG\r\n\26\n", pgm = "P5\n" }

local function media_of(r, id)
  local lines = {}
  for _, line in ipairs(r:media()) do
    if line.id == id then lines[#lines + 1] = line end
  end
  return lines
end

local function check_pictures(r)
  local extension = os.getenv("HOTCB_TEST_PNG") == "ON" and "png" or "pgm"
  local seen = {}
  for _, line in ipairs(media_of(r, "feat_viz")) do
    assert.same({ "image", 1 }, { line.kind, line.channels })
    assert.equal(extension, line.path:match("%.(%a+)$"))
    local bytes, signature = r:read(line.path), signatures[extension]
    assert.equal(signature, bytes:sub(1, #signature), line.path)
    seen[line.key] = line.path
  end
  local begins = "^artifacts/feat_viz/debug/features/"
  assert.matches(begins .. "weights%-%d+%.", seen["debug/features/weights"])
  assert.matches(begins .. "worst%-%d+%.", seen["debug/features/worst"])
end

local function check_histograms(r)
  local sizes = { ["layers.0.weight"] = 784 * 128, ["layers.0.bias"] = 128,
                  ["layers.1.weight"] = 128 * 64, ["layers.1.bias"] = 64,
                  ["layers.2.weight"] = 64 * 10, ["layers.2.bias"] = 10 }
  for _, line in ipairs(media_of(r, "grad_histogram")) do
    assert.equal("histogram", line.kind)
    assert.equal(#line.counts + 1, #line.edges)
    local sum = 0
    for _, count in ipairs(line.counts) do sum = sum + count end
    assert.equal(sizes[line.key:match("^grads/(.+)$")], math.tointeger(sum), line.key)
  end
end

-- What more is to be seen when it has ended.
local more = {
  feat_viz = check_pictures,
  grad_histogram = check_histograms,
  timing = function(r) assert.is_true(scalars_of(r)["timing/p95_s"]) end,
  system_stats = function(r) assert.is_true(scalars_of(r)["system/gpu0_percent"]) end,
  grad_stats = function(r) assert.is_true(scalars_of(r)["grad/norm/layers.0.weight"]) end,
  jsonl_logger = function(r)
    local lines = json.lines(r:read("artifacts/jsonl_logger/hotcb_metrics.jsonl"))
    assert.is_number(lines[1].loss)
    assert.is_number(lines[#lines]["outputs.logits.stats"].std)
  end,
}

local function check_healthy(r, id)
  local callback = json.decode(must(r, "get", id, "--json"))
  assert.same({ "on", 0 }, { callback.state, callback.failures })
end

local function steer(r, row)
  wait_for(r, row, row.says)
  check_declared(r, row)
  for _, change in ipairs(row) do set(r, row, change) end
end

describe("a diagnostic in a training", function()
  local healthy

  setup(function()
    healthy = start()
    for _, row in ipairs(pack) do
      if not row.sick then load(healthy, row, row.init) end
    end
  end)

  teardown(function()
    interrupt(healthy)
    rig.clean()
  end)

  for _, row in ipairs(pack) do
    if row.sick then
      it("is " .. row.id .. ", and stops it", function()
        local r = start("--nan-at", 3, "--nan-in", "weights")
        load(r, row, row.init)
        steer(r, row)
        assert.matches("stopped at step %d+: %[hotcb:anomaly_guard%] anomaly in grads",
                       output_of(r))
      end)
    else
      it("is " .. row.id, function()
        steer(healthy, row)
        check_healthy(healthy, row.id)
        must(healthy, "disable", row.id) -- the others have it quieter
      end)
    end
  end

  it("has left what it wrote", function()
    interrupt(healthy)
    assert.matches("stopped at step %d+: interrupted\nweights %x+\n$", output_of(healthy))
    for _, check in pairs(more) do check(healthy) end
  end)
end)

-- Runs a training to its end; what it printed.
local function run(r, ...)
  return shell.must(shell.words(command(r, ...)))
end

local function weights_of(output) return output:match("\nweights (%x+)\n$") end

-- Where the NaN is, and what of env has it first.
local sick = {
  weights = "model.layers.0.weight",
  logits = "loss",
  gradients = "grads.layers.1.weight",
}

describe("a NaN in a training", function()
  after_each(rig.clean)

  for where, path in pairs(sick) do
    it("stops it at that step, if it is in the " .. where, function()
      local r = rig.new { host = false }
      must(r, "init")
      load(r, { id = "anomaly_guard", symbol = "AnomalyGuardCallback" },
           "every=1 paths=model,loss,grads raise_on_trigger=true")
      local output = run(r, "--nan-at", 7, "--nan-in", where, "--steps", 50)
      local reason = output:match("\nstopped at step 7: ([^\n]+)\nweights %x+\n$")
      assert.matches("anomaly in " .. path .. " at step 7 (grads_ready): ", reason, 1, true)

      local status, stop = r:status(), r:ledger { op = "stop" }
      assert.same({ reason, 7, "stop" }, { status.stop_reason, status.step, status.last.op })
      assert.same({ 1, 7, "anomaly_guard", "applied", reason },
                  { #stop, stop[1].step, stop[1].id, stop[1].decision, stop[1].error })
      assert.matches("Stop asked for: [hotcb:anomaly_guard] anomaly in " .. path,
                     must(r, "status"), 1, true)
      if where ~= "weights" then -- nothing of that step has reached them
        local before = run(r, "--no-hotcb", "--steps", 7)
        assert.equal(weights_of(before), weights_of(output))
      end
    end)
  end
end)

describe("all seven diagnostics", function()
  after_each(rig.clean)

  it("change nothing of what a training learns", function()
    local r, seven = rig.new { host = false }, {}
    must(r, "init")
    for _, row in ipairs(pack) do
      if not row.file then
        load(r, row)
        seven[row.id] = row.symbol
      end
    end
    local with, without = run(r, "--steps", 210), run(r, "--steps", 210, "--no-hotcb")
    assert.equal(weights_of(without), weights_of(with))

    local names = {}
    for _, callback in ipairs(r:status().callbacks) do
      assert.same({ "on", 0 }, { callback.state, callback.failures }, callback.id)
      assert.is_true(callback.calls > 0, callback.id)
      local says = lines_of(r, callback.id):find("[hotcb:" .. callback.id .. "]", 1, true)
      assert.equal(callback.id ~= "anomaly_guard", says ~= nil, callback.id)
      names[callback.id] = callback.name
    end
    assert.same(seven, names)
  end)
end)
