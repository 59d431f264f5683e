-- One that wants nothing but its events.
local Neighbour = {
  name = "Neighbour",
  params = { { "mark", 0, help = "what the file says" } },
}

function Neighbour:handle(_, _)
  self.heard = (self.heard or 0) + 1
end

function Neighbour:save()
  return { heard = self.heard }
end

function Neighbour:restore(saved)
  self.heard = saved.heard
end

return Neighbour
