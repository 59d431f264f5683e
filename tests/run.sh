#!/bin/sh
# Installs what is missing, builds (normal, and with ASan and UBSan), runs every test
# that takes minutes. With --soak, the long ones too. HOTCB_BUILD names another place
# for the builds than .build/ in the clone.
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
need_packages $build_packages g++ libcmocka-dev lua5.4 lua-busted zlib1g-dev \
    dataset-fashion-mnist libfann-dev libxgboost-dev strace procps file dpkg-dev mandoc

build_and_test() { # NAME CMAKE-FLAG...
    name=$1
    shift
    echo "== $name: build"
    cmake -S "$here" -B "$builds/$name" -DHOTCB_TESTS=ON -DHOTCB_WERROR=ON "$@" >"$builds/$name.log" 2>&1 &&
        cmake --build "$builds/$name" -j 2 >>"$builds/$name.log" 2>&1 || {
        cat "$builds/$name.log"
        return 1
    }
    echo "== $name: test"
    (cd "$builds/$name" && ctest --output-on-failure --timeout 900)
}

mkdir -p "$builds"
if [ -n "$soak" ]; then
    export HOTCB_KILLS=1000
fi
build_and_test release -DCMAKE_BUILD_TYPE=Release
build_and_test asan -DCMAKE_BUILD_TYPE=Debug -DHOTCB_SANITIZE=address,undefined
