# expect: disabled, reason=file
ln -s hostile.lua "$1"
