# expect: disabled, reason=runtime|syntax|memory|budget
# names and texts as long as the file may be, in an error about them
awk 'BEGIN { printf "local t = {} t."; for (i = 0; i < 120000; i++) printf "n"; printf ".x"; for (i = 0; i < 100000; i++) printf "y"; printf "()\n" }' >"$1"
