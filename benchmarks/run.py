#!/usr/bin/env python3
"""Compare native, interpose and Valgrind on real programs: ``python3 benchmarks/run.py --help``.

Every round runs native, then each engine in turn, so that a ratio compares neighbours in time: the
machine's mood changes slower than a round.  Printed is the median of the rounds' ratios.  See
docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import hashlib
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from awake import Awake
from memory import Watch
from programs import (
    CORNERS,
    CPU,
    LONG,
    MEMORY,
    PROGRAMS,
    SOURCES,
    START,
    STDIN,
    THREADS,
    Program,
    UnavailableError,
    make,
)

PR_SET_CHILD_SUBREAPER = 36
TIME_LIMIT = 600.0
Key = tuple[str, str]


@dataclass(frozen=True)
class Engine:
    """What runs a program: its own name, and the words before the program's command."""

    name: str
    prefix: tuple[str, ...]


@dataclass(frozen=True)
class Sample:
    """One run: seconds, and megabytes.  Every process of it counts, the supervisor's too.

    ``memory`` is the peak, if it was asked for (looking takes time).
    """

    wall: float
    cpu: float
    memory: float
    digest: str
    code: int


THIS_TREES = (sys.executable, "-m", "interpose")
"""The command that is measured if none is given."""

UNITS = {"wall": ("ms", 1000), "cpu": ("ms", 1000), "memory": ("MB", 1)}
"""What can be compared: the unit in the table, and how many of it a sample's number is."""


def measure(
    engine: Engine, command: list[str], program: Program, folder: Path, *, watched: bool = False
) -> Sample:
    """Run a program once and wait for all its processes (we are their subreaper)."""
    if not watched:
        return _measure(engine, command, program, folder)
    with Watch() as watch:
        sample = _measure(engine, command, program, folder)
    return replace(sample, memory=watch.peak / 1e6)


def _measure(engine: Engine, command: list[str], program: Program, folder: Path) -> Sample:
    env = {**os.environ, **program.environment}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    if engine.prefix[: len(THIS_TREES)] == THIS_TREES:  # another command has a package of its own
        env["PYTHONPATH"] = str(SOURCES)
    out = folder / "stdout"
    (folder / "trace.out.d").mkdir(exist_ok=True)
    stdin = str(folder / STDIN) if program.stdin else os.devnull
    with open(stdin, "rb") as source, open(out, "wb") as sink, open(folder / "stderr", "wb") as errors:
        began = time.perf_counter()
        process = subprocess.Popen(
            [*engine.prefix, *command], stdin=source, stdout=sink, stderr=errors, cwd=folder, env=env
        )
        signal.setitimer(signal.ITIMER_REAL, TIME_LIMIT)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except TimeoutError:
            process.kill()
            _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        signal.setitimer(signal.ITIMER_REAL, 0)
        for trace in folder.glob("trace.out*"):
            shutil.rmtree(trace) if trace.is_dir() else trace.unlink()
        process.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    with contextlib.suppress(ChildProcessError):
        while True:
            _, _, usage = os.wait4(-1, 0)
            cpu += usage.ru_utime + usage.ru_stime
    return Sample(wall, cpu, 0.0, hashlib.sha256(out.read_bytes()).hexdigest(), process.returncode)


def _on_alarm(number: int, frame: object) -> None:
    raise TimeoutError


OUT = "--callgrind-out-file=/dev/null"
SIMULATE = ("--cache-sim=yes", "--branch-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64")
VARIANTS: dict[str, tuple[tuple[str, ...], tuple[str, ...] | None]] = {
    "none": (("--tool=none",), ("--tool=none",)),
    "memcheck": (("--tool=memcheck", "--track-origins=no"), ("--tool=memcheck",)),
    "memcheck-origins": (("--tool=memcheck",), ("--tool=memcheck", "--track-origins=yes")),
    "callgrind": (("--tool=callgrind", OUT), ("--tool=callgrind", OUT)),
    "callgrind-sim": (("--tool=callgrind", OUT, *SIMULATE), ("--tool=callgrind", OUT, *SIMULATE)),
    "datagrind": (("--tool=datagrind", "--datagrind-out-file=trace.out.dg"), None),
    "memtrace": (("--tool=memtrace", "--memtrace-dir=trace.out.d", "--memtrace-finish=no"), None),
}
"""What is measured: our options, and those of the peer if it has the like.  Traces go to disk."""


