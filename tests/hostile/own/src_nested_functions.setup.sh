# expect: disabled, reason=syntax
awk 'BEGIN { for (i = 0; i < 12000; i++) printf "f=function() "; }' >"$1"
