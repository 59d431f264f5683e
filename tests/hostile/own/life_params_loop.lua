-- expect: disabled, reason=syntax|runtime
local row = { "a", 1 }
row.choices = row
local params = { row }
params[2] = params
return { params = params, handle = function() end }
