-- What the worker requires.
local helper = {}

function helper.more(n)
  return (n or 0) + 1
end

return helper
