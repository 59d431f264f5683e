#!/bin/sh
# The demo: a real model trains, and callbacks are loaded, tuned, edited, broken, mended
# and removed under it, as from another terminal. Takes about a minute and ends by
# itself; exit 0 means that everything it claims was seen. HOTCB_BUILD names another
# place for the build than .build/ in the clone.
set -eu
cd "$(dirname "$0")/.."
. tests/support/packages.sh
source=$(pwd)
builds=${HOTCB_BUILD:-$source/.build}
# shellcheck disable=SC2086 # a list of words
need_packages $build_packages zlib1g-dev libpng-dev dataset-fashion-mnist

mkdir -p "$builds"
echo "building (the log is $builds/demo.log) ..."
cmake -S . -B "$builds/demo" -DCMAKE_BUILD_TYPE=Release >"$builds/demo.log" 2>&1 &&
    cmake --build "$builds/demo" -j 2 >>"$builds/demo.log" 2>&1 || {
    tail -30 "$builds/demo.log"
    exit 1
}
PATH=$builds/demo:$PATH
demo=$builds/demo-run
rm -rf "$demo"
mkdir -p "$demo"
cd "$demo"
HOTCB_DIR=runs/exp1
export HOTCB_DIR PATH

bold='' dim='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
    bold=$(printf '\033[1m') dim=$(printf '\033[2m') plain=$(printf '\033[0m')
fi
trainer=
trap '[ -z "$trainer" ] || kill "$trainer" 2>/dev/null || true' EXIT

# A new scene, after a moment to read the one before.
say() {
    sleep "${HOTCB_DEMO_PAUSE:-3}"
    printf '\n%s# %s%s\n' "$dim" "$*" "$plain"
}

