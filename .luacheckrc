-- What a callback may use is what its sandbox has, and nothing else; luacheck holds it to that.
-- Copy this file beside your own callbacks, if they are checked apart from hotcb's sources.
local function names(list)
  local fields = {}
  for name in list:gmatch("%S+") do fields[name] = {} end
  return { fields = fields }
end

stds.hotcb = {
  read_globals = {
    "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "print", "rawequal",
    "rawget", "rawlen", "rawset", "require", "select", "setmetatable", "tonumber", "tostring",
    "type", "xpcall", "_G", "_VERSION",
    math = names [[abs acos asin atan ceil cos deg exp floor fmod huge log max maxinteger min
      mininteger modf pi rad random randomseed sin sqrt tan tointeger type ult]],
    string = names [[byte char find format gmatch gsub len lower match pack packsize rep reverse
      sub unpack upper]],
    table = names "concat insert move pack remove sort unpack",
    utf8 = names "char charpattern codepoint codes len offset",
    hotcb = { fields = { log = {}, scalar = {}, histogram = {}, image = {}, artifact = {},
                         stop = {}, disable = {}, clock = {}, system = {},
                         json = names "decode encode" } },
  },
  globals = { "handle", "set_params" }, -- of the form that defines functions
}

std = "hotcb"
max_line_length = 100
unused_args = false -- handle(event, env) has both, whether or not it needs them

files[".luacheckrc"] = { std = "+luacheckrc" }
files["lua/testing*.lua"] = { std = "lua54" }
files["lua/hotcb.d.lua"] = { std = "none", ignore = { "1", "2", "3", "631" } }
files["tests"] = { std = "lua54+busted" }
files["**/*_spec.lua"] = { std = "lua54+busted" }
exclude_files = { "tests/cases/files", "tests/hostile" } -- scripts that are wrong on purpose
