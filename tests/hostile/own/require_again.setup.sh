# expect: disabled, reason=budget
# a module that fails, and a script that never tires of it
printf 'error({})\n' >"$(dirname "$1")/bad.lua"
printf 'while true do pcall(require, "bad") pcall(require, "hostile") end\n' >"$1"
