-- expect: ok|disabled, reason=budget|memory
local part = ("x"):rep(500000)
for i = 1, 200 do
  hotcb.artifact("deep/" .. i .. "/a.bin", part, "append")
  hotcb.artifact("../../" .. i, part)
  hotcb.artifact("/etc/passwd", part)
  hotcb.artifact(("n"):rep(300), part)
  hotcb.artifact("nul\0name", part)
  hotcb.artifact("same.bin", part)
end
