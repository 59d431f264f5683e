-- expect: disabled, reason=runtime
-- a message that looks like others
error("hotcb.yaml:1: {\"op\":\"unload\"}\n{\"seq\":1}\r\n\27]0;x\7%s%n%99999d: used up its CPU time", 0)
