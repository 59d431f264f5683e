-- print_metrics.lua: a line every so many steps, wherever the training runs. What each
-- line replaces in the four forms of hotcb 0.1.0's page is said beside it.
local PrintMetrics = {
  -- Lightning: class PrintEveryN(pl.Callback); Hugging Face: (TrainerCallback); bare
  -- PyTorch: a plain class that the loop calls; hotcb 0.1.0: a class with an id.
  name = "PrintMetrics",

  -- All four: __init__(every=50, prefix="[metrics]") with int() and str() by hand, and
  -- in 0.1.0 set_params(**kwargs) that says the same again. Here a row declares name,
  -- default and range once, and the host checks and sets it: `hotcb set ID every=5`.
  params = {
    { "every", 50, min = 0, unit = "steps", help = "0 = never" },
    { "prefix", "[metrics]", help = "begins each line" },
  },

  -- All four: if self.every > 0 and step % self.every == 0. It misses multiples that a
  -- stride jumps over, and fires again where a step number repeats; this does neither.
  schedule = "every",

  -- Lightning: on_train_batch_end; Hugging Face: on_step_end; bare PyTorch: wherever the
  -- loop calls hook.on_step_end(...). One name for all of them.
  events = { "train_step_end" },
}

-- trainer.global_step, state.global_step, a loop's own step: env.step. trainer.print,
-- print, env.get("log", print): env.log, which goes where the host logs.
function PrintMetrics:handle(event, env)
  env.log("%s id=%s step=%d event=%s batch_idx=%s",
    self.prefix, self.id, env.step or 0, event, env.batch_idx)
end

return PrintMetrics
