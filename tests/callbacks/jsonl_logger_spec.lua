-- What jsonl_logger writes.
local json = require "support.json"
local pack = require "support.pack"
local testing = require "hotcb.testing"

local path = "callbacks/jsonl_logger.lua"
local tensor, nan = testing.tensor, 0 / 0

local function load(init) return testing.load(pack.root .. path, { id = "x", init = init }) end

-- The records of a file, a table each.
local function records(cb, name)
  local list = {}
  for line in (cb.artifacts[name or "hotcb_metrics.jsonl"] or ""):gmatch("[^\n]*\n") do
    list[#list + 1] = json.decode(line)
  end
  return list
end

local function record(step, more)
  local all = { id = "x", event = "train_step_end", step = step, framework = "c" }
  for key, value in pairs(more or {}) do all[key] = value end
  return all
end

local grad = { shape = { 2 }, dtype = "f32", numel = 2, nan = 0, inf = 0, zeros = 0, min = 3,
               max = 4, mean = 3.5, std = 0.5, l2 = 5 }

local rows = {
  { "the loss, and where the run is", {},
    { "train_step_end", { step = 10, epoch = 1.5, phase = "train", loss = 0.25 } },
    { record(10, { epoch = 1.5, phase = "train", loss = 0.25 }) } },
  { "numbers in other dress, and not what is no number",
    { scalars = { "loss", "a", "b", "c", "d", "metrics", "nope" } },
    { "train_step_end", { step = 0, loss = "0.5", a = true, b = tensor { { 7 } }, c = "fast",
                          d = tensor { 1, 2 }, metrics = { lr = 0.1, ["loss.ce"] = 3 } } },
    { record(0, { loss = 0.5, a = 1, b = 7, ["metrics.lr"] = 0.1, ["metrics.loss.ce"] = 3 }) } },
  { "what is not finite, as text", {}, { "train_step_end", { step = 0, loss = nan } },
    { record(0, { loss = "NaN" }) } },
  { "statistics of tensors", { tensor_paths = { "batch", "loss" }, scalars = {} },
    { "train_step_end", { step = 0, loss = 1, batch = { x = tensor { 3, 4 },
                                                        y = tensor(nan, { dtype = "f64" }) } } },
    { record(0, { ["batch.x.stats"] = grad,
                  ["batch.y.stats"] = { dtype = "f64", numel = 1, nan = 1, inf = 0,
                                        zeros = 0 } }) } },
  { "a record of a validation step, and of an evaluation", {},
    { "val_step_end", { step = 20, loss = 2 } }, { "eval_end", { step = 21, loss = 3 } },
    { record(20, { event = "val_step_end", loss = 2 }),
      record(21, { event = "eval_end", loss = 3 }) } },
  { "gradients as they were before the update", { tensor_paths = { "grads", "model.w" } },
    { "grads_ready", { step = 10, loss = 1, grads = { w = tensor { 3, 4 } },
                       model = { w = tensor { 9 } } } },
    { "train_step_end", { step = 10, loss = 2, grads = { w = tensor { 0 } },
                          model = { w = tensor { 3, 4 } } } },
    { "train_step_end", { step = 20 } },
    { record(10, { loss = 2, ["grads.w.stats"] = grad, ["model.w.stats"] = grad }), record(20) } },
  { "no gradients of an earlier step, where not each has some", { tensor_paths = { "grads" } },
    { "grads_ready", { step = 9, grads = { w = tensor { 1 } } } },
    { "train_step_end", { step = 9 } }, { "train_step_end", { step = 10, loss = 1 } },
    { "grads_ready", { step = 13, grads = { w = tensor { 3, 4 } } } },
    { "train_step_end", { step = 13 } }, { "train_step_end", { step = 20, loss = 2 } },
    { record(10, { loss = 1 }), record(20, { loss = 2 }) } },
}

describe("jsonl_logger", function()
  pack.declares(it, path, "JSONLLoggerCallback",
                { every = 10, out_path = "hotcb_metrics.jsonl", scalars = { "loss" },
                  tensor_paths = {} })

  for _, row in ipairs(rows) do
    it("writes " .. row[1], function()
      local cb = load(row[2])
      for i = 3, #row - 1 do cb:emit(table.unpack(row[i])) end
      assert.same(row[#row], records(cb))
    end)
  end

  it("adds a line each time, and says so once a file", function()
    local cb = load { every = 1 }
    cb:steps(1, 2, { loss = 1.5 })
    assert.is_true(cb:set("out_path=logs/b.jsonl", "every=3", "scalars=loss.ce", "tensor_paths=w"))
    cb:steps(3, 6, { ["loss.ce"] = 2, w = tensor { 3, 4 } })
    assert.equal(2, #records(cb))
    assert.same({ record(3, { ["loss.ce"] = 2, ["w.stats"] = grad }),
                  record(6, { ["loss.ce"] = 2, ["w.stats"] = grad }) }, records(cb, "logs/b.jsonl"))
    local levels = {}
    for i, line in ipairs(cb.logs) do levels[i] = line.level .. line.text:match(" step=.*") end
    assert.same({ "info step=1 -> artifacts/x/hotcb_metrics.jsonl",
                  "debug step=2 -> artifacts/x/hotcb_metrics.jsonl",
                  "info step=3 -> artifacts/x/logs/b.jsonl",
                  "debug step=6 -> artifacts/x/logs/b.jsonl" }, levels)
  end)

  it("writes nothing with every=0", function()
    local cb = load { every = 0 }
    cb:emit("eval_end", { loss = 1 })
    cb:steps(0, 3, { loss = 1 })
    assert.same({}, cb.artifacts)
  end)

  for _, name in ipairs { "/tmp/a.jsonl", "../a.jsonl", "a/../../b", "a/..", "./a", "a//b", "" } do
    it("refuses to write to '" .. name .. "'", function()
      local why = "out_path=" .. name .. ": expected the name of a file below artifacts/x/"
      local cb = load()
      local ok, said = cb:set("out_path=" .. name)
      assert.is_nil(ok)
      assert.is_truthy(said:find(why, 1, true), said)
      assert.equal("hotcb_metrics.jsonl", cb.params.out_path)
      assert.has_error(function() load { out_path = name } end)
    end)
  end
end)
