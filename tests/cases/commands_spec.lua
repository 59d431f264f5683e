-- Public cases 1, 3, 5, 7, 9, 11, 13: what may happen to a line of the command
-- file on its way, and that it takes effect exactly once, or is refused out loud.
local rig = require "support.rig"
local json = require "support.json"

local hb_yaml = [[
callbacks:
  hb:
    enabled: true
    target: {kind: lua_file, path: hb.lua}
]]
local hb_off_yaml = hb_yaml:gsub("enabled: true", "enabled: false")

-- Logs each parameter as it arrives, with its length and its last bytes.
local echo_lua = [[
function set_params(p)
  for k, v in pairs(p) do
    hotcb.log("info", "%s %s #%d ...%s", k, math.type(v) or type(v), #tostring(v),
              tostring(v):sub(-12))
  end
end
function handle() end
]]

-- A run with hb on (or off) by hotcb.yaml, and an empty command file.
local function with_hb(opts)
  local r = rig.new(opts)
  r:script("hb.lua")
  r:yaml(opts and opts.off and hb_off_yaml or hb_yaml)
  r:apply()
  assert.equal(0, #r:ledger { origin = "command" })
  return r
end

local function commands(r) return r:ledger { origin = "command" } end

local function assert_applied(n, lines)
  assert.equal(n, #lines)
  for _, line in ipairs(lines) do
    assert.same({ "applied" }, { line.decision, line.error })
  end
end

describe("case 1: half a line", function()
  after_each(rig.clean)

  it("waits for its end and is applied once", function()
    local r = with_hb()
    local from = r:log_length()
    r:send(rig.file("cmd_partial_a.part"))
    r:apply(3)
    assert.same({}, commands(r))
    assert.same({}, r:complaints(from))
    assert.is_true(r:callback("hb").enabled)
    r:send(rig.file("cmd_partial_b.part"))
    r:apply()
    assert.same({ "disable hb applied" }, r:verdicts { origin = "command" })
    assert.is_false(r:callback("hb").enabled)
    r:apply(3)
    assert.equal(1, #commands(r))
  end)

  it("wherever it is cut", function()
    local r = with_hb()
    local from = r:log_length()
    local line = '{"op":"set_params","id":"hb","params":{"every":%d}}\r\n'
    for cut = 1, #line:format(10) do
      local whole = line:format(cut % 90 + 10)
      r:send(whole:sub(1, cut))
      r:apply()
      r:send(whole:sub(cut + 1))
      r:apply()
      assert_applied(cut, commands(r))
      assert.equal(cut % 90 + 10, r:callback("hb").params.every)
    end
    assert.same({}, r:complaints(from))
  end)

  it("in one byte pieces, with a look after each", function()
    local r = with_hb()
    for c in ('{"op":"disable","id":"hb"}\n{"op":"enable","id":"hb"}\n'):gmatch(".") do
      r:send(c)
      r:apply()
    end
    assert.same({ "disable hb applied", "enable hb applied" }, r:verdicts { origin = "command" })
  end)
end)

-- What is no command. Each stands alone between two good lines.
local bad_lines = {
  ["cut off"] = '{"op":"enable","id":',
  ["no object"] = "[]",
  ["a number"] = "42",
  ["text"] = '"enable hb"',
  ["an empty object"] = "{}",
  ["an unknown op"] = '{"op":"fly","id":"hb"}',
  ["an op that is a number"] = '{"op":1,"id":"hb"}',
  ["no id"] = '{"op":"enable"}',
  ["an id that is a number"] = '{"op":"enable","id":5}',
  ["an empty id"] = '{"op":"enable","id":""}',
  ["an unknown id"] = '{"op":"enable","id":"nobody"}',
  ["an unknown key"] = '{"op":"enable","id":"hb","now":true}',
  ["params that are a list"] = '{"op":"set_params","id":"hb","params":[1]}',
  ["no params"] = '{"op":"set_params","id":"hb"}',
  ["a load of nothing"] = '{"op":"load","id":"x"}',
  ["a Python file"] = '{"op":"load","id":"x","target":{"kind":"python_file","path":"x.py"}}',
  ["a key twice"] = '{"op":"enable","id":"hb","id":"hb"}',
  ["single quotes"] = "{'op':'enable','id':'hb'}",
  ["a trailing comma"] = '{"op":"enable","id":"hb",}',
  ["a comment"] = "# enable hb",
  ["bytes that are not UTF-8"] = '{"op":"enable","id":"h\xffb"}',
  ["a NUL byte"] = '{"op":"enable","id":"hb"}\0',
  ["a NUL escape"] = '{"op":"enable","id":"h\\u0000b"}',
  ["NaN"] = '{"op":"set_params","id":"hb","params":{"x":NaN}}',
  ["deep brackets"] = ("["):rep(50000),
  ["600 kB of text"] = '{"op":"enable","id":"' .. ("x"):rep(600000) .. '"}',
  ["control characters"] = "\27[31m\1\2\3",
}

describe("case 3: a malformed line", function()
  after_each(rig.clean)

  it("is reported once, and the next one is read", function()
    local r = with_hb()
    local from = r:log_length()
    r:send(rig.file("cmd_bad_middle.jsonl"))
    r:apply(100)
    assert.same({ "applied", "rejected", "applied" },
      { commands(r)[1].decision, commands(r)[2].decision, commands(r)[3].decision })
    assert.equal(3, #commands(r))
    assert.matches("hotcb%.commands%.jsonl:2: ", commands(r)[2].error)
    local said = r:log("commands%.jsonl:2: ", from)
    assert.equal(1, #said)
    assert.equal("WARN", said[1].level)
    assert.equal(5, r:callback("hb").params.every)
    assert.is_false(r:callback("hb").enabled)
  end)

  for name, bad in pairs(bad_lines) do
    it(name, function()
      local r = with_hb()
      local from = r:log_length()
      r:send('{"op":"set_params","id":"hb","params":{"every":3}}\n', bad .. "\n", "\n",
             '{"op":"set_params","id":"hb","params":{"every":4}}\n')
      r:apply(5)
      local lines = commands(r)
      assert.equal(3, #lines)
      assert.same({ "applied", "rejected", "applied" },
        { lines[1].decision, lines[2].decision, lines[3].decision })
      assert.equal(2, lines[2].line)
      assert.is_true(#lines[2].error < 2000)
      assert.equal(4, lines[3].line)
      assert.equal(1, #r:complaints(from))
      assert.is_true(#r:complaints(from)[1] < 2000)
      assert.equal(4, r:callback("hb").params.every)
      assert.same({ "hb" }, { next(r:callbacks()) and r:status().callbacks[1].id })
      assert.equal(1, #r:status().callbacks)
    end)
  end
end)

-- How a command file becomes another one. Each leaves `disable hb` as the only
-- new command.
local disable = '{"op":"disable","id":"hb"}\n'
local replacements = {
  ["truncated, then appended to"] = function(r)
    r:sh(": > hotcb.commands.jsonl")
    r:send(disable)
  end,
  ["truncated, with a look in between"] = function(r)
    r:sh(": > hotcb.commands.jsonl")
    r:apply()
    r:send(disable)
  end,
  ["removed and made again"] = function(r)
    r:sh("rm hotcb.commands.jsonl")
    r:send(disable)
  end,
  ["removed, with a look in between"] = function(r)
    r:sh("rm hotcb.commands.jsonl")
    r:apply()
    r:send(disable)
  end,
  ["another file moved over it"] = function(r)
    r:write("new", disable)
    r:sh("mv new hotcb.commands.jsonl")
  end,
  ["another file of the same size written over it"] = function(r)
    local size = #r:read("hotcb.commands.jsonl")
    r:write("hotcb.commands.jsonl", (" "):rep(size - #disable) .. disable)
  end,
  ["a longer file written over it"] = function(r)
    local size = #r:read("hotcb.commands.jsonl")
    r:write("hotcb.commands.jsonl", ("\n"):rep(size + 100) .. disable)
  end,
}

describe("case 5: a command file that becomes another one is read from its beginning", function()
  after_each(rig.clean)

  for name, replace in pairs(replacements) do
    it(name, function()
      local r = with_hb { loose = true }
      for i = 1, 100 do r:send { op = "set_params", id = "hb", params = { every = i } } end
      r:apply()
      assert_applied(100, commands(r))
      local from = r:log_length()
      replace(r)
      r:apply()
      assert.same("disable hb applied", r:verdicts()[#r:verdicts()])
      assert.is_false(r:callback("hb").enabled)
      assert.equal(1, #r:ledger { op = "disable" })
      r:apply(3)
      assert.equal(1, #r:ledger { op = "disable" })
      assert.equal(100, #r:ledger { op = "set_params" })
      assert.equal(1, #r:log("commands%.jsonl", from))
      if name:match("^truncated") then assert.equal(1, #r:log("truncated", from)) end
    end)

    it(name .. ", while no run was up", function()
      local r = with_hb { loose = true }
      for i = 1, 100 do r:send { op = "set_params", id = "hb", params = { every = i } } end
      r:apply()
      r.host:quit()
      r.apply = function() end
      replace(r)
      r.apply = nil
      r:start()
      r:apply(2)
      assert.equal(1, #r:ledger { op = "disable", decision = "applied" })
      assert.equal(100, #r:ledger { op = "set_params" })
      assert.is_false(r:callback("hb").enabled)
    end)
  end
end)

-- How the first of two runs ends.
local ends = {
  ["closed"] = function(r) r.host:quit() end,
  ["killed"] = function(r)
    r.killed = true
    r.host:kill()
  end,
  ["closed, its state file lost"] = function(r)
    r.host:quit()
    r:sh("rm hotcb.state.json")
  end,
}

describe("case 7: a restart", function()
  after_each(rig.clean)

  local function first_run(r, stop)
    r:script("hb.lua")
    r:load("hb")
    r:send { op = "set_params", id = "hb", params = { every = 1 } }
    r:send { op = "disable", id = "hb" }
    r:apply()
    assert_applied(3, commands(r))
    stop(r)
  end

  for name, stop in pairs(ends) do
    it("executes no old command: " .. name, function()
      local r = rig.new()
      first_run(r, stop)
      r:yaml(hb_yaml)
      local from = r:log_length()
      r:start()
      r:apply(2)
      assert_applied(3, commands(r))
      assert.equal("on", r:callback("hb").state)
      assert.is_nil(r:callback("hb").params.every)
      assert.equal(1, #r:log("3 earlier commands skipped", from))
    end)

    it("misses no new one: " .. name, function()
      local r = rig.new()
      first_run(r, stop)
      r:send { op = "load", id = "hb2", target = { kind = "lua_file", path = "hb.lua" } }
      r:send { op = "set_params", id = "hb2", params = { every = 9 } }
      r:send('{"op":"disable",')
      local from = r:log_length()
      r:start()
      r:apply()
      assert.equal(9, r:callback("hb2").params.every)
      assert.is_nil(r:callback("hb"))
      r:send('"id":"hb2"}\n')
      r:apply()
      assert_applied(6, commands(r))
      assert.is_false(r:callback("hb2").enabled)
      assert.equal(1, #r:log("3 earlier commands skipped", from))
    end)
  end

  it("of a run that had taken in nothing says nothing of earlier commands", function()
    local r = rig.new { host = false }
    r:script("hb.lua")
    r:sh(": > hotcb.commands.jsonl")
    r:send { op = "load", id = "hb", target = { kind = "lua_file", path = "hb.lua" } }
    r:start()
    r:apply()
    assert_applied(1, commands(r))
    assert.same({}, r:log("earlier command"))
  end)
end)

describe("case 9: a character that is cut by the end of a read", function()
  after_each(rig.clean)

  it("arrives whole: the case's files", function()
    local r = rig.new()
    r:script("hb.lua", echo_lua)
    r:yaml(hb_yaml .. "  'héartbeat界':\n    enabled: false\n" ..
           "    target: {kind: lua_file, path: hb.lua}\n")
    r:apply()
    local from = r:log_length()
    local file = rig.file("cmd_utf8_boundary.jsonl")
    r:send(file)
    r:apply()
    local note = file:match('"note":"([^"]*)"')
    assert.equal(note, r:callback("hb").params.note)
    assert.equal(("note string #%d ...%s"):format(#note, note:sub(-12)), r:said("hb"))
    r:send(rig.file("cmd_utf8_a.part"))
    r:apply()
    assert.is_false(r:callback("héartbeat界").enabled)
    r:send(rig.file("cmd_utf8_b.part"))
    r:apply()
    assert.is_true(r:callback("héartbeat界").enabled)
    assert_applied(2, commands(r))
    assert.same({}, r:complaints(from))
  end)

  -- The character's second byte is byte `boundary` of the file.
  for _, boundary in ipairs { 4096, 8192, 65536, 1 << 20, (1 << 20) + 1 } do
    for _, character in ipairs { "é", "界", "😀" } do
      it(("%s at byte %d"):format(character, boundary), function()
        local r = with_hb()
        local head = '{"op":"set_params","id":"hb","params":{"note":"'
        local fill = 0
        while boundary - fill > 400000 do
          r:send(("\n"):rep(400000))
          fill = fill + 400000
        end
        local note = ("a"):rep(boundary - fill - #head - 1) .. character .. "z"
        r:send(head .. note .. '"}}\n')
        r:apply(3)
        assert_applied(1, commands(r))
        assert.equal(note, r:callback("hb").params.note)
      end)
    end
  end
end)

-- Lines that hold more than one thing. What is said of them: how many of the ops
-- in them may have taken effect is none, since the whole line is refused.
local glued = {
  ["two objects with a space"] = '{"op":"disable","id":"hb"} {"op":"enable","id":"hb"}',
  ["two objects with a comma"] = '{"op":"disable","id":"hb"},{"op":"enable","id":"hb"}',
  ["three objects"] = ('{"op":"disable","id":"hb"}'):rep(3),
  ["a list of commands"] = '[{"op":"disable","id":"hb"},{"op":"enable","id":"hb"}]',
  ["a torn head before a whole object"] = '{"op":"disab{"op":"disable","id":"hb"}',
  ["an object and a bracket"] = '{"op":"disable","id":"hb"}}',
  ["an object and a comment"] = '{"op":"disable","id":"hb"} // off for now',
}

describe("case 11: two objects on one line", function()
  after_each(rig.clean)

  it("nothing is dropped without a word: the case's file", function()
    local r = with_hb()
    r:send(rig.file("cmd_glued.jsonl"))
    r:apply(3)
    local lines = commands(r)
    assert.same({ 1, 2, 3 }, { lines[1].line, lines[2].line, lines[3].line })
    assert.same({ "rejected", "rejected", "applied" },
      { lines[1].decision, lines[2].decision, lines[3].decision })
    assert.equal(3, #lines)
    assert.equal("last", r:callback("hb").params.msg)
    assert.is_nil(r:callback("hb").params.every)
    assert.is_true(r:callback("hb").enabled)
  end)

  for name, line in pairs(glued) do
    it(name, function()
      local r = with_hb()
      r:send(line .. "\n", '{"op":"set_params","id":"hb","params":{"msg":"last"}}\n')
      r:apply()
      local lines = commands(r)
      assert.same({ "rejected", "applied" }, { lines[1].decision, lines[2].decision })
      assert.equal(2, #lines)
      assert.matches("hotcb%.commands%.jsonl:1: ", lines[1].error)
      assert.is_true(r:callback("hb").enabled)
    end)
  end
end)

describe("case 11: a line that somebody left unfinished", function()
  after_each(rig.clean)

  it("is closed by the tool, and spoils nobody else's", function()
    local r = with_hb()
    r:send('{"op":"disa')
    r:apply()
    assert.equal(0, r:tool("set", "hb", "every=2").code)
    assert.same({ "? - rejected", "set_params hb applied" }, r:verdicts { origin = "command" })
    assert.equal(2, r:callback("hb").params.every)
    assert.is_true(r:callback("hb").enabled)
  end)
end)

local bom = "\xEF\xBB\xBF"
local function crlf(text) return bom .. text:gsub("\n", "\r\n") end

describe("case 13: byte order mark and CRLF", function()
  after_each(rig.clean)

  it("in the command file", function()
    local r = with_hb { off = true }
    local from = r:log_length()
    r:send(rig.file("cmd_bom_crlf.jsonl"))
    r:apply()
    assert_applied(2, commands(r))
    assert.is_true(r:callback("hb").enabled)
    assert.equal("hi", r:callback("hb").params.msg)
    assert.same({}, r:complaints(from))
  end)

  it("in hotcb.yaml", function()
    local r = rig.new()
    r:script("hb.lua")
    r:yaml(crlf(hb_yaml .. "    params:\n      msg: hi\n      text: 'two\n\n        lines'\n"))
    r:apply()
    assert.same({}, r:complaints())
    assert.equal("on", r:callback("hb").state)
    assert.same({ msg = "hi", text = "two\nlines" }, r:callback("hb").params)
  end)

  it("in a script, whose line numbers stay", function()
    local r = rig.new()
    r:script("hb.lua", crlf('function handle(event, env)\n  hotcb.log("info", "hb v1")\nend\n'))
    r:load("hb")
    assert.same({}, r:complaints())
    r:apply()
    assert.equal("hb v1", r:said("hb"))
    r:script("hb.lua", crlf('function handle(event, env)\n  error("here")\nend\n'))
    r:apply()
    assert.matches("hb%.lua:2: here", r:callback("hb").error.message)
  end)

  it("old Macintosh ends of line, and UTF-16, are refused with a sentence", function()
    local r = with_hb()
    local utf16 = ('{"op":"disable","id":"hb"}'):gsub(".", "%0\0")
    r:send("\xFF\xFE" .. utf16 .. "\n", '{"op":"enable","id":"hb"}\r{"op":"disable","id":"hb"}\n')
    r:apply()
    assert.equal(2, #commands(r))
    assert.equal(2, #r:ledger { decision = "rejected" })
    assert.is_true(r:callback("hb").enabled)
  end)
end)

it("the strict reader refuses what it should", function()
  for _, text in ipairs { "", "01", "1.", "[1,]", "NaN", '"\n"', '{"a":1,"a":2}', '"\\ud800"',
                          "1 2", "9223372036854775808", "1e999", '"\xff"', "-", "tru", "{1:2}",
                          "'a'" } do
    assert.is_false(pcall(json.decode, text), text)
  end
  assert.equal(math.mininteger, json.decode("-9223372036854775808"))
  assert.equal("😀", json.decode('"\\ud83d\\ude00"'))
end)
