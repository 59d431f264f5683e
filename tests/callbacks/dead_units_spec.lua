-- What the example dead_units counts.
local pack = require "support.pack"
local tensor = require("hotcb.testing").tensor

local path = "examples/callbacks/dead_units.lua"
local long = ("u"):rep(240)
local half = { step = 0, ["outputs.layers.0"] = tensor { { 0, 1, 0, 0 }, { 0, 0, 2, 0 } } }

describe("dead_units", function()
  pack.rows(it, path, {
    { "counts units that are 0 for each sample", { "train_step_end", half },
      function(cb) assert.equal("info", cb.logs[1].level) end,
      lines = { "[x] dead units in outputs.layers.0 at step 0: 2 of 4 (50.0 %)" },
      scalars = { ["dead_units/outputs.layers.0"] = 0.5 } },
    { "warns of a layer with too many", init = { warn_above = 0.4 }, { "train_step_end", half },
      function(cb) assert.equal("warn", cb.logs[1].level) end,
      lines = { "[x] dead units in outputs.layers.0 at step 0: 2 of 4 (50.0 %)" } },
    { "takes channels of a picture, and all tensors of a group", init = { path = "outputs" },
      { "train_step_end", { step = 0, outputs = {
        { "conv", tensor { { { 0, 0 }, { 0, -1 } }, { { 0, 0 }, { 0, 0 } } } },
        { "loss", 3 }, { "flat", tensor { 0, 0 } }, { "empty", tensor({}, { shape = { 0, 3 } }) },
        { "nan", tensor { { 0 / 0, 0 } } } } } },
      lines = { "[x] dead units in outputs.conv at step 0: 1 of 2 (50.0 %)",
                "[x] dead units in outputs.nan at step 0: 1 of 2 (50.0 %)" },
      scalars = { ["dead_units/outputs.conv"] = 0.5, ["dead_units/outputs.nan"] = 0.5 } },
    { "has no scalar where the name is too long for one", init = { path = "outputs" },
      { "train_step_end", { step = 0, outputs = { { long, tensor { { 0, 1 } } } } } },
      lines = { "[x] dead units in outputs." .. long .. " at step 0: 1 of 2 (50.0 %)" },
      scalars = {} },
    { "says that nothing is there", { "train_step_end", { step = 0 } },
      lines = { "[x] no activations at outputs.layers.0" }, scalars = {} },
    { "takes new values at once", { "train_step_end", { step = 1 } },
      function(cb) cb:set("every=2", "path=a") end,
      { "train_step_end", { step = 2, a = tensor { { 0 } } } },
      lines = { "[x] dead units in a at step 2: 1 of 1 (100.0 %)" } },
  })
end)
