#!/bin/sh
# How fast hotcb is, in one run: beside raw calls of Lua, itself without its guard, and the
# Python hotcb 0.1.0. Prints a table of ratios against their goals, one of instructions (by
# callgrind; the same digits each time) and one of what a look costs; exits 0 whatever they say.
#
#     sh tests/bench/run.sh [--quick] [--json FILE] [--only GROUP,...]
#
# --quick takes about a minute (and is over before statistics of f16 and bf16 have come), all of it
# two or three. Groups: hot guard peer ingest env stats count look. Times are processor time of the
# thread that measures, which a busy machine disturbs least; items take turns, and a ratio is the
# median of those of the rounds. Instructions are counted with budgets of an hour and clocks that
# stand still. Looks cost what the file system under TMPDIR makes them cost.
#
# Needs cmake, cc, lua5.4 and pkg-config; python3 and pip for the peer, valgrind for instructions,
# strace for system calls: what is not there is left out. HOTCB_BUILD names another place for the
# build, HOTCB_PYTHON another Python.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
bench=$here/tests/bench
build=${HOTCB_BUILD:-$here/.build}/bench
venv=$build/peer # that of peer.sh, too
mkdir -p "$build"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

library() { # NAME FLAGS
    cmake -S "$here" -B "$build/$1" -DCMAKE_BUILD_TYPE=Release -DHOTCB_EXAMPLES=OFF \
        -DHOTCB_TOOL=OFF -DHOTCB_SHARED=OFF -DHOTCB_TESTS=OFF -DHOTCB_PNG=OFF \
        -DCMAKE_C_FLAGS="$2" &&
        cmake --build "$build/$1" -j 2
}

program() { # NAME
    # shellcheck disable=SC2046 # lists of words
    cc -O2 -D_GNU_SOURCE -Wall -Wextra -Wshadow -I"$here/src/include" \
        $(pkg-config --cflags lua5.4) "$bench/serve.c" "$bench/run.c" "$bench/hot.c" \
        "$bench/look.c" -o "$build/serve_$1" "$build/$1/src/libhotcb.a" \
        $(pkg-config --libs lua5.4 yaml-0.1 libcjson) -lm -pthread
}

build() { # NAME FLAGS
    { library "$1" "$2" && program "$1"; } >"$build/$1.log" 2>&1 || { cat "$build/$1.log"; exit 1; }
}

install_peer() {
    { [ -x "$venv/bin/python" ] || "${HOTCB_PYTHON:-python3}" -m venv \
        --system-site-packages "$venv"; } &&
        { "$venv/bin/python" -Ic "import hotcb, yaml" 2>/dev/null ||
            { "$venv/bin/python" -m pip install -q hotcb==0.1.0 --no-deps &&
                "$venv/bin/python" -m pip install -q PyYAML; }; }
}

build on ""
build off -DHOTCB_UNGUARDED
# valgrind grows a stack only where it is touched, and delivers no signal beyond that.
cc -O0 -shared -fPIC "$here/tests/support/stack.c" -o "$build/stack.so"
cc -O2 -shared -fPIC "$bench/still.c" -o "$build/still.so"
peer=$venv/bin/python
install_peer >"$build/peer.log" 2>&1 || {
    echo "run.sh: the peer cannot be installed ($build/peer.log); its rows are left out."
    peer=
}
lua5.4 "$bench/bench.lua" "$build" "$scratch" "$peer" "$@"
