# expect: ok|disabled, reason=budget|syntax|memory
# jumps to labels that come later: each label looks at all that are pending
awk 'BEGIN {
  for (i = 0; i < 7000; i++) printf "do goto l%d end\n", i
  for (i = 0; i < 7000; i++) printf "::l%d::\n", i
  printf "function handle() end\n"
}' >"$1"
