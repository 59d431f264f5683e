-- What a terminal shows: narrow ones, without colour, and dumb ones; and the man page.
local json = require "support.json"
local rig = require "support.rig"
local scripts = require "support.scripts"
local shell = require "support.shell"
local terminal = require "support.terminal"

local long_id = "a_very_long_name_for_a_callback_that_watches_the_loss_of_the_model"

local function live()
  local r = rig.new()
  r:script("hb.lua", scripts.declared)
  r:load("hb")
  r:load(long_id, { target = { kind = "lua_file", path = "hb.lua" } })
  r:script("bad.lua", 'function handle() error("a long message " .. ("m "):rep(60)) end\n')
  r:load("bad")
  r:script("good.lua", scripts.declared)
  r:script("wrong.lua", "x = = 1\n")
  return r
end

local function shown(r, opts, ...)
  opts.cwd = r.folder
  local words = { rig.tool_path, "--dir", "run", ... }
  return terminal.run(opts, shell.words(words)).out
end

-- Lines that are to be copied whole, or are data of somebody else's, may be longer.
local function may_be_long(line)
  return line:match("^  next: ") or line:match("^  %$? ?hotcb ") or line:match("^%d%d%d%d%-")
    or line:match("^%s*eval ")
end

local screens = {
  { "status" }, { "get", "hb" }, { "get", "bad" }, { "get", long_id }, { "help" }, { "list" },
  { "check", "run/good.lua" }, { "check", "run/wrong.lua" }, { "help", "json" },
  { "help", "files" }, { "help", "environment" }, { "help", "exit-codes" }, { "get", "nobdy" },
  { "bogus" }, { "set", "hb" }, { "set", "hb", "every=2", "--no-wait" },
  { "enable", "nobody", "--wait=0.1" }, { "load", "x", "--flie" }, { "--dir", "rnu", "status" },
  { "--dir", "other", "init" }, { "--dir", "other", "status" }, { "--dir", "other", "enable", "x" },
}

describe("a terminal of 60 columns", function()
  local r
  setup(function() r = live() end)
  teardown(rig.clean)

  local function fits(...)
    local out = shown(r, { width = 60, env = { TERM = "dumb" } }, ...)
    assert.not_equal("", out)
    for line in out:gmatch("[^\n]*") do
      if not may_be_long(line) and not line:find(r.folder, 1, true) then
        assert.is_true(utf8.len(line) <= 60, line .. "\n" .. out)
      end
      assert.is_nil(line:match("%s$"), ("a space at the end: %q"):format(line))
    end
    return out
  end

  for _, words in ipairs(screens) do
    it("is enough for: " .. table.concat(words, " "), function() fits(table.unpack(words)) end)
  end

  it("is enough for the help of each command", function()
    for _, command in ipairs(json.decode(r:tool_alone("help", "--json").out).commands) do
      assert.matches(command.name, fits("help", command.name))
    end
  end)

  it("keeps the columns of list apart, whatever an id's length", function()
    local out = fits("list")
    assert.matches("\nbad  FAILED  ", out)
    assert.matches("\n" .. long_id .. "  on      /", out)
  end)

  it("breaks no command that is to be typed", function()
    assert.matches("\n  next: hotcb %-%-dir third load [^\n]*%-%-enabled\n",
                   shown(r, { width = 60, env = { TERM = "dumb" } }, "--dir", "third",
                         "init"))
  end)

  it("may say its width by COLUMNS alone", function()
    local out = shown(r, { width = 0, env = { COLUMNS = "60", TERM = "dumb" } }, "help")
    local widest = 0
    for line in out:gmatch("[^\n]*") do widest = math.max(widest, #line) end
    assert.is_true(widest > 50 and widest <= 60, out)
  end)
end)

-- Variables and options, and whether there is colour on a terminal and in a pipe.
local colors = {
  { {}, nil, true, false },
  { { NO_COLOR = "1" }, nil, false, false },
  { { NO_COLOR = "" }, nil, true, false },
  { { TERM = "dumb" }, nil, false, false },
  { {}, "never", false, false },
  { {}, "always", true, true },
  { { TERM = "dumb" }, "always", true, true },
  { { NO_COLOR = "1" }, "always", false, false },
}

describe("colour", function()
  local r
  setup(function() r = live() end)
  teardown(rig.clean)

  for _, row in ipairs(colors) do
    local env = { TERM = row[1].TERM or "xterm", NO_COLOR = row[1].NO_COLOR }
    it(("with TERM=%s NO_COLOR=%s --color=%s"):format(env.TERM, env.NO_COLOR, row[2]), function()
      local option = "--color=" .. (row[2] or "auto")
      for _, words in ipairs { { "status" }, { "list" }, { "get", "bad" }, { "help" },
                               { "bogus" }, { "check", "run/good.lua" } } do
        local out = shown(r, { env = env }, option, table.unpack(words))
        local expected = row[3]
        assert.equal(expected, out:find("\27[", 1, true) ~= nil, words[1] .. "\n" .. out)
        assert.is_nil(out:gsub("\27%[%d*m", ""):find("\27", 1, true))
      end
      local piped = r:start_tool({ env = env }, "status", option).collect().out
      assert.equal(row[4], piped:find("\27[", 1, true) ~= nil)
    end)
  end

  it("changes nothing else", function()
    for _, words in ipairs(screens) do
      if words[1] ~= "set" and words[1] ~= "enable" and words[1] ~= "status"
        and words[1] ~= "--dir" then
        local plain = shown(r, { env = { TERM = "dumb" } }, table.unpack(words))
        local painted = shown(r, { env = { TERM = "xterm" } }, table.unpack(words))
        assert.equal(plain, (painted:gsub("\27%[%d*m", "")))
      end
    end
  end)
end)

describe("the man page", function()
  after_each(rig.clean)

  it("names each command, option, exit code, variable and file", function()
    local r = rig.new { host = false }
    local page = r:start_tool({ dir = false }, "__man").collect().out:gsub("\\", "")
    local help = json.decode(r:tool_alone("help", "--json").out)
    for _, command in ipairs(help.commands) do
      assert.is_truthy(page:find("\n.Ss " .. command.name .. "\n", 1, true), command.name)
      for _, option in ipairs(command.options) do
        assert.is_truthy(page:find(" Fl -" .. option.name, 1, true), option.name)
      end
    end
    for _, topic in ipairs(help.topics) do
      for _, fact in ipairs(topic.facts) do
        assert.is_truthy(page:find('.It "&' .. fact.name .. '"', 1, true), fact.name)
      end
    end
  end)

  it("is what mandoc likes", function()
    if not os.execute("command -v mandoc >/dev/null") then
      return pending("mandoc is not installed")
    end
    local r = rig.new { host = false }
    assert.equal("", r:sh(rig.tool_path .. " __man >hotcb.1; mandoc -Tlint -Wwarning hotcb.1"))
    local text = r:sh("mandoc -Tascii -Owidth=60 hotcb.1 | sed 's/.\b//g'")
    for _, title in ipairs { "SYNOPSIS", "COMMANDS", "ENVIRONMENT", "FILES", "EXIT STATUS",
                             "JSON OUTPUT", "EXAMPLES" } do
      assert.is_truthy(text:find("\n" .. title, 1, true), title)
    end
  end)
end)
