"""The peer's side of bench.lua: answers the name of an item, one a line, with the ns of
processor time that HotController.apply of hotcb 0.1.0 took in a turn of it. A + before the name
only makes it ready, an empty line is the end. What the peer would log goes nowhere."""
import os
import sys
import time

from hotcb.controller import HotController

TURN_NS = 1e6
NEVER = 1 << 40
EVENTS = ["train_step_end"]
CALLBACK = f"""class Every:
    def __init__(self, id, every={NEVER}):
        self.id, self.every = id, every

    def set_params(self, **kwargs):
        if "every" in kwargs:
            self.every = int(kwargs["every"])

    def handle(self, event, env):
        if env["step"] % self.every == 0:
            raise ValueError("due")
"""


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def quiet(_):
    pass


class Run:
    """A controller whose callbacks are named in hotcb.yaml, each of a file of its own."""

    def __init__(self, folder, callbacks, debounce=1, text=CALLBACK):
        os.mkdir(folder)
        self.folder, self.callbacks, self.mtime = folder, callbacks, 1_000_000_000
        self.env = {"framework": "torch", "phase": "train", "step": 0, "loss": 0.5, "log": quiet}
        for i in range(callbacks):
            self.put(f"c{i}.py", text)
        self.put("hotcb.commands.jsonl", "")
        self.put_config(0)
        self.controller = HotController(self.path("hotcb.yaml"), self.path("hotcb.commands.jsonl"),
                                        debounce_steps=debounce)
        self.apply(2 * debounce)

    def path(self, name):
        return os.path.join(self.folder, name)

    def put(self, name, text):
        """The peer sees only files that are newer by their time."""
        write(self.path(name), text)
        self.mtime += 1
        os.utime(self.path(name), (self.mtime, self.mtime))

    def put_config(self, changed):
        lines = ["callbacks:" if self.callbacks else "callbacks: {}"]
        for i in range(self.callbacks):
            lines.append(f"  c{i}: {{ target: {{ kind: python_file, path: {self.path(f'c{i}.py')}, "
                         f"symbol: Every }}{self.more(i, changed)} }}")
        self.put("hotcb.yaml", "\n".join(lines) + "\n")

    def more(self, i, changed):
        """Of what hotcb.yaml says of a callback."""
        return ""

    def apply(self, times):
        env, apply = self.env, self.controller.apply
        for _ in range(times):
            env["step"] += 1
            apply(env, EVENTS)


class Applies:
    """Turns of equal applies."""

    def __init__(self, folder, callbacks, debounce):
        self.run = Run(folder, callbacks, debounce)
        self.times = 0

    def timed(self, times):
        begin = time.thread_time_ns()
        self.run.apply(times)
        return (time.thread_time_ns() - begin) / times

    def turn(self):
        if not self.times:
            once = self.timed(20)
            self.times = 10 * (1 + int(TURN_NS / once / 10))
        self.run.apply(self.times // 80 * 10)
        return self.timed(self.times)


class Once:
    """Turns of one apply that finds something new."""
    callbacks, text, per = 1, CALLBACK, 1

    def __init__(self, folder):
        self.run = self.make(folder)
        self.turns = 0

    def make(self, folder):
        return Run(folder, self.callbacks, text=self.text)

    def turn(self):
        self.turns += 1
        self.change()
        begin = time.thread_time_ns()
        self.run.apply(1)
        took = time.thread_time_ns() - begin
        self.check()
        return took / self.per


class Commands(Once):
    per = 10000

    def change(self):
        with open(self.run.path("hotcb.commands.jsonl"), "a", encoding="utf-8") as f:
            for i in range(self.per):
                f.write('{"op":"set_params","id":"c0","params":{"every":%d},"cmd":"%d-%d",'
                        '"ts":1780000000.5}\n' % (NEVER + i, self.turns, i))

    def check(self):
        assert self.run.controller._handles["c0"].instance.every == NEVER + self.per - 1


class ConfigRun(Run):
    def more(self, i, changed):
        return f", params: {{ every: {NEVER + changed * (i == 0)} }}"


class Config(Once):
    def make(self, folder):
        return ConfigRun(folder, 1000)

    def change(self):
        self.run.put_config(self.turns)

    def check(self):
        assert self.run.controller._handles["c0"].instance.every == NEVER + self.turns


def long_callback(version):
    """100 lines."""
    lines = CALLBACK.rstrip("\n").split("\n") + ["", f"VERSION = {version}"]
    number = 0
    while len(lines) <= 95:
        number += 1
        lines += ["", f"def helper_{number}(x):", f"    y = x * {number} + 2",
                  f"    if y > {number}:", "        y = y - 3", "    return y"]
    return "\n".join(lines + ["# " + "-" * 70] * (100 - len(lines))) + "\n"


class Reload(Once):
    text = long_callback(0)

    def change(self):
        self.run.put("c0.py", long_callback(self.turns))

    def check(self):
        module = sys.modules[type(self.run.controller._handles["c0"].instance).__module__]
        assert module.VERSION == self.turns


ITEMS = {
    "looking idle": lambda folder: Applies(folder, 0, 1),
    "looking 1 every": lambda folder: Applies(folder, 1, 1),
    "looking 100 every": lambda folder: Applies(folder, 100, 1),
    "debounced idle": lambda folder: Applies(folder, 0, 5),
    "debounced 1 every": lambda folder: Applies(folder, 1, 5),
    "debounced 100 every": lambda folder: Applies(folder, 100, 5),
    "commands": Commands,
    "config 1000": Config,
    "reload": Reload,
}


def main():
    scratch, made = sys.argv[1], {}
    while line := sys.stdin.readline().strip():
        name, took = line.lstrip("+"), 0
        if name not in made:
            made[name] = ITEMS[name](os.path.join(scratch, str(len(made))))
        if not line.startswith("+"):
            took = made[name].turn()
        print(took, flush=True)


main()
