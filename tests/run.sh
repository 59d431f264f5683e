#!/bin/sh
# Installs what is missing, builds (normal, and with ASan and UBSan), runs every test
# that takes minutes. With --soak, the long ones too: twenty hostile runs, a thousand kills,
# a thousand callbacks, every fault under ASan, ten minutes of each fuzzer, valgrind; some
# hours. HOTCB_BUILD names another place for the builds than .build/ in the clone.
set -eu
cd "$(dirname "$0")/.."
. tests/support/packages.sh
here=$(pwd)
builds=${HOTCB_BUILD:-$here/.build}
soak=
for argument in "$@"; do
    case $argument in
    --soak) soak=1 ;;
    *) echo "usage: sh tests/run.sh [--soak]" >&2; exit 2 ;;
    esac
done

# shellcheck disable=SC2086 # a list of words
need_packages $build_packages libpng-dev g++ libcmocka-dev lua5.4 lua-busted zlib1g-dev \
    dataset-fashion-mnist libfann-dev libxgboost-dev strace procps file dpkg-dev mandoc \
    clang libclang-rt-14-dev locales ${soak:+valgrind}

build() { # NAME CMAKE-FLAG...
    name=$1
    shift
    echo "== $name: build"
    cmake -S "$here" -B "$builds/$name" -DHOTCB_TESTS=ON -DHOTCB_WERROR=ON "$@" >"$builds/$name.log" 2>&1 &&
        cmake --build "$builds/$name" -j 2 >>"$builds/$name.log" 2>&1 || {
        cat "$builds/$name.log"
        return 1
    }
}

build_and_test() { # NAME CMAKE-FLAG...
    build "$@"
    echo "== $1: test"
    (cd "$builds/$1" && ctest --output-on-failure --timeout 900)
    say_figures "$builds/$1/Testing/Temporary/LastTest.log"
}

# What some tests measure on the way, which ctest shows only where they fail.
say_figures() { # LOG
    sed -n -E '/^(hostile: |fuzz |crowd: |[0-9]+ points of )/p' "$1"
}

# Every C test again, each with all of its memory watched; budgets are 30 times larger.
valgrind_tests() {
    build valgrind -DCMAKE_BUILD_TYPE=Debug
    echo "== valgrind: test"
    for program in "$builds"/valgrind/tests/test_*; do
        (cd tests && LD_PRELOAD=$builds/valgrind/tests/libhotcb_test_stack.so \
            HOTCB_TEST_SLACK=30 valgrind --quiet --error-exitcode=9 --leak-check=full \
            --errors-for-leak-kinds=definite "$program" >"$builds/valgrind.out" 2>&1) || {
            echo "valgrind: ${program##*/} failed" && cat "$builds/valgrind.out" && return 1
        }
        echo "${program##*/}: clean"
    done
}

mkdir -p "$builds"
if [ -n "$soak" ]; then
    export HOTCB_KILLS=1000 HOTCB_HOSTILE_RUNS=20 HOTCB_SOAK=1 HOTCB_FAULTS=all \
        HOTCB_FUZZ_SECONDS=600 HOTCB_FUZZ_SEED=0
fi
build_and_test release -DCMAKE_BUILD_TYPE=Release
build_and_test asan -DCMAKE_BUILD_TYPE=Debug -DHOTCB_SANITIZE=address,undefined
[ -z "$soak" ] || valgrind_tests
