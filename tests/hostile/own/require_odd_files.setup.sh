# expect: ok|disabled, reason=runtime|file
dir=$(dirname "$1")
mkfifo "$dir/fifo.lua"
mkdir "$dir/dir.lua"
ln -s loop.lua "$dir/loop.lua"
ln -s /dev/zero "$dir/zero.lua"
ln -s /proc/self/mem "$dir/mem.lua"
ln -s /etc/passwd "$dir/passwd.lua"
printf '\033Lua' >"$dir/binary.lua"
dd if=/dev/zero of="$dir/large.lua" bs=1024 count=300 2>/dev/null
cat >"$1" <<'LUA'
for _, name in ipairs { "fifo", "dir", "loop", "zero", "mem", "passwd", "binary", "large" } do
  assert(not pcall(require, name), name)
end
function handle() end
LUA
