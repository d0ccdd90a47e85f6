"""Runs guests under callgrind, ours and the installed Valgrind's, and sums profiles up by function."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from interpose.formats import callgrind

ROOT = Path(__file__).resolve().parents[3]
GUESTS = ROOT / "tests" / "guests" / "callgrind"
HEADERS = ROOT / "interpose" / "include"
VALGRIND = shutil.which("valgrind")


def build(folder: Path, name: str, *flags: str) -> Path:
    """A guest, by the name of its source; one without a C library unless flags say otherwise."""
    program = folder / Path(name).stem
    flags = flags or ("-nostdlib", "-static")
    compiler = "g++" if name.endswith(".cc") else "gcc"
    command = [compiler, "-g", "-O1", f"-I{ROOT / 'include'}", "-o", program, GUESTS / name, *flags]
    subprocess.run(command, check=True, capture_output=True)
    return program


@dataclass
class Sums:
    """Costs by function, and calls, by names."""

    events: tuple[str, ...] = ()
    own: dict[str, tuple[int, ...]] = field(default_factory=dict)
    calls: dict[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)
    """By caller and callee: number and inclusive costs."""
    parts: list[callgrind.Part] = field(default_factory=list)

    @property
    def ir(self) -> dict[str, int]:
        """Instructions of each function itself."""
        return {name: costs[0] for name, costs in self.own.items()}

    @property
    def called(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Number of calls, and instructions of the callee with what it calls."""
        return {pair: (row[0], row[1]) for pair, row in self.calls.items()}


def add_up(parts: list[callgrind.Part]) -> Sums:
    """Sum parts up."""
    events = parts[0].events
    own: dict[str, list[int]] = defaultdict(lambda: [0] * len(events))
    calls: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * (len(events) + 1))

    def add(into: list[int], values: tuple[int, ...]) -> None:
        for place, value in enumerate(values):
            into[place] += value

    for part in parts:
        for record in part.records:
            if isinstance(record, callgrind.Cost):
                add(own[record.function.name], record.costs)
            elif isinstance(record, callgrind.Call):
                add(calls[record.function.name, record.callee.name], (record.calls, *record.costs))
    return Sums(
        events,
        {name: tuple(costs) for name, costs in own.items()},
        {pair: tuple(row) for pair, row in calls.items()},
        parts,
    )


def read(path: Path) -> Sums:
    """A profile's sums."""
    return add_up(callgrind.read(path).parts)


def run(
    folder: Path, program: Path | str, *options: str, args: tuple[str, ...] = (), name: str = "out"
) -> subprocess.CompletedProcess[str]:
    """Run a program under our callgrind; the profile is ``folder/name``."""
    command = [sys.executable, "-m", "interpose", "--tool=callgrind"]
    command += [f"--callgrind-out-file={folder / name}", *options, str(program), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder, check=False)


def profile(folder: Path, program: Path | str, *options: str, args: tuple[str, ...] = ()) -> Sums:
    """The sums of a run that ends well."""
    done = run(folder, program, *options, args=args)
    assert done.returncode == 0, done.stderr
    return read(folder / "out")


def unbalanced(sums: Sums, names: set[str]) -> dict[str, tuple[int, int]]:
    """Functions whose calls cost something else than the function with all that it calls: both sums."""
    found = {}
    for name, (own, *_) in sums.own.items():
        into = sum(cost for (_, callee), (_, cost) in sums.called.items() if callee == name)
        out = sum(cost for (caller, _), (_, cost) in sums.called.items() if caller == name)
        if name.split("'")[0] in names and into != own + out:
            found[name] = (into, own + out)
    return found


def among(sums: Sums, names: set[str]) -> dict[tuple[str, str], int]:
    """How often these functions call each other."""
    return {
        pair: count
        for pair, (count, _) in sums.called.items()
        if all(name.split("'")[0] in names for name in pair)
    }


def valgrind(folder: Path, program: Path | str, *options: str, args: tuple[str, ...] = ()) -> Sums:
    """The same by Valgrind."""
    assert VALGRIND is not None
    path = folder / "valgrind.out"
    command = [VALGRIND, "--tool=callgrind", f"--callgrind-out-file={path}", *options, str(program), *args]
    environ = {name: value for name, value in os.environ.items() if name != "VALGRIND_OPTS"}
    subprocess.run(command, check=True, capture_output=True, timeout=120, cwd=folder, env=environ)
    return read(path)
