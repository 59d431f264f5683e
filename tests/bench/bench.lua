-- bench.lua: what is measured, beside what, and what is to be reached; the rounds, and the
-- tables. Started by run.sh, which has built everything, as bench.lua BUILD SCRATCH PYTHON
-- OPTION... It knows nothing of how an item is measured: programs (serve.c, apply.py) answer
-- its name with the ns that it took.
local here = arg[0]:match("^(.*)/") or "."
local build, scratch, python = arg[1], arg[2], arg[3]
local opt = { only = {} }
local groups = " hot guard peer ingest env stats count look "

local function bad_option(what)
  io.stderr:write("bench: ", what, "\n")
  os.exit(2)
end

do
  local i = 4
  while arg[i] do
    if arg[i] == "--quick" then
      opt.quick = true
    elseif arg[i] == "--json" then
      i = i + 1
      opt.json = arg[i] or bad_option("--json needs a file")
    elseif arg[i] == "--only" then
      i = i + 1
      for group in (arg[i] or ""):gmatch("[^,]+") do
        opt.only[group] = groups:find(" " .. group .. " ", 1, true) and true or
          bad_option("there is no group " .. group)
      end
    else
      bad_option("what is " .. arg[i] .. "?")
    end
    i = i + 1
  end
end

local PROCESSES = opt.quick and 1 or 3 -- of processes begun anew: what lies where is chance
local ROUNDS = 31                     -- of each; what takes long has a turn in some of them

local function wants(group)
  return next(opt.only) == nil or opt.only[group] == true
end

-- ---- what is measured -----------------------------------------------------------------------

-- group, what, ours, reference, goal; with each = n it has a turn in every n-th round. An item
-- is "program:name", or { item, minus = item, per = n }. The ratio is ours / reference, and met
-- by at most the goal; of the peer it is the other way round.
local function less(a, b, n) return { a, minus = b, per = n } end

local rows = {
  { "hot", "idle apply / empty function call", "on:idle apply", "on:function call", 6 },
  { "hot", "1000 not due / idle", "on:1000 not due", "on:idle", 1.2 },
  { "hot", "one empty / raw", "on:1 empty", "on:raw empty", 1.5 },
  { "hot", "one every / raw", "on:1 every", "on:raw every", 1.7 },
  { "hot", "one every / by hand", "on:1 every", "on:by hand every", 1.0 },
  { "hot", "100 empty, each / raw", "on:100 empty", "on:raw empty", 1.15 },
  { "hot", "100 every, each / raw", "on:100 every", "on:raw every", 1.35 },
  { "hot", "1000 empty, each / one", "on:1000 empty", "on:1 empty", 2 },
  { "hot", "1000 every, each / one", "on:1000 every", "on:1 every", 2 },
  { "guard", "one empty, guard on / off", "on:1 empty", "off:1 empty", 1.25 },
  { "guard", "one every, guard on / off", "on:1 every", "off:1 every", 1.25 },
  { "guard", "100 empty, guard on / off", "on:100 empty", "off:100 empty", 1.05 },
  { "guard", "100 every, guard on / off", "on:100 every", "off:100 every", 1.05 },
  { "peer", "peer / ours looking, idle", "on:looking idle", "peer:looking idle", 10 },
  { "peer", "peer / ours looking, one", "on:looking 1 every", "peer:looking 1 every", 8 },
  { "peer", "peer / ours looking, 100", "on:looking 100 every", "peer:looking 100 every", 2,
    noticing = 10 },
  { "peer", "peer debounced / defaults, idle", "on:defaults idle", "peer:debounced idle", 300,
    each = 3 },
  { "peer", "peer debounced / defaults, one", "on:defaults 1 every", "peer:debounced 1 every", 50,
    each = 3 },
  { "peer", "peer debounced / defaults, 100 not due", "on:defaults 100 not due",
    "peer:debounced 100 every", 1000, each = 3 },
  { "peer", "peer debounced / defaults, 100", "on:defaults 100 every",
    "peer:debounced 100 every", 8, each = 3 },
  { "ingest", "peer / ours, a command", "on:commands", "peer:commands", 6, each = 6 },
  { "ingest", "peer / ours, YAML of 1000, one new", "on:config 1000", "peer:config 1000", 80,
    each = 10 },
  { "ingest", "peer / ours, reload of 100 lines", "on:reload", "peer:reload", 6 },
  { "env", "set env.step", "on:env_step" },
  { "env", "set a key (100 scalars, 1000 tensors)", { "on:keys set", per = 1100 } },
  { "env", "... and forget it, no callback", { "on:keys, 0 callbacks", per = 1100 } },
  { "env", "... all of them, one callback / none", "on:keys, 1 empty", "on:keys, 0 callbacks" },
  { "env", "... reading two / none", "on:keys, 1 reads 2", "on:keys, 0 callbacks" },
  { "env", "... 100 reading two / one",
    less("on:keys, 100 read 2", "on:keys, 0 callbacks", 100),
    less("on:keys, 1 reads 2", "on:keys, 0 callbacks", 1) },
  { "env", "read a scalar", less("on:scalars, 1 reads 100", "on:scalars, 1 empty", 100) },
}

