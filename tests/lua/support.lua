-- Loads a callback as the host does, as far as plain Lua can: its declared defaults are
-- set, and what it logs is kept. No C is involved.
local support = {}

function support.load(path, id, values)
  local root = os.getenv("HOTCB_TEST_SOURCE") or ".."
  local callback = assert(dofile(root .. "/" .. path))
  callback.id = id
  for _, row in ipairs(callback.params or {}) do
    callback[row[1]] = row[2]
  end
  for name, value in pairs(values or {}) do
    assert(callback[name] ~= nil, "no parameter " .. name)
    callback[name] = value
  end
  return callback
end

-- An env whose log() formats as the host's does, and the lines it collects.
function support.env(fields)
  local lines = {}
  local env = { metrics = {}, model = {}, grads = {}, batch = {}, outputs = {} }
  for key, value in pairs(fields or {}) do
    env[key] = value
  end
  env.log = function(fmt, ...)
    lines[#lines + 1] = select("#", ...) > 0 and string.format(fmt, ...) or tostring(fmt)
  end
  return env, lines
end

return support
