"""Run suites natively and under tools, compare test by test; ``tests`` is on PYTHONPATH.

::

    python -m suites cpython --interpreter python3.11 [test_signal ...]
    python -m suites perl --source perl-5.36.0 ['op/s.*'] --tools none,memcheck --trace-children
    python -m suites tcl --source tcl8.6.13

``--source`` is the unpacked source of the interpreter that is installed (``apt-get source perl``). Native
results are kept in ``--folder`` and reused. The exit code is 1 where a test ends otherwise than natively,
after ``--again`` further tries.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from .cpython import CPython
from .perl import Perl
from .suite import Statuses, Suite, Unit
from .tcl import Tcl


@dataclass
class Result:
    """One run of one unit."""

    status: int | None
    seconds: float
    tests: Statuses


def execute(suite: Suite, unit: Unit, tool: list[str], timeout: float, kept: Path) -> Result:
    """Run a unit in a session of its own; what it leaves behind is killed."""
    if unit.result is not None:
        unit.result.unlink(missing_ok=True)
    started = time.monotonic()
    with kept.open("wb") as output:
        process = subprocess.Popen(
            [*tool, *unit.command],
            cwd=unit.folder,
            env=unit.environ() | ({"PYTHONPATH": os.environ.get("PYTHONPATH", "")} if tool else {}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        status: int | None = None
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if status is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    seconds = time.monotonic() - started
    return Result(status, seconds, suite.statuses(unit, kept.read_text(errors="replace")))


def differences(native: Result, got: Result) -> list[str]:
    found = [] if got.status == native.status else [f"exit code {got.status}, natively {native.status}"]
    for name in sorted({*native.tests, *got.tests}):
        mine, theirs = got.tests.get(name, "missing"), native.tests.get(name, "missing")
        if mine != theirs:
            found.append(f"{name}: {mine}, natively {theirs}")
    return found


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m suites", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("suite", choices=["cpython", "perl", "tcl"])
    parser.add_argument("patterns", nargs="*", help="units: modules of CPython, patterns of file names")
    parser.add_argument("--interpreter", default="python3", help="the python that is tested")
    parser.add_argument("--source", type=Path, help="unpacked source of perl or Tcl")
    parser.add_argument("--tools", default="none", help="comma-separated: none, memcheck")
    parser.add_argument("--trace-children", action="store_true", help="the children too")
    parser.add_argument("--timeout", type=float, default=900, help="seconds of one unit")
    parser.add_argument("--folder", type=Path, help="results and outputs; default: a temporary one")
    parser.add_argument("--again", type=int, default=1, help="further tries of a unit that differs")
    parser.add_argument("--show", type=int, default=10, help="differences to print of one unit")
    args = parser.parse_intermixed_args()
    if args.suite != "cpython" and args.source is None:
        parser.error("--source is needed")
    return args


def chosen(args: argparse.Namespace) -> Suite:
    if args.suite == "cpython":
        return CPython(args.interpreter, args.patterns)
    return {"perl": Perl, "tcl": Tcl}[args.suite](args.source.resolve(), args.patterns)


def native_result(suite: Suite, unit: Unit, folder: Path, timeout: float) -> Result:
    kept = folder / f"{unit.name.replace('/', '-')}.json"
    if kept.exists():
        return Result(**json.loads(kept.read_text()))
    result = execute(suite, unit, [], timeout, kept.with_suffix(".native"))
    kept.write_text(json.dumps(asdict(result)))
    return result


def command(tool: str, trace_children: bool, folder: Path, unit: Unit) -> list[str]:
    logs = folder / f"{unit.name.replace('/', '-')}.{tool}.logs"
    logs.mkdir(exist_ok=True)
    for old in logs.iterdir():
        old.unlink()
    children = ["--trace-children=yes"] if trace_children else []
    return [sys.executable, "-m", "interpose", f"--tool={tool}", "-q", f"--log-file={logs}/%p", *children]


def main() -> int:
    args = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the unit that runs is ended
    folder = args.folder or Path(tempfile.mkdtemp(prefix="suites-"))
    folder = (folder / args.suite).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    suite = chosen(args)
    units = suite.units(folder)
    print(f"{len(units)} units, files in {folder}", flush=True)
    spent: dict[str, float] = {"native": 0.0}
    wrong = 0
    for unit in units:
        native = native_result(suite, unit, folder, args.timeout)
        spent["native"] += native.seconds
        for tool in args.tools.split(","):
            kept = folder / f"{unit.name.replace('/', '-')}.{tool}"
            for _ in range(1 + args.again):
                words = command(tool, args.trace_children, folder, unit)
                got = execute(suite, unit, words, args.timeout, kept)
                found = differences(native, got)
                if not found:
                    break
            spent[tool] = spent.get(tool, 0.0) + got.seconds
            wrong += bool(found)
            ratio = got.seconds / max(native.seconds, 0.001)
            counts = f"{len(native.tests)} tests, {native.seconds:.2f} s, {got.seconds:.2f} s, {ratio:.1f}x"
            print(f"{unit.name} {tool}: {counts}{', DIFFERS' if found else ''}", flush=True)
            for line in found[: args.show]:
                print(f"    {line}", flush=True)
    print("; ".join(f"{tool} {seconds:.1f} s" for tool, seconds in spent.items()), f"; {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
