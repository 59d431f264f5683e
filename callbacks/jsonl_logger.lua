-- jsonl_logger.lua: a record of a step for a later look, as a line of strict JSON (NaN and
-- infinities are text) in artifacts/ID/OUT_PATH: what the step was, the scalars by their paths,
-- and statistics of tensors as "PATH.stats". What is not there is left out.
local util = require "hotcb.util"

local JsonlLogger = {
  name = "JSONLLoggerCallback",
  params = {
    { "every", 10, min = 0, unit = "steps", help = "0 = never" },
    { "out_path", "hotcb_metrics.jsonl", help = "a file below artifacts/ID/" },
    { "scalars", { "loss" }, help = "numbers to record, as in loss,metrics" },
    { "tensor_paths", {}, help = "tensors to record the statistics of, as in outputs.logits" },
  },
  schedule = "every",
  events = { "grads_ready", "train_step_end", "val_step_end", "eval_end" },
}

function JsonlLogger:set_params(changed)
  local path = changed.out_path
  if path and ("/" .. path .. "/"):find("/%.?%.?/") then
    error(("out_path=%s: expected the name of a file below artifacts/%s/, as in logs/a.jsonl: it "
      .. "does not begin with /, and has no . or .. in it"):format(path, self.id), 0)
  end
  self.said = nil
end

-- Gradients are seen before the update of the same step, where the host has them there.
function JsonlLogger:add_tensors(env, record, only)
  for name, value in util.each(env, self.tensor_paths) do
    if util.is_tensor(value) and (not only or name:find(only)) then
      record[name .. ".stats"] = record[name .. ".stats"] or util.stats(value)
    end
  end
end

function JsonlLogger:handle(event, env)
  local early, record = self.early, { step = env.step }
  if event == "train_step_end" and early and early.step == env.step then record = early end
  self.early = event == "grads_ready" and record or nil
  if self.early then return self:add_tensors(env, record, "^grads%.") end
  if self.every == 0 then return end -- eval_end has no schedule
  for _, key in ipairs { "step", "epoch", "phase", "framework" } do record[key] = env[key] end
  record.id, record.event, record.step = self.id, event, env.step or 0
  for name, value in util.each(env, self.scalars) do
    record[name] = util.number(value) or record[name]
  end
  self:add_tensors(env, record)
  hotcb.artifact(self.out_path, hotcb.json.encode(record) .. "\n", "append")
  hotcb.log(self.said and "debug" or "info", "[hotcb:%s] wrote jsonl step=%d -> artifacts/%s/%s",
    self.id, record.step, self.id, self.out_path)
  self.said = true
end

return JsonlLogger
