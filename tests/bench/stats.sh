#!/bin/sh
# How fast and how exact the statistics of tensors are: builds the library as it is shipped,
# runs stats.c and prints its tables of ratios against their goals. Takes some minutes and
# 400 MB. HOTCB_BUILD names another place for the build.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
build=${HOTCB_BUILD:-$here/.build}/bench
mkdir -p "$build"

cmake -S "$here" -B "$build/on" -DCMAKE_BUILD_TYPE=Release -DHOTCB_EXAMPLES=OFF \
    -DHOTCB_TOOL=OFF -DHOTCB_SHARED=OFF -DHOTCB_TESTS=OFF >"$build/on.log" 2>&1 &&
    cmake --build "$build/on" -j 2 >>"$build/on.log" 2>&1 || { cat "$build/on.log"; exit 1; }
cc -O3 -D_GNU_SOURCE -I"$here/src" "$here/tests/bench/stats.c" -o "$build/stats" \
    "$build/on/src/libhotcb.a" -lm
"$build/stats"
