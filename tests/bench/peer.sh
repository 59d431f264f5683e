#!/bin/sh
# Our statistics beside those of the Python hotcb 0.1.0, over torch and over numpy: peer.py
# says how. What it needs is installed in a virtual environment in the build's folder, once:
# about 0.8 GB. HOTCB_BUILD names another place for it; HOTCB_TORCH another torch for pip than
# this CPU build, which no plain index has (where plain "torch" is one: HOTCB_TORCH=torch);
# HOTCB_PYTHON a Python that may have torch or numpy already, as Debian's with python3-torch.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
build=${HOTCB_BUILD:-$here/.build}/bench
python=${HOTCB_PYTHON:-python3}
torch=${HOTCB_TORCH:-torch==2.13.0+cpu}
venv=$build/peer
mkdir -p "$build"

give_up() {
    echo "peer.sh: $1; nothing was compared."
    exit 0
}

has() { # MODULE
    "$venv/bin/python" -I -c "import $1" 2>/dev/null
}

install() { # REQUIREMENT [OPTION]
    "$venv/bin/python" -m pip install -q "$@" >>"$build/peer.log" 2>&1 ||
        { echo "peer.sh: pip cannot install $1 ($build/peer.log)."; return 1; }
}

library() {
    cmake -S "$here" -B "$build/on" -DCMAKE_BUILD_TYPE=Release -DHOTCB_EXAMPLES=OFF \
        -DHOTCB_TOOL=OFF -DHOTCB_SHARED=OFF -DHOTCB_TESTS=OFF &&
        cmake --build "$build/on" -j 2
}

[ -x "$venv/bin/python" ] || "$python" -m venv --system-site-packages "$venv" \
    >>"$build/peer.log" 2>&1 || give_up "$python makes no virtual environment ($build/peer.log)"
install hotcb==0.1.0 --no-deps || give_up "there is no peer"
has numpy || install numpy || give_up "there is no numpy"
has torch || install "$torch" || true
has threadpoolctl || install threadpoolctl || true

library >"$build/on.log" 2>&1 || { cat "$build/on.log"; exit 1; }
cc -O2 -shared -fPIC -I"$here/src" "$here/tests/bench/peer.c" -o "$build/peer.so" \
    "$build/on/src/libhotcb.a" -lm

# One thread for all; and numpy's own choice of kernels.
env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
    MKL_NUM_THREADS=1 "$venv/bin/python" -I "$here/tests/bench/peer.py" "$build/peer.so"
