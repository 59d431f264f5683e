-- What the example grad_histogram hands on.
local pack = require "support.pack"
local tensor = require("hotcb.testing").tensor

local long = ("g"):rep(242)
local path = "examples/callbacks/grad_histogram.lua"
local grads = { { "w", tensor { { 0, 1 }, { 3, 4 } } }, { "b", tensor { 0 / 0, 2 } }, { "n", 1 } }

local function keys(cb)
  local list = {}
  for i, h in ipairs(cb.histograms) do list[i] = ("%s@%d"):format(h.key, h.step) end
  return list
end

describe("grad_histogram", function()
  pack.rows(it, path, {
    { "counts the elements of each gradient", init = { bins = 2 },
      { "grads_ready", { step = 0, grads = grads } },
      function(cb)
        assert.same({ { key = "grads/w", counts = { 2, 2 }, edges = { 0, 2, 4 }, step = 0 },
                      { key = "grads/b", counts = { 0, 1 }, edges = { 1.5, 2, 2.5 }, step = 0 } },
                    cb.histograms)
      end,
      lines = { "[x] 2 histograms of gradients at step 0" } },
    { "never looks twice at a step", init = { every = 1 },
      { "train_step_end", { step = 0, grads = grads } },
      { "grads_ready", { step = 1, grads = grads } },
      { "train_step_end", { step = 1, grads = grads } },
      function(cb)
        assert.same({ "grads/w@0", "grads/b@0", "grads/w@1", "grads/b@1" }, keys(cb))
      end },
    { "looks after the update where there is nothing before it", init = { every = 1 },
      { "grads_ready", { step = 0 } }, { "train_step_end", { step = 0, grads = grads } },
      lines = { "[x] 2 histograms of gradients at step 0" } },
    { "has the end of a name that is too long for a key",
      { "grads_ready", { step = 0, grads = { ["xxx" .. long] = tensor { 1 } } } },
      function(cb) assert.same({ "grads/xx" .. long .. "@0" }, keys(cb)) end },
    { "takes new values at once", { "grads_ready", { step = 1, grads = grads } },
      function(cb) cb:set("every=2", "bins=3", "only=w") end,
      { "grads_ready", { step = 2, grads = grads } },
      function(cb)
        assert.same({ "grads/w@2" }, keys(cb))
        assert.same({ 2, 0, 2 }, cb.histograms[1].counts)
      end,
      lines = { "[x] 1 histograms of gradients at step 2" } },
  })
end)
