-- hotcb.testing's tensors by themselves: what a spec makes, and what a script sees of it.
local testing = require "hotcb.testing"

local tensor, nan, inf = testing.tensor, 0 / 0, math.huge

local function run(body, fields)
  local cb = testing.script("function handle(event, env) " .. body .. " end")
  cb:step(0, fields)
  return cb.lines
end

local function raised(fn, ...)
  local ok, why = pcall(fn, ...)
  assert.is_false(ok)
  return why
end

-- What is shown by `body` of the tensor t.
local t = tensor { { 1, 2, 3 }, { 4, 5, 6 } }
local up_to_49 = {}
for i = 0, 49 do up_to_49[i + 1] = i end
local rows = {
  { "t, #t, t:numel(), t:dtype()", t, "f32[2,3] 2 6 f32" },
  { "type(t), getmetatable(t), t.x, t == env.t", t, "userdata false nil false" },
  { "t:shape()[1], t:shape()[2], #t:shape()", t, "2 3 2" },
  { "t, #t, t:numel(), t:get()", tensor(5), "f32[] 1 1 5.0" },
  { "t, #t, t:numel()", tensor({}, { shape = { 0, 3 }, dtype = "u8" }), "u8[0,3] 0 0" },
  { "t:get(1, 1), t:get(2, 3), t:get(-1, -3)", t, "1.0 6.0 4.0" },
  { "t:get(1), t:get(2)", tensor({ 7, -8 }, { dtype = "i8" }), "7 -8" },
  { "t:get(1), t:get(2)", tensor({ 7, 0 }, { dtype = "bool" }), "true false" },
  { "t:norm(), t:norm(1), t:norm(math.huge)", tensor { 3, -4 }, "5.0 7.0 4.0" },
  { "t:norm() ~= t:norm(), t:norm(1) ~= t:norm(1)", tensor { nan, 1 }, "true true" },
  { "t:norm(1), t:norm(2), t:norm(math.huge)", tensor { -inf, 1 }, "inf inf inf" },
  { "t:norm(1), t:norm(2), t:norm(math.huge)", tensor({}, { shape = { 0 } }), "0.0 0.0 0.0" },
  { "t:slice(2, 2), t:slice(2, 2, 2), t:slice(1, -1), t:slice(1, 9), t:slice(2, -9, 1)", t,
    "f32[2,2] f32[2,1] f32[1,3] f32[0,3] f32[2,1]" },
  { "t:slice(2, 2):slice(1, 2):get(1, 2), #t:slice(1, 3), t:slice(2, 3):norm(1)", t, "6.0 0 9.0" },
  { "t:slice(2, 2, 2):pixels(0, 5):byte(1, -1)", t, "102 255" },
  { "t:pixels(0, 1):byte(1, -1)", tensor { -1, 0, 0.25, 0.5, 1, 2, nan }, "0 0 64 128 255 255 0" },
  { "table.concat(t:histogram(3), ',')", tensor { 0, 1, 2, 3, nan, inf }, "1,1,2" },
  { "table.concat(t:histogram(2, 1, 3), ',')", tensor { 0, 1, 2, 3, 4 }, "1,2" },
  { "table.concat(select(2, t:histogram(2)), ',')", tensor { 5, 5 }, "4.5,5.0,5.5" },
  { "table.concat(select(2, t:histogram(2)), ',')", tensor { nan }, "0.0,0.5,1.0" },
  { "('%g %g %g'):format(t:stats().mean, t:stats().min, t:norm())", tensor { nan }, "nan nan nan" },
  { "t:stats().std, t:stats().mean == 1.1", tensor({ 1.1, 1.1, 1.1 }, { dtype = "f64" }),
    "0.0 true" },
  { "('%g %g %g'):format(t:norm(), t:stats().mean, t:stats().std)",
    tensor({ 3e200, -4e200 }, { dtype = "f64" }), "5e+200 -5e+199 3.5e+200" },
  { "t:norm() / 5e-200", tensor({ 3e-200, -4e-200 }, { dtype = "f64" }), "1.0" },
  { "table.concat((t:histogram(49)))", tensor(up_to_49, { dtype = "u8" }), ("1"):rep(48) .. "2" },
  { "table.concat((t:histogram(100, 0, 1))):find('1')", tensor({ 0.29 }, { dtype = "f64" }),
    "30 30" },
  { "#t:histogram(), #select(2, t:histogram())", t, "30 31" },
}

