#!/bin/sh
# run.sh ROUTE: builds the consumer by one way of getting at hotcb, in each language, and
# steers each program with the tool; or checks one thing about the library as it is
# shipped. ctest sets HOTCB_SOURCE, HOTCB_BUILD (a finished release build), HOTCB_PNG (ON
# or OFF, as that was built) and HOTCB_SCRATCH. The routes are the functions route_* below.
set -eu
here=$HOTCB_SOURCE/tests/consumer
prefix=$HOTCB_SCRATCH/prefix
deb=$HOTCB_SCRATCH/deb
languages='c99 c11 c++17'
: "${CC:=cc}" "${CXX:=c++}"
# Nothing of the surroundings may help.
unset PKG_CONFIG_PATH CMAKE_PREFIX_PATH LD_LIBRARY_PATH HOTCB_DIR

fail() {
    echo "failed: $*" >&2
    exit 1
}

log=$HOTCB_SCRATCH/$1.log
quietly() { # COMMAND...
    "$@" >"$log" 2>&1 || {
        cat "$log"
        fail "$@"
    }
}

needed() { # FILE: the shared libraries that it asks for
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

# Does it have hotcb as it should, and what hotcb is made of only then?
check_linked() { # PROGRAM shared|static
    libraries=$(needed "$1")
    case "$2 $libraries" in
    shared*libhotcb.so.0*) ;;
    static*libhotcb.so*) fail "$1 was to have hotcb inside, and asks for libhotcb.so" ;;
    static*libcjson.so*) return 0 ;;
    *) fail "$1 was to be $2, and asks for: $libraries" ;;
    esac
    case $libraries in *libcjson* | *liblua* | *libyaml* | *libpng*)
        fail "$1 asks for what is the library's own affair: $libraries" ;;
    esac
}

# An answer of the tool has to begin with these words.
expect() { # WORDS COMMAND...
    words=$1
    shift
    answer=$("$@" 2>&1) || fail "$* said: $answer"
    case $answer in "$words"*) ;; *) fail "$* said: $answer" ;; esac
}

# Loads a callback into the running program, turns a parameter of it, and sees it stop.
steer() { # PROGRAM TOOL
    run=$1.run # beside the program: routes may run side by side
    rm -rf "$run"
    mkdir "$run"
    cat >"$run/stopper.lua" <<'LUA'
return {
  params = { { "now", false } },
  handle = function(self) if self.now then hotcb.stop("asked by " .. self.id) end end,
}
LUA
    "$1" "$run" >"$run/out" 2>&1 &
    consumer=$!
    trap 'kill "$consumer" 2>/dev/null || true' EXIT
    until grep -qs '^open' "$run/out"; do
        kill -0 "$consumer" 2>/dev/null || fail "$1 said: $(cat "$run/out")"
        sleep 0.1
    done
    expect 'load x: applied at step ' "$2" --dir "$run" load x --file "$run/stopper.lua" --enabled
    expect 'set x now=true: applied at step ' "$2" --dir "$run" set x now=true
    wait "$consumer" || fail "$1 said: $(cat "$run/out")"
    trap - EXIT
    [ "$(tail -n 1 "$run/out")" = 'asked by x' ] || fail "$1 said: $(cat "$run/out")"
}

with_cmake() { # NAME shared|static TOOL CMAKE-FLAG...
    build=$HOTCB_SCRATCH/$1 kind=$2 tool=$3
    shift 3
    quietly cmake -S "$here" -B "$build" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" "$@"
    quietly cmake --build "$build" -j 2
    for language in $languages; do
        check_linked "$build/consumer-$language" "$kind"
        steer "$build/consumer-$language" "$tool"
    done
}

with_pkg_config() { # NAME shared|static PREFIX [SYSROOT]
    build=$HOTCB_SCRATCH/$1
    PKG_CONFIG_PATH=$(dirname "$(find "$3" -name hotcb.pc)")
    LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
    PKG_CONFIG_SYSROOT_DIR=${4-}
    export PKG_CONFIG_PATH LD_LIBRARY_PATH PKG_CONFIG_SYSROOT_DIR
    cflags=$(pkg-config --cflags hotcb)
    libs=$(pkg-config --libs hotcb)
    [ "$(pkg-config --libs-only-l hotcb | tr -d ' ')" = -lhotcb ] ||
        fail "pkg-config --libs says: $libs"
    # The linker takes a shared library before an archive, unless the archive is named.
    [ "$2" = shared ] || libs=$(pkg-config --static --libs hotcb | sed 's/-lhotcb/-l:libhotcb.a/')
    mkdir -p "$build"
    for language in $languages; do
        case $language in c++*) compiler="$CXX -x c++" ;; *) compiler="$CC -x c" ;; esac
        # shellcheck disable=SC2086 # lists of words
        quietly $compiler -std="$language" -pedantic-errors -Wall -Wextra -Werror $cflags \
            "$here/main.c" -x none -o "$build/consumer-$language" $libs
        check_linked "$build/consumer-$language" "$2"
        steer "$build/consumer-$language" "$3/bin/hotcb"
    done
}

route_install() {
    rm -rf "$prefix"
    quietly cmake --install "$HOTCB_BUILD" --prefix "$prefix"
}

# Who links with the shared library needs none of what it is made of, pkg-config included.
route_cmake_shared() {
    export PKG_CONFIG_LIBDIR=/nowhere
    with_cmake cmake-shared shared "$prefix/bin/hotcb" -DCMAKE_PREFIX_PATH="$prefix"
}

