# expect: ok|disabled, reason=budget|syntax|memory
awk 'BEGIN { printf "local s = [========["; for (i = 0; i < 60000; i++) printf "]=]="; printf "]========]\nfunction handle() end\n" }' >"$1"
