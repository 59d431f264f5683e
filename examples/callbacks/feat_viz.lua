-- feat_viz.lua: two pictures: what each unit of the first layer looks at (0 is mid-grey, three
-- standard deviations up are white), and the worst-classified images of the batch, worst first.
local util = require "hotcb.util"

local FeatureViz = {
  name = "FeatureVizCallback",
  params = {
    { "every", 100, min = 0, unit = "steps", help = "0 = never" },
    { "out_dir", "features", help = "folder of the pictures, below artifacts/ID/" },
    { "threshold", 0.0, min = 0, help = "images with a smaller loss are left out" },
    { "prefix", "[feat_viz]", help = "begins each line" },
    { "columns", 16, min = 1, max = 64, help = "tiles side by side" },
    { "weights", "model.layers.0.weight", help = "path of a tensor (pixels,units)" },
    { "images", "batch.images", help = "path of a tensor (B,pixels) of square images" },
    { "labels", "batch.labels", help = "path of a tensor (B) of classes, the first is 0" },
    { "logits", "outputs.logits", help = "path of a tensor (B,classes)" },
  },
  schedule = "every",
  events = { "train_step_end" },
}

-- The parts of t along a dimension that `order` lists, as tiles of one picture, 16 rows at most.
function FeatureViz:draw(key, t, dim, order, lo, hi)
  local tiles, most = {}, math.min(#order, 16 * self.columns)
  if lo == hi or lo ~= lo then lo, hi = -1, 1 end
  for i = 1, most do tiles[i] = t:slice(dim, order[i], order[i]):pixels(lo, hi) end
  if #tiles > 0 then hotcb.image(self.out_dir .. "/" .. key, util.mosaic(tiles, self.columns)) end
end

-- Which images have a loss of at least the threshold, by falling loss; and the losses.
function FeatureViz:worst(logits, labels)
  local order, loss, classes = {}, {}, logits:shape()[2]
  for i = 1, math.min(#labels, 20000 // classes) do
    local own, sum = logits:get(i, labels:get(i) + 1), 0
    for class = 1, classes do sum = sum + math.exp(logits:get(i, class) - own) end
    loss[i] = sum == sum and math.log(sum) or math.huge
    if loss[i] >= self.threshold then order[#order + 1] = i end
  end
  table.sort(order, function(a, b) return loss[a] > loss[b] end)
  return order, loss
end

function FeatureViz:handle(event, env)
  local t, units = {}, {}
  for _, role in ipairs { "weights", "images", "labels", "logits" } do
    t[role] = util.lookup(env, self[role])
    if not util.is_tensor(t[role]) then return env.log(self.prefix .. " no " .. self[role]) end
  end
  local order, loss = self:worst(t.logits, t.labels)
  local spread, s, shape = 3 * t.weights:stats().std, t.images:stats(), t.weights:shape()
  local dim = shape[1] * #t.images == t.images:numel() and 2 or 1 -- or (units,pixels)
  for unit = 1, math.min(shape[dim], 1024) do units[unit] = unit end
  self:draw("weights", t.weights, dim, units, -spread, spread)
  self:draw("worst", t.images, 1, order, s.min, s.max)
  env.log("%s id=%s step=%d units=%d worst=%d/%d loss=%s", self.prefix, self.id,
    env.step or 0, #units, #order, #loss, order[1] and util.show(loss[order[1]], 3) or "none")
end

return FeatureViz
