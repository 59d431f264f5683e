-- What a shell offers at the cursor: the tool's answers, row by row; the functions of
-- bash as bash calls them; and a real bash at which keys are typed.
local json = require "support.json"
local rig = require "support.rig"
local shell = require "support.shell"
local terminal = require "support.terminal"

local script = [[
return {
  name = "Guard",
  params = {
    { "every", 50, min = 0, unit = "steps", help = "0 = never" },
    { "max_loss", 20.0 },
    { "mode", "l2", choices = { "l2", "max" } },
    { "raise", false },
  },
  handle = function() end,
}
]]

local function live()
  local r = rig.new()
  r:script("guard.lua", script)
  r:load("guard")
  r:script("free.lua", "function handle() end\nfunction set_params() end\n")
  r:load("gap", { target = { kind = "lua_file", path = "free.lua" }, init = { n = 1 } })
  r:load("hb", { target = { kind = "module", path = "hotcb.callbacks.heartbeat" } })
  return r
end

local function has(command) return os.execute("command -v " .. command .. " >/dev/null 2>&1") end

-- The kind and the words of an answer.
local function offered(r, env, ...)
  local words = { ... }
  local answer = r:start_tool({ dir = false, env = env, cwd = r.folder }, "__complete",
                              table.unpack(words)).collect()
  assert.equal("", answer.err)
  assert.equal(0, answer.code)
  local kind, rest = answer.out:match("^(%l+)\n(.*)$")
  local found = {}
  for line in rest:gmatch("(.-)\n") do found[#found + 1] = line:match("^(.-)\t") end
  return kind, found
end

-- The words up to the cursor (RUN: the run directory), and what is offered, or its kind.
local rows = {
  { { "sta" }, { "status" } },
  { { "--dir", "RUN", "sta" }, { "status" } },
  { { "--dir", "RUN", "enable", "" }, { "guard", "gap", "hb" } },
  { { "--dir=RUN", "enable", "g" }, { "guard", "gap" } },
  { { "enable", "--dir", "RUN", "gu" }, { "guard" } },
  { { "enable", "--json", "--dir", "RUN", "gu" }, { "guard" } },
  { { "--dir", "RUN", "--color", "never", "get", "h" }, { "hb" } },
  { { "--dir", "RUN", "set", "guard", "" }, { "every=", "max_loss=", "mode=", "raise=" } },
  { { "--dir", "RUN", "set", "guard", "m" }, { "max_loss=", "mode=" } },
  { { "--dir", "RUN", "set", "guard", "mode=max", "m" }, { "max_loss=" } },
  { { "--dir", "RUN", "set", "guard", "mode=" }, { "mode=l2", "mode=max" } },
  { { "--dir", "RUN", "set", "guard", "mode=m" }, { "mode=max" } },
  { { "--dir", "RUN", "set", "guard", "raise=" }, { "raise=true", "raise=false" } },
  { { "--dir", "RUN", "set", "guard", "every=" }, {} },
  { { "--dir", "RUN", "set", "gap", "" }, { "n=" } },
  { { "--dir", "RUN", "set", "nobody", "x" }, {} },
  { { "--dir", "RUN", "logs", "--id", "" }, { "hotcb", "guard", "gap", "hb" } },
  { { "--dir", "RUN", "logs", "--id=gu" }, { "--id=guard" } },
  { { "--dir", "RUN", "logs", "-fn", "" }, {} },
  { { "--dir", "RUN", "load", "guard", "--init", "mo" }, { "mode=" } },
  { { "--dir", "RUN", "load", "guard", "--init", "mode=l2", "ma" }, { "max_loss=" } },
  { { "load", "new", "--file", "run/guard.lua", "--init", "e" }, { "every=" } },
  { { "load", "new", "-f", "run/guard.lua", "--init", "mode=m" }, { "mode=max" } },
  { { "load", "new", "--limit", "" }, { "time_ms=", "memory_mb=", "errors=", "coroutines=" } },
  { { "load", "new", "--limit", "errors=2", "e" }, {} },
  { { "load", "new", "--module", "hotcb.callbacks.hea" }, { "hotcb.callbacks.heartbeat" } },
  { { "load", "new", "--module=hotcb.callbacks.hea" }, { "--module=hotcb.callbacks.heartbeat" } },
  { { "load", "new", "--module", "run.gu" }, { "run.guard" }, env = { HOTCB_PATH = "." } },
  { { "load", "new", "--fi" }, { "--file" } },
  { { "load", "new", "--file", "" }, kind = "files" },
  { { "load", "new", "-m", "x", "--file=ru" }, kind = "files" },
  { { "check", "" }, kind = "files" },
  { { "--dir", "" }, kind = "dirs" },
  { { "status", "--dir=" }, kind = "dirs" },
  { { "--color", "a" }, { "auto", "always" } },
  { { "status", "--color=n" }, { "--color=never" } },
  { { "status", "--j" }, { "--json" } },
  { { "status", "--json", "--j" }, {} },
  { { "status", "--", "--j" }, {} },
  { { "--ver" }, { "--version" } },
  { { "completion", "" }, { "bash", "fish", "zsh" } },
  { { "help", "st" }, { "status" } },
  { { "help", "js" }, { "json" } },
  { { "nonsense", "" }, {} },
  { { "--nonsense", "sta" }, { "status" } },
  { { "enable", "g" }, { "guard", "gap" }, env = { HOTCB_DIR = "run" } },
  { { "set", "guard", "ev" }, { "every=" }, env = { HOTCB_DIR = "run" } },
  { { "enable", "g" }, {} },
  { { "--dir", "nowhere", "enable", "g" }, {} },
  { { "--dir", "rum", "enable", "g" }, {} },
}

describe("__complete", function()
  local r
  setup(function() r = live() end)
  teardown(rig.clean)

  for _, row in ipairs(rows) do
    it("offers after: " .. table.concat(row[1], " "), function()
      local words = {}
      for i, word in ipairs(row[1]) do words[i] = word:gsub("RUN", r.dir) end
      local kind, found = offered(r, row.env, table.unpack(words))
      assert.equal(row.kind or "words", kind)
      assert.same(row[2] or {}, found)
    end)
  end

  it("knows each command and each option of the table", function()
    local help = json.decode(r:tool_alone("help", "--json").out)
    local _, commands = offered(r, nil, "")
    for i, command in ipairs(help.commands) do
      assert.equal(command.name, commands[i])
      local _, options = offered(r, nil, command.name, "--")
      for k, option in ipairs(command.options) do assert.equal("--" .. option.name, options[k]) end
    end
    assert.equal(#help.commands, #commands)
  end)

  it("survives every prefix of a long command line, and a damaged status", function()
    local words = { "--dir", r.dir, "--color=never", "load", "x", "-f", "run/guard.lua", "--init",
                    "mode=l2", "--limit", "errors=1", "--", "a" }
    for i = 1, #words do
      for cut = 0, #words[i], 2 do
        local part = table.move(words, 1, i - 1, 1, {})
        part[i] = words[i]:sub(1, cut)
        offered(r, nil, table.unpack(part))
      end
    end
    for _, text in ipairs { "", "{", "[]", '{"callbacks":[1,{"id":5},{"id":"a"}]}' } do
      local other = rig.new { host = false }
      other:write("hotcb.status.json", text)
      offered(other, nil, "--dir", other.dir, "enable", "")
      offered(other, nil, "--dir", other.dir, "set", "a", "")
    end
  end)
end)

-- ---- bash -----------------------------------------------------------------------

-- Calls the completion function as bash does: the line, its words as bash cuts them.
local function compreply(r, words, env)
  local line = table.concat(words, " ")
  local cut = {}
  for i, word in ipairs(words) do
    if i == #words and word == "" then cut[#cut + 1] = "" end
    for piece in word:gsub("([=:]+)", " %1 "):gmatch("%S+") do cut[#cut + 1] = piece end
  end
  local program = ([[
    PATH=%s:$PATH
    eval "$(hotcb completion bash)"
    complete -p hotcb >&2 || exit 9
    compopt() { :; }
    COMP_WORDS=(%s) COMP_CWORD=%d COMP_LINE=%s COMP_POINT=%d
    _hotcb hotcb && printf '%%s\n' "${COMPREPLY[@]}"
  ]]):format(shell.quote(rig.tool_path:match("^(.*)/")), shell.words(cut), #cut - 1,
             shell.quote(line), #line)
  local job = shell.start(("cd %s && %s exec bash --norc --noprofile -c %s"):format(
    shell.quote(r.folder), env or "", shell.quote(program)), r.folder)
  local answer = job.collect()
  assert.equal("complete -F _hotcb hotcb\n", answer.err)
  local found = {}
  for word in answer.out:gmatch("([^\n]+)\n") do found[#found + 1] = word end
  table.sort(found)
  return found
end

local bash_rows = {
  { { "hotcb", "sta" }, { "status" } },
  { { "hotcb", "--dir", "run", "set", "gu" }, { "guard" } },
  { { "hotcb", "--dir=run", "set", "guard", "m" }, { "max_loss=", "mode=" } },
  { { "hotcb", "--dir", "run", "set", "guard", "every=5", "" },
    { "max_loss=", "mode=", "raise=" } },
  { { "hotcb", "--dir", "run", "set", "guard", "mode=" }, { "l2", "max" } },
  { { "hotcb", "--dir", "run", "set", "guard", "mode=m" }, { "max" } },
  { { "hotcb", "status", "--color=al" }, { "always" } },
  { { "hotcb", "--dir", "r" }, { "run" } },
  { { "hotcb", "--dir=r" }, { "run" } },
  { { "hotcb", "check", "run/gu" }, { "run/guard.lua" } },
  { { "hotcb", "load", "x", "--file=run/gu" }, { "run/guard.lua" } },
  { { "hotcb", "enable", "gu" }, { "guard" }, env = "HOTCB_DIR=run" },
  { { "hotcb", "--dir", "$R", "enable", "gu" }, { "guard" }, env = "R=run" },
  { { "hotcb", "--dir", '"$R"', "enable", "gu" }, { "guard" }, env = "R=run" },
  { { "hotcb", "--dir", "'run'", "enable", "gu" }, { "guard" } },
  { { "hotcb", "--dir", "r\\un", "enable", "gu" }, { "guard" } },
  { { "hotcb", "--dir", "~/run", "enable", "gu" }, { "guard" }, env = "HOME=$PWD" },
}

describe("bash", function()
  teardown(rig.clean)
  local r
  setup(function() r = live() end)

  for _, row in ipairs(bash_rows) do
    it("completes: " .. table.concat(row[1], " "), function()
      assert.same(row[2], compreply(r, row[1], row.env))
    end)
  end

  it("completes a command, an id, names and a value as they are typed, and runs it", function()
    local typist = terminal.start({ cwd = r.folder, env = {
      PATH = rig.tool_path:match("^(.*)/") .. ":" .. os.getenv("PATH"),
      TERM = "dumb", HISTFILE = "/dev/null", INPUTRC = "/dev/null",
    } }, "bash --norc --noprofile -i")
    typist.type('bind "set enable-bracketed-paste off"; eval "$(hotcb completion bash)"\n')
    typist.type("PS1=ready'> '\n")
    typist.expect("ready> ")
    typist.type("hotcb --dir ru\t")
    typist.expect("hotcb --dir run/")
    typist.type(" se\t")
    typist.expect("set ")
    typist.type("gu\t")
    typist.expect("guard ")
    typist.type("ev\t")
    typist.expect("every=")
    typist.type("7 mo\t")
    typist.expect("mode=")
    typist.type("m\t")
    typist.expect("max ")
    typist.type("--no-w\t")
    typist.expect("--no-wait")
    typist.type("\n")
    typist.expect("queued")
    typist.stop("exit\n")
    r:apply()
    assert.same({ 7, "max" }, { r:callback("guard").params.every, r:callback("guard").params.mode })
  end)
end)

-- ---- the others -------------------------------------------------------------------

describe("completion", function()
  after_each(rig.clean)

  for _, name in ipairs { "bash", "zsh", "fish" } do
    it("for " .. name .. " is a script that " .. name .. " reads", function()
      local r = rig.new { host = false }
      local answer = r:tool_alone("completion", name)
      assert.equal(0, answer.code)
      assert.matches("__complete", answer.out)
      assert.equal(answer.out, json.decode(r:tool_alone("completion", name, "--json").out).script)
      if not has(name) then return pending(name .. " is not installed") end
      r:write("script", answer.out)
      assert.equal("", r:sh(name .. " -n script"))
    end)
  end

  it("for another shell says which there are", function()
    local answer = rig.new { host = false }:tool_alone("completion", "tcsh")
    assert.equal(2, answer.code)
    assert.matches("bash, fish, zsh", answer.err)
  end)

  it("in fish offers the same", function()
    if not has("fish") then return pending("fish is not installed") end
    local r = live()
    local path = rig.tool_path:match("^(.*)/")
    local function complete(line)
      return r:sh(("HOME=$PWD fish --no-config -c %s"):format(shell.quote(
        ("set PATH %s $PATH; hotcb completion fish | source; cd ..; complete -C '%s'"):format(
          path, line))))
    end
    assert.matches("^guard\t", complete("hotcb --dir run set gu"))
    assert.matches("^every=\t", complete("hotcb --dir run set guard ev"))
    assert.matches("^mode=max", complete("hotcb --dir run set guard mode=m"))
    assert.matches("^run/", complete("hotcb --dir ru"))
    assert.matches("^%-%-dir=run/", complete("hotcb --dir=ru"))
    assert.matches("run/guard.lua", complete("hotcb check run/gu"))
  end)
end)
