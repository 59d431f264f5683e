#!/bin/sh
# run.sh [--built] NAME [SECONDS]: builds the fuzz targets with clang, unless they are said
# to be built, and runs targets/NAME.c for so long (HOTCB_FUZZ_SECONDS, or 20) on what is
# in seeds/NAME, with the words of NAME.dict. Prints one line; a finding fails, and the
# file named is an input that shows it: give it to the program in the build folder to see
# it again.
# HOTCB_FUZZ_SEED is where chance begins (default 1; 0: elsewhere each time).
# run.sh --build only builds. HOTCB_FUZZ_BUILD is the build folder (default .build/fuzz
# in the clone); HOTCB_FUZZ_CORPUS a folder where inputs that led somewhere new are kept.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${HOTCB_FUZZ_BUILD:-$here/../../.build/fuzz}
built=
[ "${1:-}" != --built ] || { built=1; shift; }
name=${1:?usage: run.sh [--built] NAME [SECONDS], or --build}
seconds=${2:-${HOTCB_FUZZ_SECONDS:-20}}

build_targets() {
    mkdir -p "$build"
    { cmake -S "$here/targets" -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_C_COMPILER="${CLANG:-clang}" &&
        cmake --build "$build" -j 2; } >"$build/build.log" 2>&1 || {
        cat "$build/build.log"
        exit 1
    }
}

# How long an input may be, in bytes.
longest() {
    case $1 in
    pairs) echo 512 ;;
    yaml) echo 2048 ;;
    *) echo 4096 ;;
    esac
}

last_number() { # WORD: the number after its last place in the log
    sed -n "s/.*$1[: ]*\([0-9][0-9]*\).*/\1/p" "$log" | tail -n 1
}

[ -n "$built" ] || build_targets
[ "$name" != --build ] || exit 0

# What the targets write, they write into memory where there is a place for that.
base=/dev/shm
[ -w "$base" ] || base=${TMPDIR:-/tmp}
scratch=$(mktemp -d "$base/hotcb-fuzz-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
corpus=${HOTCB_FUZZ_CORPUS:-$scratch/corpus}/$name
findings=$build/findings
log=$build/$name.log
mkdir -p "$corpus" "$findings" "$scratch/tmp"

code=0
cd "$scratch"
export ASAN_OPTIONS="malloc_context_size=5:${ASAN_OPTIONS:-}"
TMPDIR=$scratch/tmp "$build/$name" -seed="${HOTCB_FUZZ_SEED:-1}" \
    -max_total_time="$seconds" -max_len="$(longest "$name")" \
    -timeout=25 -rss_limit_mb=2048 -dict="$here/$name.dict" -print_final_stats=1 \
    -artifact_prefix="$findings/$name-" "$corpus" "$here/seeds/$name" >"$log" 2>&1 || code=$?

[ "$code" = 0 ] && found=0 || found=1
echo "fuzz $name: $(last_number stat::number_of_executed_units) executions in $seconds s," \
    "coverage $(last_number ' cov')," "features $(last_number ' ft'), findings $found"
[ "$code" = 0 ] && exit 0
tail -n 60 "$log"
sed -n 's/.*Test unit written to //p' "$log"
exit 1
