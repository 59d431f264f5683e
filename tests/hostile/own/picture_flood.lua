-- expect: ok|disabled, reason=budget|memory
local noise = {}
for i = 1, 1 << 12 do noise[i] = string.char((i * i * 7919) % 251, (i * 104729) % 256) end
noise = table.concat(noise):rep(128)
for i = 1, 50 do
  hotcb.image("deep/" .. i % 20, noise, 1024, 1024, i)
  hotcb.image("wide", noise:sub(1, 65535 * 3), 65535, 1)
  pcall(hotcb.image, ("n/"):rep(70), "x", 1, 1)
end
