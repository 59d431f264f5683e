-- Rows about one callback, each a small run of its own: what it says, and what it asks for.
--
--   pack.rows(it, "callbacks/timing.lua", {
--     { "what the row is about", init = { every = 5 },
--       { "train_step_end", { step = 5 } },            -- events, or
--       function(cb) cb:set("every=1") end,            -- whatever else is done with it
--       lines = { "..." },                             -- all that was logged
--       scalars = { ["a/b"] = 1.5 },                   -- the last value of each
--       files = { ["a.txt"] = "..." }, stop = "...", enabled = true } })
--
-- Lines that are no text are patterns: { "^timing .* n=5" }.
local assert = require "luassert"
local testing = require "hotcb.testing"

local pack = { root = os.getenv("HOTCB_TEST_SOURCE") .. "/" }

local function check_lines(wanted, lines)
  for i, line in ipairs(wanted) do
    if type(line) == "table" then assert.matches(line[1], lines[i])
    else assert.equal(line, lines[i]) end
  end
  assert.equal(#wanted, #lines, "lines: " .. table.concat(lines, "\n"))
end

local function last_scalars(cb)
  local last = {}
  for _, scalar in ipairs(cb.scalars) do last[scalar.key] = scalar.value end
  return last
end

local function run(path, row)
  local cb = testing.load(pack.root .. path, { id = "x", init = row.init })
  for _, step in ipairs(row) do
    if type(step) == "function" then step(cb)
    elseif type(step) == "table" then cb:emit(step[1], step[2]) end
  end
  if row.lines then check_lines(row.lines, cb.lines) end
  if row.scalars then assert.same(row.scalars, last_scalars(cb)) end
  if row.files then assert.same(row.files, cb.artifacts) end
  assert.equal(row.stop, cb.stop_reason)
  assert.equal(row.enabled ~= false, cb.enabled)
end

function pack.rows(it, path, rows)
  for _, row in ipairs(rows) do
    it(row[1], function() run(path, row) end)
  end
end

-- That a callback has the name, the parameters and the values that hotcb 0.1.0 has, and more
-- only where `more` says so.
function pack.declares(it, path, name, presets, more)
  it("is what 0.1.0 calls " .. name, function()
    local cb = testing.load(pack.root .. path, { symbol = name })
    assert.equal(name, cb.name)
    local rest = {}
    for key, value in pairs(cb.params) do
      if presets[key] ~= nil then assert.same(presets[key], value, key)
      else rest[#rest + 1] = key end
    end
    for key in pairs(presets) do assert.is_not_nil(cb.params[key], key) end
    table.sort(rest)
    assert.same(more or {}, rest)
  end)
end

return pack
