-- hotcb.scalar, hotcb.histogram and hotcb.image: what the run writes, and what it refuses;
-- and hotcb.testing, which has to say the same of both.
local rig = require "support.rig"
local shell = require "support.shell"
local testing = require "hotcb.testing"

local png = os.getenv "HOTCB_TEST_PNG" == "ON"

local function handler(body) return ("function handle(event, env)\n%s\nend\n"):format(body) end

-- What is asked for, and refused or taken, as both sides say it.
local refused = {
  "hotcb.scalar(5, 1)", "hotcb.scalar('s', '1')", "hotcb.scalar('', 1)",
  "hotcb.scalar('s', 1, 1.5)", "hotcb.scalar('s', 1, '3')",
  "hotcb.histogram('h')", "hotcb.histogram('h', {}, {})", "hotcb.histogram('h', { 1 }, { 1 })",
  "hotcb.histogram('h', { 0/0 }, { 0, 1 })", "hotcb.histogram('h', { -1 }, { 0, 1 })",
  "hotcb.histogram('h', { 1, '2' }, { 0, 1, 2 })", "hotcb.histogram('h', { 1 }, { 0, 1/0 })",
  "hotcb.histogram('h', { 1 }, { 0, true })", "hotcb.histogram('h', { 1 }, { 1, 0 })",
  "hotcb.histogram(('k'):rep(251), { 1 }, { 0, 1 })", "hotcb.histogram('h', { 1 }, { 0, 1 }, 0.5)",
  "hotcb.image('i', 'x', 1)", "hotcb.image('i', 'xx', 1, 1)", "hotcb.image('i', 7, 1, 1)",
  "hotcb.image('i', 'x', '1', 1)", "hotcb.image('i', 'x', 0, 1)",
  "hotcb.image('i', 'x', 1, 65536)", "hotcb.image('i', 'x', 1, 0.5)",
  "hotcb.image('i', ('x'):rep((1 << 20) + 1), 1024, 1024)",
  "hotcb.image(('k'):rep(151), 'x', 1, 1)", "hotcb.image('i', 'x', 1, 1, 2.5)",
  "hotcb.image('..', 'x', 1, 1)", "hotcb.image('a/../b', 'x', 1, 1)",
  "hotcb.image('/a', 'x', 1, 1)", "hotcb.image('a//b', 'x', 1, 1)", "hotcb.image('a/', 'x', 1, 1)",
  "hotcb.image(('n/'):rep(16) .. 'n', 'x', 1, 1)",
  "hotcb.image('x y/' .. ('b'):rep(90) .. '/', 'x', 1, 1)",
}

