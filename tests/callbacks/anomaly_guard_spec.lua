-- What anomaly_guard takes for an anomaly, and what it does then.
local pack = require "support.pack"
local testing = require "hotcb.testing"

local path = "callbacks/anomaly_guard.lua"
local tensor, nan, inf = testing.tensor, 0 / 0, math.huge

local function loss(event, step, value) return { event, { step = step, loss = value } } end

local function line(name, event, step, stats)
  return ("[hotcb:x] ANOMALY DETECTED path=%s event=%s step=%s stats={%s}")
    :format(name, event, step, stats)
end

local grads = { { "a", tensor { 1, 2 } }, { "b.c", tensor { { 1, nan }, { -inf, 0 } } },
                { "d", tensor { nan } } }

describe("anomaly_guard", function()
  pack.declares(it, path, "AnomalyGuardCallback",
                { every = 1, paths = { "loss" }, raise_on_trigger = false,
                  disable_after_trigger = false })

  local healthy = { 0.0, -0.0, 1e308, 5, math.maxinteger, "nan", true, tensor { 1, 2 },
                    tensor({ 1, 0 }, { dtype = "u8" }), tensor({}, { shape = { 0 } }) }
  for i, value in ipairs(healthy) do
    pack.rows(it, path, { { "sees no anomaly in what is finite, row " .. i,
      init = { raise_on_trigger = true }, loss("train_step_end", 0, value), lines = {} } })
  end

  local sick = { { nan, "nan", "it is NaN" }, { inf, "inf", "it is Inf" },
                 { -inf, "-inf", "it is -Inf" } }
  for _, dtype in ipairs { "f64", "f32", "f16", "bf16" } do
    sick[#sick + 1] = { tensor({ nan, 1 }, { dtype = dtype }),
      ("shape=[2] dtype=%s numel=2 nan=1 inf=0 zeros=0 min=1 max=1 mean=1 std=0 l2=1")
        :format(dtype), ("nan=1 inf=0 of 2 in %s[2]"):format(dtype) }
  end
  for _, row in ipairs(sick) do
    pack.rows(it, path, { { "stops a run whose loss is " .. row[2],
      init = { raise_on_trigger = true }, loss("train_step_end", 2, 1.0),
      loss("train_step_end", 3, row[1]),
      lines = { line("loss", "train_step_end", 3, row[2]) },
      stop = "[hotcb:x] anomaly in loss at step 3 (train_step_end): " .. row[3] } })
  end

  pack.rows(it, path, {
    { "only says it, at each step, if that is all it is told to",
      loss("train_step_end", 3, nan), loss("train_step_end", 4, inf),
      loss("train_step_end", 5, 1.0), loss("val_step_end", 5, nan),
      lines = { line("loss", "train_step_end", 3, "nan"), line("loss", "train_step_end", 4, "inf"),
                line("loss", "val_step_end", 5, "nan") } },
    { "takes what is missing for no anomaly", init = { paths = { "loss", "grads", "x.y" } },
      loss("train_step_end", 0), loss("grads_ready", 0), lines = {} },
    { "catches a gradient before the update, and names it",
      init = { paths = { "loss", "grads" }, raise_on_trigger = true },
      { "grads_ready", { step = 41, loss = 1, grads = grads } },
      lines = { line("grads.b.c", "grads_ready", 41, "shape=[2,2] dtype=f32 numel=4 nan=1 inf=1 "
        .. "zeros=1 min=0 max=1 mean=0.5 std=0.5 l2=1") },
      stop = "[hotcb:x] anomaly in grads.b.c at step 41 (grads_ready): nan=1 inf=1 of 4 in f32[2,2]"
    },
    { "is off after the first one, if asked, until it is enabled",
      init = { disable_after_trigger = true }, loss("train_step_end", 1, nan),
      loss("train_step_end", 2, nan), function(cb) cb:enable() end, loss("train_step_end", 3, nan),
      lines = { line("loss", "train_step_end", 1, "nan"),
                line("loss", "train_step_end", 3, "nan") },
      enabled = false },
    { "looks at each multiple of every, and at all that a stride jumps over",
      init = { every = 10 }, loss("train_step_end", 5, nan), loss("train_step_end", 10, nan),
      loss("train_step_end", 10, nan), loss("train_step_end", 19, nan),
      loss("train_step_end", 31, nan), loss("grads_ready", 35, nan), loss("grads_ready", 41, nan),
      lines = { line("loss", "train_step_end", 10, "nan"),
                line("loss", "train_step_end", 31, "nan"),
                line("loss", "grads_ready", 41, "nan") } },
    { "looks at each multiple of a new every, and at nothing else", init = { every = 10 },
      loss("train_step_end", 109, 1.0), function(cb) cb:set("every=11") end,
      loss("train_step_end", 110, nan), function(cb) cb:set("every=50") end,
      loss("train_step_end", 111, nan), function(cb) cb:set("every=1") end,
      loss("train_step_end", 119, 1.0), function(cb) cb:set("every=60") end,
      loss("train_step_end", 121, nan),
      lines = { line("loss", "train_step_end", 110, "nan"),
                line("loss", "train_step_end", 121, "nan") } },
    { "looks at each call with every=1, also where the step stays",
      loss("val_step_end", 7, 1.0), loss("val_step_end", 7, nan),
      lines = { line("loss", "val_step_end", 7, "nan") } },
    { "looks where there is no step", init = { every = 10, raise_on_trigger = true },
      { "train_step_end", { loss = nan } },
      lines = { line("loss", "train_step_end", "?", "nan") },
      stop = "[hotcb:x] anomaly in loss at step ? (train_step_end): it is NaN" },
    { "never looks with every=0", init = { every = 0 }, loss("train_step_end", 0, nan),
      lines = {} },
    { "takes new values at once", init = { every = 0 }, loss("train_step_end", 1, nan),
      function(cb)
        cb:set("every=2", "paths=metrics.a", "raise_on_trigger=on", "disable_after_trigger=on")
      end,
      { "train_step_end", { step = 2, loss = nan, metrics = { a = inf } } },
      loss("train_step_end", 4, nan), lines = { line("metrics.a", "train_step_end", 2, "inf") },
      stop = "[hotcb:x] anomaly in metrics.a at step 2 (train_step_end): it is Inf",
      enabled = false },
  })
end)
