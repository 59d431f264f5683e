# expect: ok|disabled, reason=budget|syntax|memory
awk 'BEGIN { printf "local s = \""; for (i = 0; i < 20000; i++) printf "\\u{7FFFFFFF}"; printf "\"\nfunction handle() end\n" }' >"$1"
