# expect: ok|disabled, reason=budget|syntax|memory|runtime
awk 'BEGIN { for (i = 0; i < 190; i++) printf "local a%d = 1", i; printf "\n"; printf "x = 1"; for (i = 0; i < 60000; i++) printf "+1"; printf "\nx = "; for (i = 0; i < 180; i++) printf "-"; printf "1\nfunction handle() end\n" }' | sed 's/\(local a[0-9]* = 1\)/\1 /g' >"$1"
