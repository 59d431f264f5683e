-- What system_stats says of a machine that a row makes up.
local pack = require "support.pack"

local path = "callbacks/system_stats.lua"

local gpu = { name = "GeForce RTX 4090", utilisation = 93, memory_used = 20 << 30,
              memory_total = 24 << 30, process_memory = 19 << 30, temperature = 71 }

-- A machine with these things otherwise.
local function machine(fields)
  return function(cb)
    for key, value in pairs(fields) do cb.system[key] = value end
  end
end

local function without_gpus(cb) cb.system.gpu_problem = "NVML is not here" end

local function with_gpus(...)
  local gpus = { ... }
  return function(cb) cb.system.gpus, cb.system.gpu_problem = gpus, nil end
end

local function after(seconds, cpu_seconds)
  return function(cb)
    cb.now = cb.now + seconds
    cb.system.cpu_seconds = cb.system.cpu_seconds + cpu_seconds
  end
end

local function line(step, cpu)
  return ("[hotcb:x] sys event=train_step_end step=%d ru_maxrss=786432 cpu=%s cpus=4 (cgroup v2) "
    .. "rss=512.0MiB ram=4096.0MiB/16384.0MiB (cgroup v2)"):format(step, cpu)
end

local ram = { ["system/rss_bytes"] = 512 << 20, ["system/ram_used_bytes"] = 4 << 30 }

local function and_ram(more)
  for key, value in pairs(ram) do more[key] = value end
  return more
end

describe("system_stats", function()
  pack.declares(it, path, "SystemStatsCallback", { every = 200, gpu = true })

  pack.rows(it, path, {
    { "says what the run takes, of the processor since it last did", init = { gpu = false },
      { "fit_start", {} }, { "train_step_end", { step = 1 } }, after(2, 1),
      { "train_step_end", { step = 200 } }, after(1, 3.5), { "train_step_end", { step = 400 } },
      lines = { line(200, "50%"), line(400, "350%") },
      scalars = and_ram { ["system/cpu_percent"] = 350.0 } },
    { "leaves open what is not known", init = { gpu = false },
      function(cb) cb.system.rss, cb.system.rss_peak = nil, nil end,
      machine { cpus = 1.5, cpus_source = "affinity", ram_source = "host" },
      { "train_step_end", { step = 0 } },
      lines = { "[hotcb:x] sys event=train_step_end step=0 ru_maxrss=? cpu=? cpus=1.5 (affinity) "
        .. "rss=? ram=4096.0MiB/16384.0MiB (host)" } },
    { "has a line for each GPU",
      with_gpus(gpu, { name = "other", memory_total = 1 << 30, memory_used = 1 << 20 }),
      { "train_step_end", { step = 0 } },
      lines = { line(0, "?"),
        "[hotcb:x] gpu 0 mem process=19456.0MiB used=20480.0MiB/24576.0MiB util=93% temp=71C "
          .. "(GeForce RTX 4090)",
        "[hotcb:x] gpu 1 mem process=? used=1.0MiB/1024.0MiB util=? temp=? (other)" },
      scalars = and_ram { ["system/gpu0_percent"] = 93, ["system/gpu0_used_bytes"] = 20 << 30,
                          ["system/gpu1_used_bytes"] = 1 << 20 } },
    { "says once, to who debugs, why there is no GPU", init = { every = 1 }, without_gpus,
      { "train_step_end", { step = 0 } }, after(1, 1), { "train_step_end", { step = 1 } },
      function(cb) assert.equal("debug", cb.logs[2].level) end,
      lines = { line(0, "?"), "[hotcb:x] no gpu: NVML is not here", line(1, "100%") } },
    { "is not asked for GPUs with gpu=false", with_gpus(gpu),
      function(cb) cb:set("gpu=false", "every=3") end, { "train_step_end", { step = 3 } },
      lines = { line(3, "?") }, scalars = ram },
  })
end)