def engines(options: argparse.Namespace) -> list[Engine]:
    """The engines asked for, native first."""
    found = [Engine("native", ())]
    cache = "--cache=yes" if options.warm else "--cache=no"
    for tool in options.tools:
        ours, peers = VARIANTS[tool]
        found.append(Engine(f"interpose {tool}", (*options.interpose.split(), "-q", cache, *ours)))
        if options.valgrind and peers:
            found.append(Engine(f"valgrind {tool}", (options.valgrind, "-q", *peers)))
    return found


def ratios(samples: dict[Key, list[Sample]], program: str, above: str, below: str, what: str) -> list[float]:
    """One ratio a round."""
    pairs = zip(samples.get((program, above), ()), samples.get((program, below), ()), strict=False)
    return [getattr(a, what) / max(getattr(b, what), 1e-6) for a, b in pairs]


def geometric_mean(values: list[float]) -> float:
    """The mean of ratios."""
    return math.exp(statistics.fmean(map(math.log, values)))


class Table:
    """Collects samples and prints them as they come, program by program."""

    def __init__(self, found: list[Engine], what: str) -> None:
        self.engines = found
        self.what = what
        self.samples: dict[Key, list[Sample]] = {}
        self.bad: list[str] = []

    def header(self) -> None:
        """Column titles."""
        titles = "".join(f"{engine.name:>22}" for engine in self.engines[1:])
        print(f"{'':12}{'native ' + UNITS[self.what][0]:>11}{titles}", flush=True)

    def row(self, program: Program) -> None:
        """Medians of one program: milliseconds or megabytes, and times native."""
        own = self.samples[program.name, "native"]
        unit = UNITS[self.what][1]
        cells = f"{unit * statistics.median(getattr(s, self.what) for s in own):11.1f}"
        for engine in self.engines[1:]:
            runs = self.samples[program.name, engine.name]
            wrong = [s for s in runs if (s.digest, s.code) != (own[0].digest, own[0].code)]
            ratio = statistics.median(ratios(self.samples, program.name, engine.name, "native", self.what))
            value = unit * statistics.median(getattr(s, self.what) for s in runs)
            cells += f"{value:12.0f} ({ratio:6.2f}){'!' if wrong else ' '}"
            if wrong:
                self.bad.append(f"{engine.name} {program.name}: exit code {wrong[0].code} or other output")
        print(f"{program.name:12}{cells}", flush=True)

    def means(self, programs: list[Program]) -> None:
        """Geometric means over the programs of each kind, against native and against Valgrind."""
        names = {engine.name for engine in self.engines}
        kinds = ((CPU, "CPU-bound"), (START, "start-up"), (LONG, "ten seconds"), (MEMORY, "memory"))
        for kind, title in kinds:
            group = [p.name for p in programs if p.kind == kind and (p.name, "native") in self.samples]
            if not group:
                continue
            for engine in self.engines[1:]:
                baselines = ["native"]
                other = engine.name.replace("interpose", "valgrind")
                if other != engine.name and other in names:
                    baselines.append(other)
                for base in baselines:
                    mean = geometric_mean(
                        [
                            statistics.median(ratios(self.samples, p, engine.name, base, self.what))
                            for p in group
                        ]
                    )
                    print(f"{title}, {len(group)} programs: {engine.name} / {base}: {mean:.3f}")

    def scaling(self) -> None:
        """Two threads against one that does half the work: 1.0 is twice the speed."""
        for engine in self.engines:
            runs = [self.samples.get((f"threads-{n}", engine.name), ()) for n in (1, 2)]
            if all(runs):
                one, two = (min(sample.wall for sample in each) for each in runs)
                print(f"two threads / one thread, fastest runs: {engine.name}: {two / one:.3f}")


