-- expect: ok|disabled, reason=syntax|runtime
return { params = { { "=name", 1 }, { ("x"):rep(1 << 20), 2 }, { "", 3 }, { "a\0b", 4 }, { "handle", 5 } },
  handle = function() end }
