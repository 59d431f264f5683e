"""peer.py OURS.so: statistics of f32 arrays by the Python hotcb 0.1.0 (tensor_basic_stats, over
torch and over numpy) and by ours, in turn on the same arrays, on one thread. Prints a table of
ratios against their goals. Run by peer.sh, which has the environment made."""
import ctypes
import platform
import re
import statistics
import sys
import time

import numpy as np
from hotcb.callbacks.utils import tensor_basic_stats

try:
    import torch
except ImportError:
    torch = None

SIZES = {1000: 200, 100000: 60, 10000000: 11}  # elements: rounds, each a time of either side
GOALS = {("torch", 1000): 40, ("torch", 10000000): 100,
         ("numpy", 1000): 30, ("numpy", 10000000): 30}
ROUND_NS = 2e6  # what a round takes at least, by calls repeated
VECTORS = "avx avx2 fma f16c avx512f avx512bw avx512vl asimd sve"


class Ours:
    def __init__(self, path):
        lib = ctypes.CDLL(path)
        lib.peer_kernel.restype = ctypes.c_char_p
        self.kernel = lib.peer_kernel().decode()
        self.stats = lib.peer_stats
        self.stats.restype = None
        self.stats.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64,
                               ctypes.c_void_p, ctypes.c_void_p]
        self.out, self.counts = (ctypes.c_double * 5)(), (ctypes.c_int64 * 2)()

    def run(self, a, times):
        self.stats(a.ctypes.data, a.size, times, self.out, self.counts)

    def numbers(self, a):
        self.run(a, 1)
        return dict(zip(("min", "max", "mean", "std", "l2", "nan", "inf"),
                        [*self.out, *self.counts]))


def call_peer(x, times):
    for _ in range(times):
        tensor_basic_stats(x)


def ns_per_call(run, times):
    """Of processor time: on one thread it is what a quiet machine's clock would show."""
    begin = time.process_time_ns()
    run(times)
    return (time.process_time_ns() - begin) / times


def enough(run):
    """How many calls make a round."""
    run(1)
    return max(1, round(ROUND_NS / ns_per_call(run, 3)))


def measure(ours, theirs, rounds):
    """Medians of both, in ns: rounds in turn, so that both meet the same machine."""
    sides = [(ours, enough(ours), []), (theirs, enough(theirs), [])]
    for _ in range(rounds):
        for run, times, taken in sides:
            run(1)  # the other side's leavings go out of the caches
            taken.append(ns_per_call(run, times))
    return [statistics.median(taken) for _, _, taken in sides]


def exact(a):
    finite = a[np.isfinite(a)].astype(np.longdouble)
    return {"nan": np.isnan(a).sum(), "inf": np.isinf(a).sum(), "min": finite.min(),
            "max": finite.max(), "mean": finite.mean(), "std": finite.std(),
            "l2": np.sqrt((finite * finite).sum())}


def error(of, right):
    """The largest relative one of mean, std, l2; infinite if what must be exact is not."""
    if any(of[key] != right[key] for key in ("nan", "inf", "min", "max")):
        return float("inf")
    scales = {"mean": max(abs(right["mean"]), right["std"]), "std": right["std"],
              "l2": right["l2"]}
    return float(max(abs(of[key] - right[key]) / scale for key, scale in scales.items()))


def say_numbers(ours, peers, a, what=""):
    right = exact(a)
    mine = error(ours.numbers(a), right)
    theirs = [f"{name} {error(tensor_basic_stats(lend(a)), right):.1e}"
              for name, lend in peers.items()]
    print(f"{a.size:8}  error: ours {mine:.1e}, {', '.join(theirs)}{what}:",
          "met" if mine <= 1e-5 else "missed")


def arrays():
    random = np.random.default_rng(5)
    made = [random.standard_normal(n, dtype=np.float32) for n in SIZES]
    laden = random.standard_normal(100000, dtype=np.float32) + np.float32(3)
    laden[::1000], laden[7::5000], laden[11::7000] = np.nan, np.inf, -np.inf
    return made, laden


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            text = f.read()
    except OSError:
        return platform.processor() or platform.machine()
    fields = dict(re.findall(r"^(\w[\w ]*?)\s*: (.*)$", text, re.M))
    flags = fields.get("flags", fields.get("Features", "")).split()
    name = " ".join(fields.get(key, "?") for key in ("model name", "cpu family", "model"))
    return f"{name} (name, family, model), {' '.join(v for v in VECTORS.split() if v in flags)}"


def blas():
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return "kernels unknown"
    return ", ".join(f"{i['internal_api']} {i['version']} {i.get('architecture', 'unknown')}, "
                     f"{i['num_threads']} thread"
                     for i in threadpool_info() if i["user_api"] == "blas") or "kernels unknown"


def say_head(ours):
    print("processor:", processor())
    print(f"ours: {ours.kernel} kernels; Python {platform.python_version()}")
    if torch:
        torch.set_num_threads(1)
        capability = getattr(torch.backends.cpu, "get_cpu_capability", lambda: "kernels unknown")
        print(f"torch {torch.__version__}, {capability()}, {torch.get_num_threads()} thread")
    else:
        print("torch: not there; the peer looks for it again at each call, also over numpy")
    print(f"numpy {np.__version__}, {blas()}")


def say_times(ours, name, x, a):
    us, them = measure(lambda times: ours.run(a, times), lambda times: call_peer(x, times),
                       SIZES[a.size])
    goal = GOALS.get((name, a.size))
    verdict = f"{goal:4}  {'met' if them / us >= goal else 'missed'}" if goal else "   -"
    print(f"{a.size:8}  {name}  {us:9.0f}  {them:10.0f}  {them / us:6.1f}  {verdict}", flush=True)


def main():
    ours = Ours(sys.argv[1])
    say_head(ours)
    made, laden = arrays()
    peers = {"torch": torch.from_numpy} if torch else {}
    peers["numpy"] = lambda a: a
    print("The largest relative error of mean, std, l2 (goal: ours within 1e-5; counts, min and "
          "max exact):")
    for a in made:
        say_numbers(ours, peers, a)
    say_numbers(ours, peers, laden, ", some NaN and infinite")
    print(f"{'n':>8}  peer   {'ours ns':>9}  {'theirs ns':>10}  {'ratio':>6}  goal")
    for a in made:
        for name, lend in peers.items():
            say_times(ours, name, lend(a), a)


main()