def parse(words: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [p.name for p in PROGRAMS]
    parser.add_argument(
        "--programs",
        help="comma-separated, or 'cpu', 'start', 'long', 'threads', 'memory', 'corners': "
        + ", ".join(names),
    )
    parser.add_argument(
        "--tools", default="none,memcheck", type=lambda s: s.split(","), help=",".join(VARIANTS)
    )
    parser.add_argument("--runs", type=int, default=3, help="rounds for each program (default 3)")
    parser.add_argument(
        "--what",
        choices=UNITS,
        default="wall",
        help="elapsed time, processor time, or memory at the peak",
    )
    parser.add_argument(
        "--interpose",
        default=" ".join(THIS_TREES),
        help="the command of interpose (default: this tree's)",
    )
    parser.add_argument(
        "--valgrind", default=shutil.which("valgrind"), help="the valgrind to compare with; '' for none"
    )
    parser.add_argument(
        "--awake", action="store_true", help="keep the CPUs from sleeping, on a host that wakes them late"
    )
    parser.add_argument(
        "--warm", action="store_true", help="second runs: with the cache, which a run before fills"
    )
    parser.add_argument("--json", metavar="FILE", help="write every sample as JSON")
    parser.add_argument("--keep", metavar="FOLDER", help="make the input data there and keep it")
    options = parser.parse_args(words)
    usual = [CPU, MEMORY] if options.what == "memory" else [CPU, START]
    wanted = options.programs.split(",") if options.programs else usual
    options.chosen = [p for p in PROGRAMS if p.name in wanted or p.kind in wanted]
    unknown = set(wanted) - {*names, CPU, START, LONG, THREADS, MEMORY, CORNERS}
    if strange := set(options.tools) - set(VARIANTS):
        parser.error(f"unknown tool {', '.join(sorted(strange))}")
    if unknown:
        parser.error(f"unknown program {', '.join(sorted(unknown))}")
    return options


def main(words: list[str]) -> int:
    """Measure and print; 1 if some output was not the native one."""
    options = parse(words)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGALRM, _on_alarm)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(SOURCES / "interpose")], check=False)
    table = Table(engines(options), options.what)
    with contextlib.ExitStack() as stack:
        if options.awake:
            stack.enter_context(Awake())
        folder = Path(
            options.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="interpose-bench-"))
        )
        folder.mkdir(exist_ok=True, parents=True)
        if options.warm:  # a cache of this command's own
            os.environ["XDG_CACHE_HOME"] = stack.enter_context(tempfile.TemporaryDirectory())
        table.header()
        for program in options.chosen:
            try:
                command = make(program, folder)
            except (UnavailableError, subprocess.CalledProcessError) as error:
                print(f"{program.name:12} left out: {error}")
                continue
            for engine in table.engines[1:] if options.warm else ():
                measure(engine, command, program, folder)
            for _ in range(options.runs):
                for engine in table.engines:
                    sample = measure(engine, command, program, folder, watched=options.what == "memory")
                    table.samples.setdefault((program.name, engine.name), []).append(sample)
            if options.what == "memory" and not table.samples[program.name, "native"][0].memory:
                print(f"{program.name:12} left out: it ends before anybody can look")
                del table.samples[program.name, "native"]
                continue
            table.row(program)
    table.means(options.chosen)
    table.scaling()
    if options.json:
        rows = [
            {"program": program, "engine": engine, **asdict(sample)}
            for (program, engine), runs in table.samples.items()
            for sample in runs
        ]
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    for line in table.bad:
        print(line, file=sys.stderr)
    return 1 if table.bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
