# expect: ok|disabled, reason=budget|runtime|syntax|memory
# a module that takes the parser a second: names of globals in deep scopes, each walks all locals
lib=$(dirname "$1")/bomb.lua
awk 'BEGIN {
  for (f = 0; f < 60; f++) {
    printf "local function f%d()\n", f
    for (d = 0; d < 4; d++) {
      printf "return function() local a%d_0", d
      for (i = 1; i < 190; i++) printf ",a%d_%d", d, i
      printf "\n"
    }
    for (g = 0; g < 300; g++) printf "g=h\n"
    for (d = 0; d < 4; d++) printf "end\n"
    printf "end\n"
  }
}' >"$lib"
printf 'require "bomb"\nfunction handle() end\n' >"$1"