-- Instructions of hotcb_apply (of each callback, where there are several), beside those of the
-- raw call, or of the same without the guard. A goal below 10 is one of the ratio.
local counted = {
  { "idle apply", "on:idle apply:20000" },
  { "1000 not due / idle", "on:1000 not due:2000", "on:idle:20000" },
  { "one empty / raw", "on:1 empty:2000", "raw:raw empty:2000", 560 },
  { "one every / raw", "on:1 every:2000", "raw:raw every:2000", 900 },
  { "one every / by hand", "on:1 every:2000", "hand:by hand every:2000" },
  { "100 empty, each / raw", "on:100 empty:200:100", "raw:raw empty:2000", 400 },
  { "100 every, each / raw", "on:100 every:200:100", "raw:raw every:2000", 760 },
  { "one empty, guard on / off", "on:1 empty:2000", "off:1 empty:2000", 1.3 },
  { "100 empty, guard on / off", "on:100 empty:200:100", "off:100 empty:200:100", 1.1 },
  { "100 every, guard on / off", "on:100 every:200:100", "off:100 every:200:100", 1.1 },
  { "one of 1000 turns, guard on / off", "on:1 loop:200", "off:1 loop:200", 1.1 },
}

-- Elements, and goal of the ratio to the best read of that width, at least.
local statistics = {
  { "f32", 100000000, 0.85 }, { "f32", 10000000, 0.85 }, { "bf16", 100000000, 0.85 },
  { "f16", 100000000, 0.85 },
}

-- One look at the files each: what it costs a step. Those that are long only without --quick.
local looks = {
  { "nothing new, no callback", "look" },
  { "nothing new, 100 callbacks", "look, 100" },
  { "nothing new, 1000 callbacks", "look, 1000", long = true },
  { "nothing new, 100 files not yet 2 s old", "look, 100 new" },
  { "nothing new, 100 of 250 KB not yet 2 s old", "look, 100 large", long = true },
  { "status of 1 callback", "beat, 1" },
  { "status of 100 callbacks", "beat, 100" },
  { "status of 1000 callbacks", "beat, 1000" },
  { "status of 4096 callbacks", "beat, 4096", long = true },
  { "commands, 10000 waiting", "commands" },
  { "commands of 8 KB, 1000 waiting", "long commands" },
  { "commands for unknown of 1000 callbacks", "unknown commands" },
  { "commands that load a callback", "loads" },
  { "YAML of 1 callback, one new value", "config 1" },
  { "YAML of 1000 callbacks, one new value", "config 1000" },
  { "YAML of 4096 callbacks, one new value", "config 4096", long = true },
  { "1 script of 100 lines new", "reload" },
  { "100 scripts of 100 lines new", "reload 100" },
  { "1000 scripts of 100 lines new", "reload 1000", long = true },
  { "first look, 100 callbacks", "first look 100" },
  { "first look, 1000 callbacks", "first look 1000", long = true },
}

-- ---- programs -------------------------------------------------------------------------------

local function run(command, ...)
  command = select("#", ...) > 0 and command:format(...) or command
  if not os.execute(command) then error("failed: " .. command) end
end

local function output_of(command, ...)
  local p = assert(io.popen(command:format(...)))
  local text = p:read("a")
  p:close()
  return text
end

local function first_match(path, pattern)
  local f = io.open(path)
  local text = f and f:read("a") or ""
  if f then f:close() end
  return text:match(pattern)
end

local function has(program)
  return (os.execute("command -v " .. program .. " >/dev/null"))
end

local function server_command(name, dir)
  if name == "peer" then return ("%s -I %s/apply.py %s"):format(python, here, dir) end
  return ("%s/serve_%s %s"):format(build, name, dir)
end

local function start(name)
  local dir = ("%s/%s"):format(scratch, name)
  run("rm -rf %s %s.in && mkdir %s && mkfifo %s.in", dir, dir, dir, dir)
  local out = assert(io.popen(("exec %s <%s.in"):format(server_command(name, dir), dir)))
  return { out = out, into = assert(io.open(dir .. ".in", "w")) }