local stats = {
  { tensor { { 1, 2 }, { 3, 6 } }, { n = 4, nan = 0, inf = 0, zeros = 0, mean = 3, std = 3.5 ^ 0.5,
                                     min = 1, max = 6, l2 = 50 ^ 0.5 } },
  { tensor { nan, inf, -inf, 0, -0.0, 2 }, { n = 6, nan = 1, inf = 2, zeros = 2, mean = 2 / 3,
                                             std = (8 / 9) ^ 0.5, min = -0.0, max = 2, l2 = 2 } },
  { tensor({ 5, -7 }, { dtype = "i16" }), { n = 2, nan = 0, inf = 0, zeros = 0, mean = -1, std = 6,
                                            min = -7, max = 5, l2 = 74 ^ 0.5 } },
}

-- As each type stores a number.
local stored = {
  { "f64", 0.1, 0.1 }, { "f32", 0.1, 0.10000000149011612 }, { "f32", 1e39, inf },
  { "f32", 1e-46, 0 }, { "f32", 3.4028235e38, 0x1.fffffep127 }, { "f16", 0.1, 0.0999755859375 },
  { "f16", 65519, 65504 }, { "f16", 65520, inf }, { "f16", 2049, 2048 }, { "f16", 2051, 2052 },
  { "f16", 3e-8, 2.0 ^ -24 }, { "f16", -1e9, -inf }, { "bf16", 0.1, 0.10009765625 },
  { "bf16", 257, 256 }, { "bf16", 259, 260 }, { "bf16", 1e38, 0x1.2cp126 }, { "f32", nan, nan },
  { "u8", 255, 255 }, { "i64", math.mininteger, math.mininteger }, { "i32", 3.0, 3 },
}

local refused = {
  { "t:norm(3)", "bad argument #1 to 'norm' (1, 2 or math.huge expected)" },
  { "t:histogram(0)", "bad argument #1 to 'histogram' (1 to 4096 bins expected)" },
  { "t:histogram(2, 1, 1)",
    "bad argument #2 to 'histogram' (two finite numbers expected, the smaller first)" },
  { "t:histogram(2, 1)", "bad argument #3 to 'histogram' (number expected, got no value)" },
  { "t:get(1)", "get: 2 indices expected, one for each dimension" },
  { "t:get(1, 4)", "bad argument #2 to 'get' (dimension 2 has indices from 1 to 3)" },
  { "t:get(0, 1)", "bad argument #1 to 'get' (dimension 1 has indices from 1 to 2)" },
  { "t:get(1.5, 1)", "bad argument #1 to 'get' (number has no integer representation)" },
  { "t:slice(3, 1)", "bad argument #1 to 'slice' (a dimension from 1 to 2 expected)" },
  { "t:slice(1)", "bad argument #2 to 'slice' (number expected, got no value)" },
  { "t:pixels(1, 0)", "bad argument #1 to 'pixels' (two finite numbers expected, the smaller "
    .. "first)" },
  { "hotcb.json.encode(t)", "json.encode: a userdata, which is not plain data" },
}

