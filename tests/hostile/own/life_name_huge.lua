-- expect: ok|disabled, reason=syntax|runtime|memory
-- what a script says of itself is told in every status
return { name = ("\1\xff"):rep(3 << 20), handle = function() end }
