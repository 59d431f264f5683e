# expect: disabled, reason=file
ln -s /dev/zero "$1"
