-- system_stats.lua: what the run takes of the machine. cpu is that of the process since the
-- line before, 100 % being one processor; ru_maxrss is its peak in KiB; ram counts all that
-- shares its limit, and says whose that is. The same as scalars, system/cpu_percent and so on.
local SystemStats = {
  name = "SystemStatsCallback",
  params = {
    { "every", 200, min = 0, unit = "steps", help = "0 = never" },
    { "gpu", true, help = "a line for each GPU too, where there are any" },
  },
  schedule = "every",
  events = { "train_step_end" },
}

local function mib(bytes) return bytes and ("%.1fMiB"):format(bytes / 2 ^ 20) or "?" end

local function scalar(name, value)
  if value then hotcb.scalar("system/" .. name, value) end
end

local function cpu_percent(self, system)
  local now, before = hotcb.clock(), self.before
  self.before = { at = now, cpu = system.cpu_seconds }
  if not before or now <= before.at then return nil end
  return 100 * (system.cpu_seconds - before.cpu) / (now - before.at)
end

function SystemStats:on_attach() cpu_percent(self, hotcb.system(self.gpu)) end

function SystemStats:handle(event, env)
  local system = hotcb.system(self.gpu)
  local cpu = cpu_percent(self, system)
  env.log("[hotcb:%s] sys event=%s step=%d ru_maxrss=%s cpu=%s cpus=%.4g (%s) rss=%s ram=%s/%s "
    .. "(%s)", self.id, event, env.step or 0, system.rss_peak and system.rss_peak // 1024 or "?",
    cpu and ("%.0f%%"):format(cpu) or "?", system.cpus, system.cpus_source, mib(system.rss),
    mib(system.ram_used), mib(system.ram_total), system.ram_source)
  scalar("cpu_percent", cpu)
  scalar("rss_bytes", system.rss)
  scalar("ram_used_bytes", system.ram_used)
  for i, gpu in ipairs(system.gpus or {}) do self:tell_gpu(env, i - 1, gpu) end
  if system.gpu_problem and not self.told then
    hotcb.log("debug", "[hotcb:%s] no gpu: %s", self.id, system.gpu_problem)
    self.told = true
  end
end

function SystemStats:tell_gpu(env, i, gpu)
  env.log("[hotcb:%s] gpu %d mem process=%s used=%s/%s util=%s temp=%s (%s)", self.id, i,
    mib(gpu.process_memory), mib(gpu.memory_used), mib(gpu.memory_total),
    gpu.utilisation and ("%.0f%%"):format(gpu.utilisation) or "?",
    gpu.temperature and ("%.0fC"):format(gpu.temperature) or "?", gpu.name)
  scalar(("gpu%d_percent"):format(i), gpu.utilisation)
  scalar(("gpu%d_used_bytes"):format(i), gpu.memory_used)
end

return SystemStats