describe("a tensor", function()
  for _, row in ipairs(rows) do
    it("shows " .. row[1], function()
      assert.same({ row[3] }, run("local t = env.t print(" .. row[1] .. ")", { t = row[2] }))
    end)
  end

  for i, row in ipairs(stats) do
    it("has statistics, row " .. i, function()
      local cb = testing.script("function handle(event, env) for k, v in pairs(env.t:stats()) do "
        .. "hotcb.scalar(k, v) end end")
      cb:step(0, { t = row[1] })
      assert.equal(9, #cb.scalars)
      for _, scalar in ipairs(cb.scalars) do
        assert.is_true(math.abs(row[2][scalar.key] - scalar.value) < 1e-12, scalar.key)
      end
    end)
  end

  for _, row in ipairs(stored) do
    it(("is stored as %s: %s"):format(row[1], row[2]), function()
      local cb = testing.script("function handle(event, env) hotcb.scalar('x', env.t:get(1)) end")
      cb:step(0, { t = tensor({ row[2] }, { dtype = row[1] }) })
      local x = cb:scalar("x")
      assert.is_true(x == row[3] or (x ~= x and row[3] ~= row[3]), tostring(x))
    end)
  end

  for _, row in ipairs(refused) do
    it("refuses " .. row[1], function()
      assert.equal("script.lua:1: " .. row[2], raised(run, "local t = env.t " .. row[1], { t = t }))
    end)
  end

  it("holds during one call only", function()
    local gone = "script.lua:%d: a tensor holds only during the call that it was read in: copy "
      .. "what you need of it"
    local cb = testing.script("local kept\nlocal T = {}\n"
      .. "function T:on_attach(env) kept = env.t end\nfunction T:handle(event, env) "
      .. "print(env.t:get(1), kept)\n  kept:stats() end return T")
    assert.equal(gone:format(5), raised(cb.step, cb, 0, { t = tensor { 1 } }))
    assert.same({ "1.0 f32[1]" }, cb.lines)
    cb = testing.script("local kept\nfunction handle(event, env)\n  if kept then print(#kept) end\n"
      .. "  kept = env.t:slice(1, 1) end")
    cb:step(0, { t = tensor { 1 } })
    assert.equal(gone:format(3), raised(cb.step, cb, 1, { t = tensor { 1 } }))
  end)

  it("stands in groups in the order of names, or that of a list", function()
    local body = "for name, t in pairs(env.grads) do print(name, t) end print(env.grads.b)"
    assert.same({ "a f32[]", "b f32[1]", "f32[1]" },
                run(body, { grads = { b = tensor { 1 }, a = tensor(2) } }))
    assert.same({ "b f32[1]", "a f32[]", "f32[1]" },
                run(body, { grads = { { "b", tensor { 1 } }, { "a", tensor(2) } } }))
    assert.same({ "z 3", "a 5", "mine 2" }, run("env.grads.mine = 2 env.grads.a = 5 "
      .. "for k, v in pairs(env.grads) do print(k, v) end", { grads = { { "z", 3 }, { "a", 1 } } }))
  end)

  it("may be worked out when it is read", function()
    local asked = 0
    local function lazy()
      asked = asked + 1
      return tensor { 1, 2 }
    end
    assert.same({ "2", "3.0" }, run("print(#env.t) print(env.t:norm(1))", { t = lazy }))
    assert.equal(1, asked)
  end)

  it("is refused where it is none", function()
    local bad = { { { 1, 2 }, { dtype = "f8" }, "no type is called f8" },
                  { { { 1 }, { 1, 2 } }, nil, "rows of different lengths" },
                  { { { 1 }, 2 }, nil, "lists nested unevenly" },
                  { { 1, 2 }, { shape = { 3 } }, "2 values for 3 places" },
                  { { 256 }, { dtype = "u8" }, "integers from 0 to 255, not 256" },
                  { { 0.5 }, { dtype = "i8" }, "integers from -128 to 127, not 0.5" },
                  { { "x" }, nil, "a tensor has numbers, not a string" } }
    for _, row in ipairs(bad) do
      local why = raised(function()
        local made = tensor(row[1], row[2])
        return made
      end)
      assert.matches("testing_tensor_spec.lua:%d+: ", why)
      assert.is_truthy(why:find(row[3], 1, true), why)
    end
    assert.matches("a host sets numbers, text, true and false, tensors", raised(function()
      run("", { metrics = { x = {} } })
    end))
  end)
end)
