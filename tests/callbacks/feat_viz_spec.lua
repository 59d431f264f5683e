-- The pictures that the example feat_viz draws.
local pack = require "support.pack"
local testing = require "hotcb.testing"

local path = "examples/callbacks/feat_viz.lua"
local tensor, nan = testing.tensor, 0 / 0

-- Three units, whose weights are 1 and -1 so that their standard deviation is 1, on images of 2
-- by 2, and three of these with their classes: the second one is taken for another, the third
-- could be either.
local function fields(more)
  local all = {
    ["model.layers.0.weight"] = tensor { { 1, 1, -1 }, { -1, 1, 1 }, { 1, -1, -1 },
                                         { -1, -1, 1 } },
    ["batch.images"] = tensor { { 1, 1, 1, 1 }, { 0, 1, 0, 0 }, { 0, 0, 0, 0.5 } },
    ["batch.labels"] = tensor({ 0, 0, 1 }, { dtype = "u8" }),
    ["outputs.logits"] = tensor { { 9, 0 }, { -1, 3 }, { 0, 0 } },
  }
  for key, value in pairs(more or {}) do all[key] = value end
  return all
end

-- What is drawn of them: 0xaa is 1, 0x55 is -1, which is a third of the way from grey.
local units = { "aa 55 00 aa aa 00", "aa 55 00 55 55 00", "00 00 00 00 00 00",
                "55 aa 00 00 00 00", "55 aa 00 00 00 00", "00 00 00 00 00 00" }
local worst = { "00 ff 00 00 00 00", "00 00 00 00 80 00", "00 00 00 00 00 00",
                "ff ff 00 00 00 00", "ff ff 00 00 00 00", "00 00 00 00 00 00" }

-- The same in one row.
local function in_a_row(rows)
  local all = {}
  for i = 1, 3 do all[i] = rows[i] .. " " .. rows[i + 3]:sub(1, 8) end
  return all
end

local function load(init)
  init.every = init.every or 1
  return testing.load(pack.root .. path, { id = "x", init = init, symbol = "FeatureVizCallback" })
end

local function rows_of(image)
  local rows = {}
  for y = 1, image.height do
    local row = image.pixels:sub((y - 1) * image.width + 1, y * image.width)
    rows[y] = row:gsub(".", function(c) return ("%02x "):format(c:byte()) end):sub(1, -2)
  end
  return rows
end

local function pictures(cb)
  local all = {}
  for _, image in ipairs(cb.images) do all[image.path] = rows_of(image) end
  return all
end

describe("feat_viz", function()
  it("draws the weights of each unit, and the worst images first", function()
    local cb = load { columns = 2 }
    cb:step(7, fields())
    assert.same({ "[feat_viz] id=x step=7 units=3 worst=3/3 loss=4.02" }, cb.lines)
    assert.same({ ["artifacts/x/features/weights-000007.png"] = units,
                  ["artifacts/x/features/worst-000007.png"] = worst }, pictures(cb))
  end)

  it("takes weights that lie the other way round", function()
    local cb = load { columns = 2, out_dir = "a/b" }
    cb:step(7, fields { ["model.layers.0.weight"] = tensor {
      { 1, -1, 1, -1 }, { 1, 1, -1, -1 }, { -1, 1, -1, 1 } } })
    assert.same(units, pictures(cb)["artifacts/x/a/b/weights-000007.png"])
  end)

  it("takes the command line of 0.1.0's page, and other new values, at once", function()
    local cb = load { every = 10 }
    assert.is_true(cb:set("threshold=30.5", "prefix=[debug]"))
    cb:step(10, fields())
    assert.same({ "[debug] id=x step=10 units=3 worst=0/3 loss=none" }, cb.lines)
    assert.same({ ["artifacts/x/features/weights-000010.png"] = in_a_row(units) }, pictures(cb))
    cb.images = {}
    assert.is_true(cb:set("threshold=1", "every=5", "out_dir=v", "images=batch.x", "columns=1"))
    cb:step(15, fields { ["batch.x"] = tensor { { 0, 0, 0, 1 }, { 1, 0, 0, 0 }, { 0, 0, 0, 0 } } })
    assert.equal("[debug] id=x step=15 units=3 worst=1/3 loss=4.02", cb.lines[2])
    assert.same({ "ff 00 00", "00 00 00", "00 00 00" },
                pictures(cb)["artifacts/x/v/worst-000015.png"])
  end)

  it("says what is not there", function()
    for name, path_of in pairs { weights = "model.w", images = "batch.i", labels = "l",
                                 logits = "outputs.l" } do
      local cb = load { [name] = path_of }
      cb:step(0, fields { l = 5 })
      assert.same({ "[feat_viz] no " .. path_of }, cb.lines)
      assert.same({}, cb.images)
    end
  end)

  it("draws what is flat or no number, too", function()
    local cb = load {}
    cb:step(0, fields {
      ["model.layers.0.weight"] = tensor { { nan, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 } },
      ["batch.images"] = tensor { { nan, nan, nan, nan }, { nan, nan, nan, nan },
                                  { nan, nan, nan, nan } },
      ["outputs.logits"] = tensor { { nan, 0 }, { 1, 1 }, { math.huge, 0 } } })
    assert.equal("[feat_viz] id=x step=0 units=2 worst=3/3 loss=inf", cb.lines[1])
    assert.equal(2, #cb.images)
  end)

  it("says what is wrong with images that are no squares", function()
    local cb = load {}
    local ok, why = pcall(cb.step, cb, 0, fields {
      ["batch.images"] = tensor { { 1, 1, 1 }, { 1, 1, 1 }, { 1, 1, 1 } } })
    assert.is_false(ok)
    assert.matches("feat_viz.lua:%d+: 3 pixels are no square", why)
  end)

  it("has its pictures of a usual layer soon", function()
    local pixels, images, logits, labels = {}, {}, {}, {}
    for i = 1, 784 * 128 do pixels[i] = i % 7 - 3 end
    for i = 1, 784 * 64 do images[i] = i % 256 / 255 end
    for i = 1, 640 do logits[i] = i % 10 end
    for i = 1, 64 do labels[i] = i % 10 end
    local all, n = fields {
      ["model.layers.0.weight"] = tensor(pixels, { shape = { 784, 128 } }),
      ["batch.images"] = tensor(images, { shape = { 64, 784 } }),
      ["batch.labels"] = tensor(labels, { dtype = "u8" }),
      ["outputs.logits"] = tensor(logits, { shape = { 64, 10 } }) }, 0
    local cb = load {}
    debug.sethook(function()
      local where = debug.getinfo(2, "S").source
      if where:find("feat_viz", 1, true) or where:find("hotcb.util", 1, true) then n = n + 1000 end
    end, "", 1000)
    cb:step(0, all)
    debug.sethook()
    assert.equal(464 * 232, #cb.images[1].pixels)
    assert.is_true(n > 0 and n < 200000, n .. " instructions") -- some 2 ms
  end)
end)
