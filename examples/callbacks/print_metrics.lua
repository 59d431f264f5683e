-- print_metrics.lua: a line with the step, once every `every` steps.
local PrintMetrics = {
  name = "PrintMetrics",
  params = { -- name, default; `hotcb set ID every=5` changes one while the run goes on
    { "every", 50, min = 0, unit = "steps", help = "0 = never" },
    { "prefix", "[metrics]" },
  },
  schedule = "every", -- handle is called only when a multiple of `every` is reached
  events = { "train_step_end" },
}

function PrintMetrics:handle(event, env)
  env.log("%s id=%s step=%d event=%s batch_idx=%s",
    self.prefix, self.id, env.step, event, env.batch_idx)
end

return PrintMetrics
