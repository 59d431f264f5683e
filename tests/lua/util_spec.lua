-- hotcb.util, as a callback uses it.
local testing = require "hotcb.testing"

local tensor, nan, inf = testing.tensor, 0 / 0, math.huge

-- A callback that runs `body` with util, event and env, and shows its arguments by `show`.
local function run(body, fields)
  local cb = testing.script("local util = require 'hotcb.util'\n"
    .. "local function show(...) print(select('#', ...), ...) end\n"
    .. "function handle(event, env) " .. body .. " end")
  cb:step(5, fields)
  return cb.lines, cb
end

local env = { loss = 0.5, ["loss.ce"] = 2, flag = false, metrics = { { "z", 1 }, { "a.b", 2 } },
              grads = { ["layers.0.weight"] = tensor { { 1, 2 }, { 3, 4 } },
                        none = tensor { nan } } }

local lookups = {
  { "loss", "0.5" }, { "loss.ce", "2" }, { "metrics.a.b", "2" }, { "flag", "false" },
  { "grads.layers.0.weight", "f32[2,2]" }, { "framework", "c" }, { "step", "5" },
  { "nope", "nil" }, { "loss.nope", "nil" }, { "metrics.nope", "nil" }, { "metrics.", "nil" },
  { "", "nil" }, { ".", "nil" }, { "log", "nil" }, { "step.x", "nil" }, { "nope.x", "nil" },
}

local numbers = {
  { "1", "1" }, { "2.5", "2.5" }, { "'1e3'", "1000.0" }, { "' 7 '", "7" }, { "true", "1" },
  { "false", "0" }, { "nil", "nil" }, { "'x'", "nil" }, { "{}", "nil" }, { "print", "nil" },
  { "env.t1", "3.0" }, { "env.t3", "7" }, { "env.tb", "1" }, { "env.t2", "nil" },
  { "env.empty", "nil" },
}

describe("util", function()
  for _, row in ipairs(lookups) do
    it("looks up '" .. row[1] .. "'", function()
      assert.same({ row[2] }, (run(("print(util.lookup(env, '%s'))"):format(row[1]), env)))
    end)
  end

  it("looks up a group as a table", function()
    assert.same({ "table" }, (run("print(type(util.lookup(env, 'outputs')))", env)))
  end)

  it("goes over paths, and tells which are not there", function()
    assert.same({ "loss 0.5", "metrics.z 1", "metrics.a.b 2", "flag false", "loss.ce 2",
                  "outputs 1.5 nope missing" },
      (run([[local missing = {}
        local paths = { "loss", "metrics", " flag", "outputs", 1.5, "nope", nil, " loss.ce ", "" }
        for name, value in util.each(env, paths, function(p) missing[#missing + 1] = p end) do
          print(name, value)
        end
        print(table.concat(missing, " "), "missing")]], env)))
  end)

  it("goes over no paths", function()
    assert.same({}, (run("for name in util.each(env, {}) do print(name) end", env)))
  end)

  for _, row in ipairs(numbers) do
    it("takes as a number: " .. row[1], function()
      assert.same({ row[2] }, (run(("print(util.number(%s))"):format(row[1]), {
        t1 = tensor { { 3 } }, t3 = tensor(7, { dtype = "i64" }), t2 = tensor { 1, 2 },
        tb = tensor({ true }, { dtype = "bool" }), empty = tensor({}, { shape = { 0 } }) })))
    end)
  end

  it("describes values", function()
    local rows = { { 0.1 + 0.2, "0.3" }, { 3, "3" }, { nan, "nan" }, { -nan, "nan" },
                   { inf, "inf" }, { -inf, "-inf" }, { "a", "a" }, { true, "true" } }
    for _, row in ipairs(rows) do
      assert.same({ row[2] }, (run("print(util.describe(env.x))", { x = row[1] })))
    end
  end)

  it("keeps statistics as a record", function()
    local lines = run("for _, t in pairs(env.grads) do local keys = {} for k in "
      .. "pairs(util.stats(t)) do keys[#keys + 1] = k end table.sort(keys) "
      .. "print(table.concat(keys, ' ')) end", env)
    assert.same({ "dtype inf l2 max mean min nan numel shape std zeros",
                  "dtype inf nan numel shape zeros" }, lines)
  end)

  it("logs a scalar, and says whether it was taken", function()
    local lines, cb = run([[
      print(util.log_scalar(env, "a", 1.5), util.log_scalar(nil, "b", "2", 3),
            util.log_scalar(env, "c", env.t), util.log_scalar(env, "d", true))
      print(util.log_scalar(env, "e"), util.log_scalar(env, "f", "x"), util.log_scalar(env, "", 1),
            util.log_scalar(env, {}, 1), util.log_scalar(env, "g", 1, 1.5), util.log_scalar())]],
      { t = tensor { 4 } })
    assert.same({ "true true true true", "false false false false false false" }, lines)
    assert.same({ { key = "a", value = 1.5, step = 5 }, { key = "b", value = 2, step = 3 },
                  { key = "c", value = 4, step = 5 }, { key = "d", value = 1, step = 5 } },
                cb.scalars)
  end)

  it("says that a scalar found no room", function()
    local lines = run("for i = 1, 1023 do util.log_scalar(env, 'k', i) end "
      .. "print(1) print(2) hotcb.stop(tostring(util.log_scalar(env, 'k', 1)))")
    assert.same({ "1" }, lines)
  end)

  local large = {}
  for i = 1, 11 do large[i] = ("x"):rep(300 * 300) end
  local pictures = { -- tiles, columns, what is drawn of them
    { { "a" }, 4, "a.|..", 2, 2 },
    { { "abcd", "efgh" }, 2, "ab.ef.|cd.gh.|......", 6, 3 },
    { { "a", "b", "c" }, 2, "a.b.|....|c...|....", 4, 4 },
    { large, 2, nil, 602, 1505 }, -- as much as a picture may be
  }
  it("lays no more side by side than a picture has room for", function()
    local lines = run("local tiles = {} for i = 1, 20 do tiles[i] = ('x'):rep(256 * 256) end "
      .. "local pixels, w, h = util.mosaic(tiles, 16) print(#pixels, w, h)")
    assert.same({ ("%d %d %d"):format(15 * 257 * 257, 15 * 257, 257) }, lines)
  end)

  it("says what is too large to be laid out", function()
    local lines = run("print(select(2, pcall(util.mosaic, { ('x'):rep(1 << 20) }, 1)))")
    assert.equal(1, #lines)
    assert.matches("1024 by 1024 pixels leave no room for lines$", lines[1])
  end)

  for i, row in ipairs(pictures) do
    it("lays tiles out, row " .. i, function()
      local cb = testing.script("local util = require 'hotcb.util' local T = { params = { "
        .. "{ 'tiles', {} }, { 'columns', 1 } } } function T:handle() "
        .. "hotcb.image('p', util.mosaic(self.tiles, self.columns)) end return T",
        { init = { tiles = row[1], columns = row[2] } })
      cb:step(1)
      local p = cb.images[1]
      assert.same({ row[4], row[5] }, { p.width, p.height })
      if row[3] then assert.equal(row[3]:gsub("|", ""):gsub("%.", "\0"), p.pixels) end
    end)
  end
end)