# Prints a command as it would be typed, runs it, and checks its exit code.
expect() { # CODE COMMAND...
    wanted=$1
    shift
    printf '%s$' "$bold"
    for word in "$@"; do
        case $word in *[\ \'\"]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '%s\n' "$plain"
    code=0
    "$@" 2>&1 || code=$?
    [ "$code" = "$wanted" ] || fail "that should have ended with exit code $wanted, not $code"
}
run() { expect 0 "$@"; }

fail() {
    printf '\nTHE DEMO FAILED: %s\n' "$*"
    exit 1
}

# Waits until the training has printed a line that matches; shows the newest such line.
await() { # PATTERN
    tries=0
    until grep -q -- "$1" train.out; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || { tail -20 train.out; fail "never seen in the training's output: $1"; }
        kill -0 "$trainer" 2>/dev/null || { tail -20 train.out; fail "the training ended too early"; }
        sleep 0.1
    done
    printf '   %straining:%s %s\n' "$dim" "$plain" "$(grep -- "$1" train.out | tail -1)"
}

say "a run directory, and a training in it: Fashion-MNIST, a perceptron, slowed down a little"
run hotcb init
printf '%s$ train_mlp --dir %s --sleep-ms 5 > train.out &%s\n' "$bold" "$HOTCB_DIR" "$plain"
train_mlp --dir "$HOTCB_DIR" --sleep-ms 5 --epochs 1000 >train.out 2>&1 &
trainer=$!
tries=0
until hotcb status --json 2>/dev/null | grep -q '"live": true'; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || fail "the training did not open its run directory"
    sleep 0.1
done

say "from here on this is the other terminal. Is it alive?"
run hotcb load heartbeat --module hotcb.callbacks.heartbeat --enabled --init every=200
await '\[hotcb:heartbeat\] alive'

say "more often, in other words"
run hotcb set heartbeat every=100 message='still learning'
await 'still learning'

say "something looks odd: a diagnostic of my own, written now"
cat >loss_watch.lua <<'LUA'
local LossWatch = {
  name = "LossWatch",
  params = { { "every", 100, min = 1, unit = "steps", help = "say something each so many steps" },
             { "decay", 0.98, min = 0, max = 1 } },
  events = { "train_step_end" },
}
function LossWatch:handle(event, env)
  self.seen = (self.seen or 0) + 1
  self.mean = self.mean and self.mean * self.decay + env.loss * (1 - self.decay) or env.loss
  if env.step % self.every == 0 then
    env.log("[%s] v1 step=%d loss=%.3f mean=%.3f seen=%d", self.id, env.step, env.loss, self.mean, self.seen)
  end
end
function LossWatch:save() return { mean = self.mean, seen = self.seen } end
function LossWatch:restore(old) self.mean, self.seen = old.mean, old.seen end
return LossWatch
LUA
run cat loss_watch.lua
run hotcb load loss_watch --file loss_watch.lua --enabled
await '\[loss_watch\] v1'

say "an edit: saved, and live at the next look, with its mean and count kept"
run sed -i 's/v1 step=/v2 step=/' loss_watch.lua
await '\[loss_watch\] v2'
seen=$(grep '\[loss_watch\] v2' train.out | head -1 | sed 's/.*seen=//')
[ "$seen" -gt 100 ] || fail "the edit lost the script's state (seen=$seen)"

say "an edit that is broken: the version that runs goes on, the error is shown"
run sed -i 's/if env.step/if if env.step/' loss_watch.lua
await 'loss_watch.lua:10: unexpected symbol'
lines=$(grep -c '\[loss_watch\] v2' train.out)
run hotcb status
tries=0
while [ "$(grep -c '\[loss_watch\] v2' train.out)" -le "$lines" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || fail "the old version did not go on"
    sleep 0.1
done
echo "   training: $(grep '\[loss_watch\] v2' train.out | tail -1)"

say "mended: it reloads by itself"
run sed -i -e 's/if if env.step/if env.step/' -e 's/v2 step=/v3 step=/' loss_watch.lua
await '\[loss_watch\] v3'

say "a value that cannot be: refused, with the reason, and nothing has changed"
expect 1 hotcb set loss_watch decay=1.5
expect 1 hotcb set loss_watch evry=10

say "diagnostics that come with it: gradients and weights of this very loop"
run hotcb load grad_stats --module hotcb.callbacks.grad_stats --symbol GradStatsCallback --enabled --init every=100
await '\[hotcb:grad_stats\] grad'
run hotcb set grad_stats per_param=true
await '\[hotcb:grad_stats\] grad layers.0.weight'

say "pictures of what it has learnt, and of what it gets most wrong"
cp "$source/examples/callbacks/feat_viz.lua" feat_viz.lua
run hotcb load feat_viz --file feat_viz.lua --symbol FeatureVizCallback --enabled --init every=100 out_dir=debug/features
await '\[feat_viz\]'
pictures=$(find runs/exp1/artifacts/feat_viz -name '*-[0-9]*' | sort)
[ -n "$pictures" ] || fail "no picture was written"
echo "$pictures" | tail -2

say "enough seen"
run hotcb unload feat_viz
run hotcb disable grad_stats
run hotcb disable heartbeat
run hotcb unload loss_watch
run hotcb status

say "the training ends when it is told to, like any other (Ctrl-C)"
kill -INT "$trainer"
code=0
wait "$trainer" || code=$?
trainer=
[ "$code" = 0 ] || { tail -20 train.out; fail "the training ended with exit code $code"; }
grep '^epoch' train.out | tail -3
tail -2 train.out
run hotcb status

say "another training, in whose gradients a NaN will appear at step 300; a guard is sent ahead"
HOTCB_DIR=runs/exp2
run hotcb init
run hotcb load guard --module hotcb.callbacks.anomaly_guard --symbol AnomalyGuardCallback --enabled --init every=1 paths=loss,grads raise_on_trigger=true
code=0
printf '%s$ train_mlp --dir %s --nan-at 300 --nan-in gradients%s\n' "$bold" "$HOTCB_DIR" "$plain"
train_mlp --dir "$HOTCB_DIR" --nan-at 300 --nan-in gradients >nan.out 2>&1 || code=$?
tail -4 nan.out
grep -q '^stopped at step 300: .*grads.layers.1.weight' nan.out || fail "the guard did not stop it at step 300"
[ "$code" = 0 ] || fail "the guarded training ended with exit code $code"
run hotcb status

applied=$(grep -c '"decision":"applied"' runs/exp1/hotcb.applied.jsonl)
refused=$(grep -c '"decision":"rejected"' runs/exp1/hotcb.applied.jsonl)
printf '\n%sWhat was seen:%s\n' "$bold" "$plain"
echo " - a model trained without a pause while $applied changes were made to what watches it, each answered with its step"
echo " - an edit went live with its state kept (its first line counts $seen steps seen, most of them by the version before)"
echo " - a NaN that appeared in a gradient stopped its training at that step, before it reached the weights"
echo " - $refused mistakes were refused with a reason, and none of them touched what was running"
