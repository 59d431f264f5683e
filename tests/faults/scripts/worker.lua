-- One that uses all that a callback may: parameters, a helper, what is saved, every kind of
-- output. The tests write it into their own folder, the second time as another version.
-- luacheck: std hotcb
local helper = require "helper"

local Worker = {
  name = "Worker1",
  params = {
    { "every", 1, min = 0, unit = "steps", help = "0 = never" },
    { "mark", 0, min = 0, help = "what was set last" },
    { "stop", false, help = "asks the run to stop" },
  },
  schedule = "every",
  events = { "train_step_end" },
}

function Worker:on_attach(env)
  self.framework = env.framework
end

function Worker:set_params(changed)
  self.mark = changed.mark or self.mark
end

function Worker:handle(event, env)
  self.seen = helper.more(self.seen)
  env.log("step %d loss %.2f mark %d", env.step, env.loss or 0, self.mark)
  hotcb.scalar("lr", env.metrics.lr or 0)
  hotcb.scalar("layer", env.grads["layers.0.weight"] or 0)
  hotcb.histogram("h", { 3, self.seen }, { 0, 0.125, env.loss or 1 })
  hotcb.image("deep/picture", ("xyz"):rep(4), 2, 2)
  local w = env.model.w -- there may have been no memory to lend it
  if w then hotcb.histogram("w", w:histogram(3)) end
  local line = "step " .. env.step .. " of " .. (env.phase or "none") .. "\n"
  hotcb.artifact("trace.txt", line, "append")
  hotcb.artifact("deep/last.txt", "seen " .. self.seen .. "\n")
  if self.stop then hotcb.stop("asked to at " .. event) end
end

function Worker:save()
  return { seen = self.seen, marks = { self.mark, "text", 0.5 } }
end

function Worker:restore(saved)
  self.seen = saved.seen
end

function Worker:close()
  hotcb.log("info", "seen %d", self.seen or 0)
end

return Worker
