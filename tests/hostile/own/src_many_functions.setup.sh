# expect: ok|disabled, reason=budget|syntax|memory
awk 'BEGIN { for (i = 0; i < 8000; i++) printf "function f() return f end\n"; printf "function handle() end\n" }' >"$1"
