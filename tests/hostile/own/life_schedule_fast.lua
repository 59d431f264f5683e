-- expect: ok|disabled, reason=syntax|runtime
return { params = { { "every", math.mininteger } }, schedule = "every", handle = function(self)
  self.every, self.params, self.schedule = math.maxinteger, nil, {} end }
