-- expect: ok|disabled, reason=runtime
-- stop, disable and everything else, from every hook
local C = {}
for _, hook in ipairs { "handle", "on_attach", "set_params", "save", "restore", "close" } do
  C[hook] = function(self)
    for i = 1, 50 do
      hotcb.stop(("s"):rep(5000) .. i)
      hotcb.disable()
      hotcb.log("error", hook)
      hotcb.scalar(hook, i)
      hotcb.artifact(hook, hook, "append")
    end
    return { hook }
  end
end
C.handle()
return C