# By choice, and where nothing else is installed.
route_cmake_static() {
    with_cmake cmake-static static "$prefix/bin/hotcb" -DCMAKE_PREFIX_PATH="$prefix" \
        -DHOTCB_USE_STATIC=ON
    alone=$HOTCB_SCRATCH/prefix-static
    rm -rf "$alone"
    cp -R "$prefix" "$alone"
    find "$alone" -name 'libhotcb.so*' -exec rm {} + -o -name 'hotcb-shared*' -exec rm {} +
    with_cmake cmake-static-alone static "$alone/bin/hotcb" -DCMAKE_PREFIX_PATH="$alone"
}

route_pkg_config_shared() { with_pkg_config pkg-config-shared shared "$prefix"; }
route_pkg_config_static() { with_pkg_config pkg-config-static static "$prefix"; }

route_add_subdirectory() {
    tool=$HOTCB_SCRATCH/add-subdirectory/hotcb/hotcb
    with_cmake add-subdirectory shared "$tool" -DHOTCB_SOURCE="$HOTCB_SOURCE" \
        -DHOTCB_USE_STATIC=OFF
    # Warnings that are errors to the other project are none of hotcb's.
    with_cmake add-subdirectory static "$tool" -DHOTCB_USE_STATIC=ON \
        -DCMAKE_C_FLAGS='-Werror -Wfloat-equal'
}

elsewhere=$HOTCB_SCRATCH/elsewhere/by/a/longer/name

build_library() { # SOURCE BUILD CMAKE-FLAG...
    source=$1 build=$2
    shift 2
    quietly cmake -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$CC" \
        -DHOTCB_EXAMPLES=OFF -DHOTCB_PNG="$HOTCB_PNG" "$@"
    quietly cmake --build "$build" -j 2
}

same_bytes() { # BUILD BUILD
    for file in libhotcb.so libhotcb.a; do
        one=$(sha256sum <"$1/src/$file") other=$(sha256sum <"$2/src/$file")
        [ "$one" = "$other" ] || fail "$file differs from one directory to another: $one $other"
    done
}

# Other directories, the same bytes; also with what likes to name them, asserts and
# debugging information. The first build is made as for Debian, for the package below.
route_reproducible() {
    rm -rf "$elsewhere"
    mkdir -p "$elsewhere"
    (cd "$HOTCB_SOURCE" && cp -R CMakeLists.txt LICENSE README.md src lua callbacks "$elsewhere")
    build_library "$elsewhere" "$elsewhere/build" -DCMAKE_INSTALL_PREFIX=/usr
    same_bytes "$HOTCB_BUILD" "$elsewhere/build"
    set -- -DCMAKE_C_FLAGS_RELEASE='-O1 -g' -DHOTCB_TOOL=OFF
    build_library "$HOTCB_SOURCE" "$HOTCB_SCRATCH/talkative" "$@"
    build_library "$elsewhere" "$elsewhere/talkative" "$@"
    same_bytes "$HOTCB_SCRATCH/talkative" "$elsewhere/talkative"
}

# The package is laid out, not installed, so that no rights are needed for this.
route_deb() {
    rm -rf "$deb"
    (cd "$elsewhere/build" && quietly cpack -G DEB -B "$deb")
    package=$(echo "$deb"/hotcb_*.deb)
    depends=$(dpkg-deb -f "$package" Depends)
    pictures=
    [ "$HOTCB_PNG" = OFF ] || pictures='libpng16-16 libpng-dev'
    # shellcheck disable=SC2086 # a list of words
    for name in libc6 libcjson1 liblua5.4-0 libyaml-0-2 libcjson-dev liblua5.4-dev libyaml-dev \
        $pictures; do
        case ", $depends," in *", $name,"* | *", $name ("*) ;; *)
            fail "$name is not in the package's Depends: $depends" ;;
        esac
    done
    case "$HOTCB_PNG$depends" in OFF*libpng*) fail "libpng is in Depends: $depends" ;; esac
    dpkg -x "$package" "$deb/root"
    with_pkg_config deb-pkg-config shared "$deb/root/usr" "$deb/root"
    with_pkg_config deb-pkg-config-static static "$deb/root/usr" "$deb/root"
    unset PKG_CONFIG_PATH LD_LIBRARY_PATH PKG_CONFIG_SYSROOT_DIR
    with_cmake deb-cmake shared "$deb/root/usr/bin/hotcb" -DCMAKE_PREFIX_PATH="$deb/root/usr"
}

# What the shared library offers is what the header says, and nothing besides.
route_symbols() {
    nm -D --defined-only "$HOTCB_BUILD/src/libhotcb.so" | awk '{ print $3 }' | sort >"$log"
    sed -n 's/^HOTCB_API .*[ *]\(hotcb_[a-z0-9_]*\)(.*/\1/p' \
        "$HOTCB_SOURCE/src/include/hotcb/hotcb.h" | sort >"$log.header"
    [ -s "$log.header" ] || fail "no function found in hotcb.h"
    diff "$log.header" "$log" || fail "the library (>) and hotcb.h (<) differ"
    readelf -d "$HOTCB_BUILD/src/libhotcb.so" | grep -q 'SONAME.*\[libhotcb.so.0\]' ||
        fail "the soname is not libhotcb.so.0"
}

# With nothing beyond POSIX, as elsewhere than on Linux.
route_portable() {
    build=$HOTCB_SCRATCH/portable
    quietly cmake -S "$HOTCB_SOURCE" -B "$build" -DCMAKE_BUILD_TYPE=Release -DHOTCB_PORTABLE=ON \
        -DCMAKE_C_COMPILER="$CC" -DHOTCB_WERROR=ON -DHOTCB_TESTS=ON -DHOTCB_PNG="$HOTCB_PNG"
    quietly cmake --build "$build" -j 2
    (cd "$build" && quietly ctest -R '^c/' --output-on-failure --no-tests=error)
}

mkdir -p "$HOTCB_SCRATCH"
"route_$(echo "$1" | tr - _)"
