-- What grad_stats says of gradients.
local pack = require "support.pack"
local testing = require "hotcb.testing"

local path = "callbacks/grad_stats.lua"
local tensor, nan, inf = testing.tensor, 0 / 0, math.huge

-- A step with these gradients, and a model that has them and more.
local function step(event, at, grads)
  local model = { a = tensor { 1 }, b = tensor { 1 }, frozen = tensor { 1 }, lr = 0.5 }
  return { event, { step = at, grads = grads, model = model } }
end

local long, f64 = ("g"):rep(249), { dtype = "f64" }
local small = { { "b", tensor { 3, -4 } }, { "a", tensor { { 0, 12 } } } }

local function line(event, at, norm, max_abs, grads, bad)
  return ("[hotcb:x] grad event=%s step=%d norm=%s max_abs=%s grads=%s nan_params=%d")
    :format(event, at, norm, max_abs, grads, bad)
end

describe("grad_stats", function()
  pack.declares(it, path, "GradStatsCallback", { every = 200, norm_type = 2.0 }, { "per_param" })

  pack.rows(it, path, {
    { "says one norm of all gradients", step("grads_ready", 200, small),
      lines = { line("grads_ready", 200, 13, 12, "2/3", 0) },
      scalars = { ["grad/norm"] = 13.0, ["grad/max_abs"] = 12.0, ["grad/nan_params"] = 0 } },
    { "of order 1", init = { norm_type = 1 }, step("grads_ready", 0, small),
      lines = { line("grads_ready", 0, 19, 12, "2/3", 0) } },
    { "of the order of infinity", init = { norm_type = inf }, step("grads_ready", 0, small),
      lines = { line("grads_ready", 0, 12, 12, "2/3", 0) } },
    { "says it of each gradient, if asked, in the host's order", init = { per_param = true },
      step("grads_ready", 0, small),
      lines = { "[hotcb:x] grad b norm=5 max_abs=4 nan_or_inf=0",
                "[hotcb:x] grad a norm=12 max_abs=12 nan_or_inf=0",
                line("grads_ready", 0, 13, 12, "2/3", 0) },
      scalars = { ["grad/norm"] = 13.0, ["grad/max_abs"] = 12.0, ["grad/nan_params"] = 0,
                  ["grad/norm/a"] = 12.0, ["grad/max_abs/a"] = 12.0, ["grad/norm/b"] = 5.0,
                  ["grad/max_abs/b"] = 4.0 } },
    { "which has no scalars of its own where its name is too long for them",
      init = { per_param = true }, step("grads_ready", 0, { [long] = tensor { 5 } }),
      lines = { "[hotcb:x] grad " .. long .. " norm=5 max_abs=5 nan_or_inf=0",
                line("grads_ready", 0, 5, 5, "1/4", 0) },
      scalars = { ["grad/norm"] = 5.0, ["grad/max_abs"] = 5.0, ["grad/nan_params"] = 0 } },
    { "counts gradients with a NaN, which is then the norm",
      step("grads_ready", 0, { a = tensor { nan, 2 }, b = tensor { 1 }, c = tensor { nan } }),
      lines = { line("grads_ready", 0, "nan", 2, "3/4", 2) } },
    { "and with an infinity", init = { norm_type = inf },
      step("grads_ready", 0, { a = tensor { -inf, 2 }, b = tensor { 1 } }),
      lines = { line("grads_ready", 0, "inf", "inf", "2/3", 1) } },
    { "an infinity has its way in the others too", step("grads_ready", 0, { a = tensor { inf } }),
      function(cb) cb:set("norm_type=1") end, step("grads_ready", 200, { a = tensor { -inf } }),
      lines = { line("grads_ready", 0, "inf", "inf", "1/3", 1),
                line("grads_ready", 200, "inf", "inf", "1/3", 1) } },
    { "of a size whose squares no number can hold", init = { every = 1 },
      step("grads_ready", 0, { a = tensor({ 3e200 }, f64), b = tensor({ -4e200 }, f64) }),
      step("grads_ready", 1, { a = tensor({ 3e-200 }, f64), b = tensor({ -4e-200 }, f64) }),
      step("grads_ready", 2, { a = tensor { inf }, b = tensor { nan } }),
      step("grads_ready", 3, { a = tensor({ math.mininteger, 5 }, { dtype = "i64" }) }),
      lines = { line("grads_ready", 0, "5e+200", "4e+200", "2/3", 0),
                line("grads_ready", 1, "5e-200", "4e-200", "2/3", 0),
                line("grads_ready", 2, "nan", "inf", "2/3", 2),
                line("grads_ready", 3, "9.223e+18", "9.223e+18", "1/3", 0) } },
    { "has 0 for empty ones", step("grads_ready", 0, { a = tensor({}, { shape = { 0, 3 } }) }),
      lines = { line("grads_ready", 0, 0, 0, "1/3", 0) } },
    { "looks after the update where there is nothing before it", init = { every = 1 },
      step("grads_ready", 0), step("train_step_end", 0, small), { "train_step_end", { step = 1 } },
      lines = { line("train_step_end", 0, 13, 12, "2/3", 0),
                line("train_step_end", 1, 0, 0, "0/0", 0) } },
    { "never looks twice at a step", init = { every = 1 },
      step("train_step_end", 0, small), step("grads_ready", 1, small),
      step("train_step_end", 1, small), step("grads_ready", 2, small),
      lines = { line("train_step_end", 0, 13, 12, "2/3", 0),
                line("grads_ready", 1, 13, 12, "2/3", 0),
                line("grads_ready", 2, 13, 12, "2/3", 0) } },
    { "takes new values at once", step("grads_ready", 1, small),
      function(cb) assert.is_true(cb:set("every=2", "norm_type=inf", "per_param=yes")) end,
      step("grads_ready", 2, { a = tensor { -1, 2 } }),
      lines = { "[hotcb:x] grad a norm=2 max_abs=2 nan_or_inf=0",
                line("grads_ready", 2, 2, 2, "1/3", 0) } },
  })

  for _, value in ipairs { "3", "0", "-inf", "1.5", ".nan" } do
    it("refuses a norm of order " .. value, function()
      local cb = testing.load(pack.root .. path)
      local ok, why = cb:set("norm_type=" .. value)
      assert.is_nil(ok)
      assert.matches("^norm_type=.*: expected one of 1, 2, \"Infinity\"", why)
    end)
  end
end)
