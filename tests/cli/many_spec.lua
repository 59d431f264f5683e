-- Eight tools at once: no command is lost, torn, doubled or taken out of order.
local json = require "support.json"
local rig = require "support.rig"
local scripts = require "support.scripts"
local shell = require "support.shell"

local writers, each = 8, 250

-- A shell loop that sends its commands one after the other; every tenth line is
-- long, up to 20 kB.
local function writer_loop(r, w)
  local script = ([[
i=1
while [ $i -le %d ]; do
  long=x
  if [ $((i %% 10)) -eq 0 ]; then long=$(head -c $((i * 80)) /dev/zero | tr '\0' y); fi
  %s --dir %s set hb who=w%d-$i long=$long --no-wait >/dev/null || exit 1
  i=$((i + 1))
done]]):format(each, shell.quote(rig.tool_path), shell.quote(r.dir), w)
  return shell.start(script, r.folder)
end

describe("eight tools at once", function()
  after_each(rig.clean)

  it("250 commands each, while the host looks on", function()
    local r = rig.new()
    r:script("hb.lua", scripts.types)
    r:load("hb")
    assert.equal("ok", r:ask("run 200"))
    local jobs = {}
    for w = 1, writers do jobs[w] = writer_loop(r, w) end
    for w = 1, writers do
      local answer = jobs[w].collect()
      assert.same({ 0, "" }, { answer.code, answer.err })
    end
    r:apply(20)
    local sent = json.lines(r:read("hotcb.commands.jsonl"))
    local taken = r:ledger { op = "set_params" }
    assert.same({ writers * each + 1, writers * each }, { #sent, #taken })
    local next_of, cmds = {}, {}
    for i, line in ipairs(taken) do
      assert.equal("applied", line.decision)
      assert.same({ sent[i + 1].cmd, i + 1 }, { line.cmd, line.line })
      assert.is_nil(cmds[line.cmd])
      cmds[line.cmd] = true
      local w, n = line.params.who:match("^w(%d+)%-(%d+)$")
      assert.equal((next_of[w] or 0) + 1, tonumber(n))
      next_of[w] = tonumber(n)
      assert.equal(n % 10 == 0 and n * 80 or 1, #line.params.long)
    end
    for w = 1, writers do assert.equal(each, next_of[tostring(w)]) end
  end)
end)
