-- What tensor_stats says of tensors and numbers.
local pack = require "support.pack"
local tensor = require("hotcb.testing").tensor

local path = "callbacks/tensor_stats.lua"
local nan, inf = 0 / 0, math.huge
local logits = { outputs = { logits = tensor { { 1, 2 }, { 3, 6 } } } }

local function with(step, fields)
  local all = { step = step }
  for key, value in pairs(fields) do all[key] = value end
  return all
end

describe("tensor_stats", function()
  pack.declares(it, path, "TensorStatsCallback", { every = 100, paths = { "loss" }, prefix = "" })

  pack.rows(it, path, {
    { "says the loss", { "train_step_end", { step = 100, loss = 0.25 } },
      lines = { "[hotcb:x] loss: 0.25" } },
    { "says what a tensor holds", init = { paths = { "outputs.logits" }, prefix = "train/" },
      { "train_step_end", with(0, logits) },
      lines = { "[hotcb:x] train/outputs.logits: shape=[2,2] dtype=f32 numel=4 nan=0 inf=0 zeros=0 "
        .. "min=1 max=6 mean=3 std=1.87083 l2=7.07107" } },
    { "counts what is not finite, and leaves it out of the rest", init = { paths = { "batch" } },
      { "train_step_end", { step = 0, batch = { a = tensor { nan, 2, -inf, 0 },
                                                b = tensor({ nan }, { dtype = "bf16" }) } } },
      lines = { "[hotcb:x] batch.a: shape=[4] dtype=f32 numel=4 nan=1 inf=1 zeros=1 min=0 max=2 "
        .. "mean=1 std=1 l2=2", "[hotcb:x] batch.b: shape=[1] dtype=bf16 numel=1 nan=1 inf=0 "
        .. "zeros=0" } },
    { "takes whole groups in their order, and keys with points",
      init = { paths = { "metrics", "loss.ce", "grads.layers.0.weight" } },
      { "train_step_end", { step = 0, ["loss.ce"] = 3, metrics = { { "z", true }, { "a", "text" } },
                            grads = { ["layers.0.weight"] = tensor(5, { dtype = "i8" }) } } },
      lines = { "[hotcb:x] metrics.z: true", "[hotcb:x] metrics.a: text", "[hotcb:x] loss.ce: 3",
        "[hotcb:x] grads.layers.0.weight: shape=[] dtype=i8 numel=1 nan=0 inf=0 zeros=0 min=5 "
        .. "max=5 mean=5 std=0 l2=5" } },
    { "says once that there is nothing", init = { every = 1, paths = { "loss", "nope" } },
      { "train_step_end", { step = 0, loss = nan } }, { "train_step_end", { step = 1 } },
      { "train_step_end", { step = 2 } }, function(cb) cb:set("paths=nope") end,
      { "train_step_end", { step = 3 } },
      lines = { "[hotcb:x] loss: nan", "[hotcb:x] nope: the host has set nothing there",
                "[hotcb:x] loss: the host has set nothing there",
                "[hotcb:x] nope: the host has set nothing there" } },
    { "tells gradients before the update, once, and all else after it",
      init = { every = 1, paths = { "grads.w", "loss", "gradsum", "grads" } },
      { "grads_ready", { step = 0, loss = 1, grads = { w = 7 } } },
      { "train_step_end", { step = 0, loss = 2, gradsum = 4, grads = { w = 8 } } },
      lines = { "[hotcb:x] grads.w: 7", "[hotcb:x] grads.w: 7", "[hotcb:x] loss: 2",
                "[hotcb:x] gradsum: 4" } },
    { "tells gradients after it where they are not there before",
      init = { every = 1, paths = { "grads.w" } }, { "grads_ready", { step = 0 } },
      { "train_step_end", { step = 0, grads = { w = 8 } } }, { "grads_ready", { step = 1 } },
      { "train_step_end", { step = 1 } },
      lines = { "[hotcb:x] grads.w: 8", "[hotcb:x] grads.w: the host has set nothing there" } },
    { "takes new values at once", { "train_step_end", { step = 1, loss = 1 } },
      function(cb) cb:set("every=2", "paths=loss, outputs.logits,", "prefix=p ") end,
      { "train_step_end", with(2, { loss = 2, ["outputs.logits"] = 3 }) },
      lines = { "[hotcb:x] p loss: 2", "[hotcb:x] p outputs.logits: 3" } },
  })
end)
