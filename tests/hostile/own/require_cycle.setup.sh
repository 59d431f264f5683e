# expect: disabled, reason=runtime
dir=$(dirname "$1")
printf 'return require "two"\n' >"$dir/one.lua"
printf 'return require "one"\n' >"$dir/two.lua"
printf 'require "one"\nfunction handle() end\n' >"$1"
