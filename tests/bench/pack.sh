#!/bin/sh
# What the seven diagnostics cost a training, all on at their default `every`: instructions of
# a step of train_mlp by callgrind, without the library, with it and no callback, and with the
# seven; of steps 201 to 600, so that neither loading nor reading the images counts. The looks
# at the files go by the clock, which valgrind makes run about 50 times too fast for the steps:
# they are made 50 times rarer. Prints a table of ratios, and whether the weights are the same.
# Needs valgrind, zlib and Fashion-MNIST. HOTCB_BUILD names another place for the build.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
build=${HOTCB_BUILD:-$here/.build}/bench
mkdir -p "$build"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
HOTCB_DIR=$scratch/run
export HOTCB_DIR

cmake -S "$here" -B "$build/pack" -DCMAKE_BUILD_TYPE=Release -DHOTCB_TESTS=OFF \
    >"$build/pack.log" 2>&1 &&
    cmake --build "$build/pack" -j 2 >>"$build/pack.log" 2>&1 || { cat "$build/pack.log"; exit 1; }
hotcb=$build/pack/hotcb
train=$build/pack/train_mlp
# valgrind grows a stack only where it is touched, and delivers no signal beyond that.
cc -O0 -shared -fPIC "$here/tests/support/stack.c" -o "$build/stack.so"

seven() { # their budgets are the machine's own time, not valgrind's
    for pair in heartbeat:Heartbeat timing:Timing system_stats:SystemStats \
        tensor_stats:TensorStats grad_stats:GradStats anomaly_guard:AnomalyGuard \
        jsonl_logger:JSONLLogger; do
        "$hotcb" load "${pair%:*}" --module "hotcb.callbacks.${pair%:*}" \
            --symbol "${pair#*:}Callback" --enabled --limit time_ms=5000 >/dev/null
    done
}

count() { # STEPS WITH...: instructions of the whole run; its checksum goes to a file
    LD_PRELOAD=$build/stack.so valgrind --tool=callgrind --callgrind-out-file=/dev/null "$train" \
        --quiet --train 64000 --poll-ms 2500 --steps "$@" >"$scratch/out" 2>&1
    grep '^weights' "$scratch/out" >>"$scratch/weights.$1"
    sed -n 's/.*Collected : *//p' "$scratch/out"
}

per_step() { # WITH: none, empty, seven
    for steps in 200 600; do
        rm -rf "$HOTCB_DIR"
        "$hotcb" init >/dev/null 2>&1
        [ "$1" != seven ] || seven
        if [ "$1" = none ]; then
            count $steps --no-hotcb
        else
            count $steps --dir "$HOTCB_DIR"
        fi
    done | awk '{ n[NR] = $1 } END { printf "%.0f\n", (n[2] - n[1]) / 400 }'
}

none=$(per_step none)
empty=$(per_step empty)
all=$(per_step seven)
echo "what                     instructions/step   ratio   goal"
row() { # NAME INSTRUCTIONS GOAL
    awk -v name="$1" -v n="$2" -v none="$none" -v goal="$3" 'BEGIN {
        printf "%-24s %17.0f  %6.4f  %s\n", name, n, n / none,
            goal ? goal "  " (n / none <= goal ? "met" : "missed") : "" }'
}
row "no library" "$none" ""
row "no callback" "$empty" ""
row "all seven, at defaults" "$all" 1.01
weights="the same bits"
for steps in 200 600; do
    [ "$(sort -u "$scratch/weights.$steps" | wc -l)" = 1 ] || weights="DIFFERENT"
done
echo "weights of the three     $weights"
