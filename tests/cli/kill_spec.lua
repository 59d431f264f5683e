-- A host that is killed at any moment, a hundred times (HOTCB_KILLS: another number),
-- while commands come without a pause: each is in the ledger exactly once, in order.
local rig = require "support.rig"
local shell = require "support.shell"

local kills = tonumber(os.getenv "HOTCB_KILLS") or 100

local function run_until_killed(r)
  r:start()
  assert.matches("^0", r.host.opened)
  assert.equal("ok", r:ask("run 100"))
  shell.sleep(math.random() * 0.05)
  r.host:kill()
end

-- Tears the ends of files as a power cut might, which a mere kill does not.
local function tear(r)
  if math.random(4) == 1 then r:append("hotcb.applied.jsonl", '{"seq":1,"run":"torn') end
end

describe(kills .. " times kill -9", function()
  after_each(rig.clean)

  it("no command is lost, doubled or out of order", function()
    math.randomseed(9)
    local r = rig.new { host = false }
    r.killed = true
    r:script("hb.lua")
    r:yaml("callbacks: {hb: {target: {kind: lua_file, path: hb.lua}}}\n")
    r:sh(": > hotcb.commands.jsonl")
    local sender = r:another_host(r.folder .. "/sender")
    assert.equal("ok", sender:ask(("flood %s 1"):format(r.dir)))
    for _ = 1, kills do
      run_until_killed(r)
      tear(r)
    end
    sender:tell("pid")
    local sent = tonumber(sender.answers:read("l"):match("^sent (%d+)$"))
    assert.equal(tostring(sender.pid), sender.answers:read("l"))
    r:start()
    shell.wait("the last command", function()
      r:apply(10)
      return #r:ledger { op = "set_params" } >= sent
    end)
    r:apply(10)
    local lines = r:ledger { op = "set_params" }
    assert.equal(sent, #lines)
    assert.is_true(sent > kills)
    for i, line in ipairs(lines) do
      assert.same({ tostring(i), i, "applied" }, { line.cmd, line.line, line.decision })
    end
    assert.equal(sent, r:callback("hb").params.n)
    print(("\n%d kills, %d commands: each in the ledger once, in order"):format(kills, sent))
  end)
end)