describe("what is no scalar, histogram or picture", function()
  after_each(rig.clean)

  it("is refused by the host and hotcb.testing with the same sentence", function()
    local r = rig.new()
    for i, call in ipairs(refused) do
      local id = "c" .. i
      r:script(id .. ".lua", handler(call))
      r:load(id)
      local fault = assert(r:callback(id).error, call)
      local said = fault.message:match("^%S+%.lua:2: (.*)$")
      local cb = testing.script(handler(call))
      local ok, why = pcall(cb.step, cb, 0)
      assert.is_false(ok, call)
      assert.equal("script.lua:2: " .. tostring(said), why, call)
      assert.same({ 0, 0, 0 }, { #cb.scalars, #cb.histograms, #cb.images })
      r:send { op = "unload", id = id }
    end
    assert.same({}, r:metrics())
    assert.same({}, r:media())
    assert.is_false(shell.exists(r:path("artifacts")))
  end)
end)

local draw = [[
  print(hotcb.scalar("s", env.step), hotcb.histogram("grads/w", { 1, 2.5 }, { -1, 0, 1e300 }),
        hotcb.image("first layer/w", ("\0\255"):rep(3), 3, 2),
        hotcb.image("rgb", ("abc"):rep(4), 2, 2, 123456789))]]

describe("scalars, histograms and pictures", function()
  after_each(rig.clean)

  -- Pictures are .png to hotcb.testing, with libpng or without.
  local function as_testing_has_them(lines)
    local histograms, images = {}, {}
    for _, line in ipairs(lines) do
      assert.equal("a", line.id)
      assert.equal("number", type(line.time))
      assert.equal("string", type(line.run))
      if line.kind == "histogram" then
        histograms[#histograms + 1] = { key = line.key, counts = line.counts, edges = line.edges,
                                        step = line.step }
      else
        images[#images + 1] = { key = line.key, path = line.path:gsub("%.p.m$", ".png"),
                                width = line.width, height = line.height,
                                channels = line.channels, step = line.step }
      end
    end
    return histograms, images
  end

  it("are written as hotcb.testing says", function()
    local r = rig.new()
    r:script("a.lua", handler(draw))
    r:load("a")
    r:apply(2)
    local cb = testing.script(handler(draw), { id = "a" })
    cb:steps(0, 2)
    local histograms, images = as_testing_has_them(r:media())
    local pixels = {}
    for i, image in ipairs(cb.images) do pixels[i], image.pixels = image.pixels, nil end
    assert.same(histograms, cb.histograms)
    assert.same(images, cb.images)
    assert.same({ ("\0\255"):rep(3), ("abc"):rep(4) }, { pixels[1], pixels[2] })
    assert.equal("artifacts/a/first_layer/w-000002.png", images[5].path)
    assert.equal("true true true true", cb.lines[3])
    assert.equal("true true true true", r:said("a"))
    for _, line in ipairs(r:media()) do
      local bytes = line.path and r:read(line.path)
      local head = png and "\137PNG" or line.channels == 1 and "P5\n" or "P6\n"
      assert.is_true(not bytes or bytes:sub(1, #head) == head)
    end
  end)

  it("of a call that fails are none, and of one too many is none", function()
    local r = rig.new()
    r:script("fails.lua", handler(draw .. " error('no')"))
    r:load("fails")
    assert.same({ {}, {} }, { r:metrics(), r:media() })
    assert.is_false(shell.exists(r:path("artifacts")))
    local body = "for i = 1, 17 do print(hotcb.image('i', 'x', 1, 1, i)) end"
    r:script("a.lua", handler(body))
    r:load("a")
    assert.equal(16, #r:media())
    assert.equal("false", r:said("a"))
    local cb = testing.script(handler(body))
    cb:step(0)
    assert.same({ 16, 1, "false" }, { #cb.images, cb.dropped, cb.lines[17] })
  end)

  it("that their files have no room for are counted, and seen by who asks", function()
    local r = rig.new { args = { "--media-bytes", 100 } }
    r:script("a.lua", handler "hotcb.histogram('h', { 1 }, { 0, 1 })")
    r:load("a")
    r:apply(11)
    r:send { op = "disable", id = "a" }
    r:apply()
    assert.equal(12, r:status().dropped.media)
    assert.matches("dropped: 12 histograms and pictures", r:tool_alone("status").out)
  end)

  it("have no file where there is no run, or none any more", function()
    local r = rig.new()
    local body = "assert(not hotcb.scalar('s', 1)) "
      .. "assert(not hotcb.histogram('h', { 1 }, { 0, 1 })) assert(not hotcb.image('i', 'x', 1, 1))"
    r:write(r.folder .. "/check.lua", body .. "\nfunction handle() end\n")
    assert.equal(0, r:tool_alone("check", "check.lua").code)
    r:script(r.folder .. "/a.lua", handler("print(hotcb.scalar('s', 1), "
      .. "hotcb.histogram('h', { 1 }, { 0, 1 }), hotcb.image('i', 'x', 1, 1))"))
    r:load("a", { target = { kind = "lua_file", path = r.folder .. "/a.lua" } })
    assert.equal("true true true", r:said("a"))
    shell.must("rm -rf " .. r.dir)
    r:apply()
    assert.equal("false false false", r:said("a"))
    assert.equal(0, r:tool_alone("init").code)
    r:apply()
    assert.equal("true true true", r:said("a"))
    r.killed = true -- the ledger begins anew
    shell.must("rm -rf " .. r.dir)
  end)

  it("names a picture by a step below 0, too", function()
    local cb = testing.script("function handle() hotcb.image('k', 'x', 1, 1, -5) "
      .. "hotcb.image('k', 'x', 1, 1, math.mininteger) end", { id = "a" })
    cb:step(0)
    assert.equal("artifacts/a/k--000005.png", cb.images[1].path)
    assert.equal("artifacts/a/k--9223372036854775808.png", cb.images[2].path)
  end)
end)
