-- Programs on a terminal of their own (by script(1)), for what they do only there:
-- widths, colours, and keys that are typed.
local shell = require "support.shell"

local terminal = {}

local function command_line(opts, command)
  local words = { "env", "-u", "NO_COLOR", "-u", "HOTCB_DIR", "-u", "COLUMNS" }
  for name, value in pairs(opts.env or {}) do words[#words + 1] = name .. "=" .. value end
  local inner = ("stty cols %d rows 50; cd %s; exec %s"):format(opts.width or 80,
    shell.quote(opts.cwd), command)
  return ("exec %s script -qfec %s /dev/null"):format(shell.words(words), shell.quote(inner))
end

-- Runs a shell command to its end; opts: cwd, width, env. Returns {code, out}: out is
-- what the screen got, its line ends made plain.
function terminal.run(opts, command)
  local answer = shell.start(command_line(opts, command), opts.cwd).collect()
  answer.out = answer.out:gsub("\r", "")
  return answer
end

-- Starts a program to type at: .type(keys), .expect(text), which waits for text among
-- what came since the last expect, and .stop().
function terminal.start(opts, command)
  local fifo = shell.must("mktemp -u " .. shell.quote(opts.cwd .. "/keys.XXXXXX")):gsub("\n", "")
  shell.must("mkfifo " .. fifo)
  local job = shell.start(("( %s ) <%s"):format(command_line(opts, command), fifo), opts.cwd)
  local keys = assert(io.open(fifo, "r+b"))
  local at, typist = 1, {}
  function typist.type(text)
    assert(keys:write(text))
    keys:flush()
  end
  function typist.expect(text)
    local screen
    local ok = pcall(shell.wait, text, function()
      screen = shell.read(job.base .. ".out") or ""
      return screen:find(text, at, true)
    end)
    assert(ok, ("the screen never had %q, but: %s"):format(text, screen:sub(at)))
    at = select(2, screen:find(text, at, true)) + 1
  end
  -- Types what ends the program, and waits for that.
  function typist.stop(text)
    typist.type(text)
    local answer = job.collect()
    keys:close()
    return answer
  end
  return typist
end

return terminal
