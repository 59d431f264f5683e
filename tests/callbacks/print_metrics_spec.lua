-- What the example print_metrics says.
local pack = require "support.pack"

describe("print_metrics", function()
  pack.rows(it, "examples/callbacks/print_metrics.lua", {
    { "says where the run is", { "train_step_end", { step = 100, batch_idx = 3 } },
      lines = { "[metrics] id=x step=100 event=train_step_end batch_idx=3" } },
    { "begins with its prefix", init = { prefix = "[debug]" }, { "train_step_end", { step = 0 } },
      lines = { "[debug] id=x step=0 event=train_step_end batch_idx=nil" } },
    { "has 0 for a step that the host does not set", init = { every = 1 },
      { "train_step_end", {} },
      lines = { "[metrics] id=x step=0 event=train_step_end batch_idx=nil" } },
    { "comes as often as it is told", { "train_step_end", { step = 1 } },
      function(cb) cb:set("every=1", "prefix=-") end, { "train_step_end", { step = 2 } },
      lines = { "- id=x step=2 event=train_step_end batch_idx=nil" } },
  })
end)
