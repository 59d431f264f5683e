-- expect: disabled, reason=runtime
error(("\1\xff\u{202e}"):rep(1000000))