end

local function stop(server)
  server.into:write("\n") -- others that were started later have it open, too
  server.into:close()
  server.out:close()
end

local function ask(server, what)
  server.into:write(what, "\n")
  server.into:flush()
  return tonumber(server.out:read("l")) or error("no answer to " .. what)
end

-- ---- rounds ---------------------------------------------------------------------------------

local function parts(cell)
  if type(cell) == "table" then return { cell[1], cell.minus } end
  return { cell }
end

-- Each once, in the order of the rows, so that what is compared has its turns close together.
local function items_of(chosen)
  local list, known = {}, {}
  for _, row in ipairs(chosen) do
    for column = 3, 4 do
      for _, name in ipairs(parts(row[column])) do
        if not known[name] then
          known[name] = { name = name, server = name:match("^%w+"), what = name:match(":(.*)"),
            each = row.each or 1, taken = {} }
          list[#list + 1] = known[name]
        end
      end
    end
  end
  return list, known
end

local function start_all(items)
  local servers = {}
  for _, item in ipairs(items) do
    servers[item.server] = servers[item.server] or start(item.server)
  end
  return servers
end

local function take_turns(items)
  local servers = start_all(items)
  local function turn(item, mark) return ask(servers[item.server], (mark or "") .. item.what) end
  for _, item in ipairs(items) do turn(item, "+") end
  run("sleep 2.1") -- for so long files are new, and read at each look
  for _, item in ipairs(items) do turn(item) end
  for round = 0, ROUNDS - 1 do
    for k = 1, #items do -- forth and back
      local item = items[round % 2 == 0 and k or #items + 1 - k]
      if round % item.each == 0 then table.insert(item.taken, turn(item)) end
    end
  end
  for _, server in pairs(servers) do stop(server) end
end

local function median(values)
  local sorted = table.move(values, 1, #values, 1, {})
  table.sort(sorted)
  return sorted[(#sorted + 1) // 2]
end

-- ---- rows -----------------------------------------------------------------------------------

-- A row of a table: item, ours, reference, ratio, goal, and whether it is met.
local function result(row)
  local value = row.of_ours and row.ours or row.ratio
  if row.goal and value then
    row.met = row.at_least and value >= row.goal or not row.at_least and value <= row.goal
  end
  return row
end

local function is_of_peer(row)
  return type(row[4]) == "string" and row[4]:match("^peer:") ~= nil
end

local function values_of(cell, known)
  local list, t = {}, type(cell) == "table" and cell or { cell }
  for i, value in ipairs(known[t[1]].taken) do
    list[i] = (value - (t.minus and known[t.minus].taken[i] or 0)) / (t.per or 1)
  end
  return list
end

-- What notices changes without a stat is to be as much faster.
local function goal_of(row)
  local status = row.noticing and
    output_of("cat %s/on/*.looking.100.every/hotcb.status.json", scratch)
  local method = status and status:match('"method":"([^"]+)"')
  return method and method ~= "stat" and row.noticing or row[5]
end

local function of_row(row, known)
  local done = { group = row[1], item = row[2], goal = goal_of(row) }
  local ours = values_of(row[3], known)
  done.ours = median(ours)
  if row[4] then
    local theirs, ratios = values_of(row[4], known), {}
    done.at_least = is_of_peer(row)
    for i = 1, #ours do
      ratios[i] = done.at_least and theirs[i] / ours[i] or ours[i] / theirs[i]
    end
    done.reference, done.ratio = median(theirs), median(ratios)
  end
  return result(done)
end

local function measured()
  local chosen, done = {}, {}
  for _, row in ipairs(rows) do
    if wants(row[1]) and (python ~= "" or not is_of_peer(row)) then chosen[#chosen + 1] = row end
  end
  local items, known = items_of(chosen)
  for _ = 1, #items > 0 and PROCESSES or 0 do take_turns(items) end
  for _, row in ipairs(chosen) do done[#done + 1] = of_row(row, known) end
  return done
end

-- ---- what strace sees -----------------------------------------------------------------------

-- Between the marks of bench_begin() and bench_end(): system calls, bytes read and written.
local function read_trace(path)
  local seen, inside = { calls = 0, read = 0, written = 0 }, false
  for line in io.lines(path) do
    local call, value = line:match("^%d+%s+(%w+)%(.*= (%-?%d+)")
    if line:find("/bench/", 1, true) then
      inside = line:find("/bench/begin", 1, true) ~= nil
    elseif inside and call then
      seen.calls = seen.calls + 1
      local direction = (call == "read" or call == "pread64") and "read" or
        (call == "write" or call == "pwrite64") and "written"
      if direction then seen[direction] = seen[direction] + math.max(0, tonumber(value)) end
    end
  end
  return seen
end

-- All at once, since they mostly wait for files to be no longer new.
local function traced(list, times)
  local commands, seen = {}, {}
  run("rm -rf %s/trace && mkdir %s/trace", scratch, scratch)
  for i, item in ipairs(list) do
    local dir = ("%s/trace/%d"):format(scratch, i)
    commands[i] = ("mkdir %s && strace -f -o %s.log %s/serve_on %s '%s' %d >%s.out 2>&1 &"):format(
      dir, dir, build, dir, item, times, dir)
  end
  run(table.concat(commands, " ") .. " wait")
  for i in ipairs(list) do
    local dir = ("%s/trace/%d"):format(scratch, i)
    seen[i] = read_trace(dir .. ".log")
    seen[i].ops = tonumber(first_match(dir .. ".out", "ops (%d+)")) or 0
  end
  return seen
end

local function system_calls()
  if not has("strace") or not wants("hot") then return {} end
  return { result { group = "hot", item = "idle apply: system calls in 100000", goal = 0,
    ours = traced({ "idle apply" }, 100000)[1].calls, of_ours = true } }
end

local function timed_looks(chosen)
  local server, ns = start("on"), {}
  for _, item in ipairs(chosen) do ask(server, "+" .. item) end
  run("sleep 2.1")
  for i, item in ipairs(chosen) do
    local taken = {}
    for turn = 1, opt.quick and 3 or 9 do taken[turn] = ask(server, item) end
    ns[i] = median(taken)
  end
  stop(server)
  return ns
end

local function looked()
  local chosen, titles = {}, {}
  if not wants("look") or not has("strace") then return chosen end
  for _, row in ipairs(looks) do
    if not row.long or not opt.quick then
      titles[#titles + 1], chosen[#chosen + 1] = row[1], row[2]
    end
  end
  local seen, ns = traced(chosen, 1), timed_looks(chosen)
  for i, look in ipairs(seen) do
    look.item, look.ms = titles[i], ns[i] * math.max(1, look.ops) / 1e6
  end
  return seen
end

-- ---- what callgrind counts ------------------------------------------------------------------

local FUNCTIONS = { raw = "bench_raw_call", hand = "bench_hand_call" }

-- "program:item:times:callbacks"; no environment, for where the stack begins shifts a seed.
local function counting(what, dir)
  local program, item, times = what:match("^(%w+):([^:]+):(%d+)")
  return ("mkdir %s && env -i PATH=\"$PATH\" LD_PRELOAD='%s/stack.so %s/still.so' valgrind "
    .. "--tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=%s %s/serve_%s %s '%s' "
    .. "%s >%s.out 2>&1"):format(dir, build, build, FUNCTIONS[program] or "hotcb_apply", build,
    program == "off" and "off" or "on", dir, item, times, dir)
end

local function count_all(list)
  local commands, n = {}, {}
  run("rm -rf %s/count && mkdir %s/count", scratch, scratch)
  for i, what in ipairs(list) do
    commands[i] = ("{ %s; }"):format(counting(what, ("%s/count/%d"):format(scratch, i))) ..
      (i % 2 == 0 and "; wait\n" or " &\n")
  end
  run(table.concat(commands) .. "wait")
  for i, what in ipairs(list) do
    local times, callbacks = what:match(":(%d+):?(%d*)$")
    local total = first_match(("%s/count/%d.out"):format(scratch, i), "Collected : (%d+)")
    n[what] = total and tonumber(total) / tonumber(times) / (tonumber(callbacks) or 1)
  end
  return n
end

local function counts()
  local list, done = {}, {}
  if not wants("count") or not has("valgrind") then return done end
  for _, row in ipairs(counted) do
    for column = 2, 3 do
      local what = row[column]
      if what and not list[what] then
        list[what] = true
        list[#list + 1] = what
      end
    end
  end
  local n = count_all(list)
  for _, row in ipairs(counted) do
    local ours, theirs = n[row[2]], row[3] and n[row[3]]
    done[#done + 1] = result { item = row[1], ours = ours, reference = theirs, goal = row[4],
      ratio = ours and theirs and ours / theirs, of_ours = row[4] and row[4] >= 10 }
  end
  return done
end

-- ---- statistics -----------------------------------------------------------------------------

-- From the table that stats.sh prints; with --quick as much of it as there is in 12 s.
local function statistics_rows()
  local done = {}
  if not wants("stats") then return done end
  local text = output_of("%s sh %s/stats.sh 2>&1", opt.quick and "timeout 12 stdbuf -oL" or "",
    here)
  for _, row in ipairs(statistics) do
    local ours, theirs, ratio = text:match(("\n%s : best read +%d +([%%d.]+) +([%%d.]+) +([%%d.]+)")
      :format(row[1], row[2]))
    done[#done + 1] = result { group = "stats", goal = row[3], at_least = true,
      item = ("statistics of %.0e %s, GB/s / best read"):format(row[2], row[1]),
      ours = tonumber(ours), reference = tonumber(theirs), ratio = tonumber(ratio) }
  end
  return done
end

-- ---- tables ---------------------------------------------------------------------------------

local function show(n)
  if not n then return "-" end
  return (n % 1 == 0 and "%.0f" or n >= 1000 and "%.0f" or n >= 100 and "%.1f" or "%.2f"):format(n)
end

local function print_table(title, list)
  if #list == 0 then return end
  print(("\n%-42s %10s %10s %8s %6s"):format(title, "ours", "reference", "ratio", "goal"))
  for _, row in ipairs(list) do
    print((("%-42s %10s %10s %8s %6s  %s"):format(row.item, show(row.ours), show(row.reference),
      row.ratio and ("%.2f"):format(row.ratio) or "-", row.goal or "-",
      row.met == nil and "" or row.met and "met" or "missed"):gsub("%s+$", "")))
  end
end

local function print_looks(list)
  if #list == 0 then return end
  print(("\n%-42s %10s %6s %8s %10s %10s"):format("one look", "ms", "ops", "calls", "read",
    "written"))
  for _, row in ipairs(list) do
    print(("%-42s %10.3f %6d %8d %10d %10d"):format(row.item, row.ms, row.ops, row.calls, row.read,
      row.written))
  end
end

local function head()
  local flags = {}
  local all = first_match("/proc/cpuinfo", "flags%s*: ([^\n]*)") or
    first_match("/proc/cpuinfo", "Features%s*: ([^\n]*)") or ""
  for flag in all:gmatch("%S+") do
    if flag:match("^avx") or flag:match("^fma") or flag == "f16c" or flag:match("^sve") or
      flag == "asimd" then
      flags[#flags + 1] = flag
    end
  end
  return {
    processor = first_match("/proc/cpuinfo", "model name%s*: ([^\n]*)") or
      output_of("uname -m"):match("%S+"),
    family = ("%s/%s"):format(first_match("/proc/cpuinfo", "cpu family%s*: (%d+)") or "?",
      first_match("/proc/cpuinfo", "model%s*: (%d+)") or "?"),
    vectors = table.concat(flags, " "),
    system = output_of("uname -sr"):match("[^\n]+"),
    files = output_of("stat -f -c %%T %s", scratch):match("%S+"),
    peer = python ~= "" and output_of("%s -Ic 'import sys, yaml; print(\"hotcb 0.1.0, Python\", "
      .. "sys.version.split()[0] + \", PyYAML\", yaml.__version__)'", python):match("[^\n]+") or
      "not there",
  }
end

local function print_head(h)
  print(("processor: %s (family/model %s)\nvector extensions: %s"):format(h.processor, h.family,
    h.vectors))
  print(("%s, files on %s; peer: %s"):format(h.system, h.files, h.peer))
  print(("medians of %d rounds; ns of processor time"):format(PROCESSES * ROUNDS))
end

-- ---- JSON -----------------------------------------------------------------------------------

local function quote(text)
  return '"' .. text:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
end

local function to_json(v)
  if type(v) == "string" then return quote(v) end
  if type(v) ~= "table" then return type(v) == "number" and ("%.10g"):format(v) or tostring(v) end
  local list = {}
  if #v > 0 or next(v) == nil then
    for i, x in ipairs(v) do list[i] = to_json(x) end
    return "[" .. table.concat(list, ",\n") .. "]"
  end
  for key, x in pairs(v) do list[#list + 1] = quote(key) .. ":" .. to_json(x) end
  table.sort(list)
  return "{" .. table.concat(list, ",") .. "}"
end

-- ---- all of it ------------------------------------------------------------------------------

local all = { head = head() }
print_head(all.head)
all.time = measured()
table.move(system_calls(), 1, 1, #all.time + 1, all.time)
table.move(statistics_rows(), 1, 4, #all.time + 1, all.time)
print_table("item", all.time)
all.instructions = counts()
print_table("instructions", all.instructions)
all.looks = looked()
print_looks(all.looks)
if opt.json then
  local f = assert(io.open(opt.json, "w"))
  f:write(to_json(all), "\n")
  f:close()
end
