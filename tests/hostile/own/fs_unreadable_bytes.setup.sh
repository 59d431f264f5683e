# expect: disabled, reason=syntax
# a quarter of a MiB of noise
awk 'BEGIN { srand(7); for (i = 0; i < 200000; i++) printf "%c", 128 + int(rand() * 127) }' >"$1"
