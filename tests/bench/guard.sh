#!/bin/sh
# What it costs to be guarded: instructions of hotcb_apply by callgrind, with the guard
# (the timer's record, the way back, the C locale) and built without it. Prints a table of
# ratios against their goals; needs valgrind. HOTCB_BUILD names another place for the build.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
build=${HOTCB_BUILD:-$here/.build}/bench
mkdir -p "$build"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

build_one() { # NAME FLAGS: the library with these flags, and the program
    cmake -S "$here" -B "$build/$1" -DCMAKE_BUILD_TYPE=Release -DHOTCB_EXAMPLES=OFF \
        -DHOTCB_TOOL=OFF -DHOTCB_SHARED=OFF -DHOTCB_TESTS=OFF -DHOTCB_PNG=OFF \
        -DCMAKE_C_FLAGS="$2" \
        >"$build/$1.log" 2>&1 &&
        cmake --build "$build/$1" -j 2 >>"$build/$1.log" 2>&1 || { cat "$build/$1.log"; exit 1; }
    # shellcheck disable=SC2046 # a list of words
    cc -O2 -I"$here/src/include" "$here/tests/bench/apply.c" -o "$build/apply_$1" \
        "$build/$1/src/libhotcb.a" $(pkg-config --libs lua5.4 yaml-0.1 libcjson) -lm -pthread
}

instructions() { # NAME KIND CALLBACKS STEPS
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=hotcb_apply \
        "$build/apply_$1" "$2" "$3" "$4" "$scratch/run.$1.$2.$3" 2>&1 |
        sed -n 's/.*Collected : *//p'
}

row() { # KIND CALLBACKS STEPS GOAL
    with=$(instructions on "$1" "$2" "$3")
    without=$(instructions off "$1" "$2" "$3")
    awk -v with="$with" -v without="$without" -v kind="$1" -v n="$2" -v steps="$3" -v goal="$4" \
        'BEGIN { ratio = with / without; each = n * steps
                 printf "%-6s %4d  %8.0f  %8.0f  %5.3f  %5.2f  %s\n", kind, n, with / each,
                     without / each, ratio, goal, ratio <= goal ? "met" : "missed" }'
}

build_one on ""
build_one off -DHOTCB_UNGUARDED
echo "kind   callbacks  guarded  without  ratio   goal"
row empty 1 3000 1.3
row empty 100 1000 1.1
row step 100 300 1.1
row loop 1 1000 1.1
