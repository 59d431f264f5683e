-- hotcb.testing's part about hotcb.scalar, hotcb.histogram and hotcb.image. Follows
-- src/script/lua_media.c and src/sink/media.c: the same is refused, with the same sentence.
local queue, bad_argument, check_type, fault_of_artifact = ...

local KEY_BYTES, PICTURE_KEY_BYTES, BINS, SIDE, PIXEL_BYTES = 250, 150, 4096, 65535, 1 << 20

local function check_key(key, most, name)
  check_type(key, "string", 1, name, 1)
  if #key == 0 or #key > most then
    bad_argument(1, name, ("a key of 1 to %d bytes expected"):format(most), 1)
  end
end

-- The step that was given (3.0 serves as 3), or else that of the call.
local function step_of(cb, step, n, name)
  if step == nil then return cb._.live and cb._.live.step end
  check_type(step, "number", n, name, 1)
  return math.tointeger(step)
    or bad_argument(n, name, "number has no integer representation", 1)
end

local function is_finite(v)
  return math.type(v) ~= nil and v == v and v ~= math.huge and v ~= -math.huge
end

local function copy_list(list, n, is_good, expected, arg, what)
  local copy = {}
  for i = 1, n do
    copy[i] = rawget(list, i)
    local wrong = not is_good(copy[i]) and expected
    if not wrong and what == "edges" and i > 1 and copy[i] < copy[i - 1] then
      wrong = "no less than the edge before it"
    end
    if wrong then
      bad_argument(arg, "histogram", ("%s[%d]: %s expected"):format(what, i, wrong), 2)
    end
  end
  return copy
end

local function check_tables(counts, edges)
  check_type(counts, "table", 2, "histogram", 1)
  check_type(edges, "table", 3, "histogram", 1)
  local n, m = rawlen(counts), rawlen(edges)
  if n < 1 or n > BINS then
    bad_argument(2, "histogram", ("1 to %d counts expected, got %d"):format(BINS, n), 1)
  elseif m ~= n + 1 then
    bad_argument(3, "histogram",
                 ("%d edges expected, one more than counts, got %d"):format(n + 1, m), 1)
  end
  return copy_list(counts, n, function(v) return is_finite(v) and v >= 0 end,
                   "a finite number, 0 or more", 2, "counts"),
    copy_list(edges, m, is_finite, "a finite number", 3, "edges")
end

local function check_side(side, n)
  check_type(side, "number", n, "image", 1)
  if not math.tointeger(side) then
    bad_argument(n, "image", "number has no integer representation", 1)
  elseif side < 1 or side > SIDE then
    bad_argument(n, "image", ("1 to %d expected"):format(SIDE), 1)
  end
  return math.tointeger(side)
end

local function check_pixels(pixels, width, height)
  if #pixels > PIXEL_BYTES then
    bad_argument(2, "image", ("at most %d bytes of pixels expected, got %d")
      :format(PIXEL_BYTES, #pixels), 1)
  end
  local area = width * height
  if #pixels ~= area and #pixels ~= 3 * area then
    bad_argument(2, "image",
                 ("%d bytes of pixels (grey) or %d (rgb) expected for %d by %d, got %d")
      :format(area, 3 * area, width, height, #pixels), 1)
  end
  return #pixels == area and 1 or 3
end

local function picture_name(key, step)
  local name = key:gsub("[^%w._/-]", "_")
  local fault = fault_of_artifact(name)
  if fault then
    bad_argument(1, "image", ('artifact "%s%s" %s: name a file below artifacts/, as in '
      .. '"plots/loss.png"'):format(name:sub(1, 60), #name > 60 and "..." or "", fault), 1)
  end
  if not step then return name .. ".png" end
  return (step < 0 and "%s-%07d.png" or "%s-%06d.png"):format(name, step)
end

-- Adds the three functions to the global hotcb of one callback.
local function add_to(host, cb)
  function host.scalar(key, value, step)
    check_key(key, KEY_BYTES, "scalar")
    check_type(value, "number", 2, "scalar")
    step = step_of(cb, step, 3, "scalar")
    return queue(cb, { kind = "scalar", key = key, value = value, step = step }, #key)
  end

  function host.histogram(key, counts, edges, step)
    check_key(key, KEY_BYTES, "histogram")
    local copy, bounds = check_tables(counts, edges)
    step = step_of(cb, step, 4, "histogram")
    return queue(cb, { kind = "histogram", key = key, counts = copy, edges = bounds, step = step },
                 #key, 8 * #copy)
  end

  function host.image(key, pixels, width, height, step)
    check_key(key, PICTURE_KEY_BYTES, "image")
    check_type(pixels, "string", 2, "image")
    width, height = check_side(width, 3), check_side(height, 4)
    local channels = check_pixels(pixels, width, height)
    step = step_of(cb, step, 5, "image")
    local path = ("artifacts/%s/%s"):format(cb.id, picture_name(key, step))
    return queue(cb, { kind = "image", key = key, pixels = pixels, width = width, height = height,
                       channels = channels, step = step, path = path }, #key, #pixels)
  end
end

local carry = {}

function carry.scalar(cb, e)
  cb.scalars[#cb.scalars + 1] = { key = e.key, value = e.value, step = e.step }
end

function carry.histogram(cb, e)
  cb.histograms[#cb.histograms + 1] = { key = e.key, counts = e.counts, edges = e.edges,
                                        step = e.step }
end

function carry.image(cb, e)
  cb.images[#cb.images + 1] = { key = e.key, pixels = e.pixels, width = e.width,
                                height = e.height, channels = e.channels, step = e.step,
                                path = e.path }
end

return add_to, carry
