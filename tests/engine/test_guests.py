"""Guest programs, one behaviour each, found by folder: output and end as native, in every engine mode.

Comments at the start of a line may say ``flags: ...`` (for the compiler), ``options: ...`` (for us),
``exit: N``, ``signal: NAME`` (how it ends natively, so that a guest that fails by itself is noticed),
``modes: ...`` (which it is run in).
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from engine.modes import MODES, RARE_MODES

GUESTS = Path(__file__).resolve().parents[1] / "guests" / "engine"
TIMEOUT = 300  # of what hangs: a flush waits for each thread that has no CPU, and evict makes thousands
LINKED = ("setjmps.c", "threads_basic.c", "signals_siginfo.c", "exceptions.cc", "processes.c")


@dataclass
class Guest:
    """One source and what its comments say."""

    source: Path
    flags: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    status: int = 0
    modes: list[str] = field(default_factory=lambda: list(MODES))

    @classmethod
    def read(cls, source: Path) -> Guest:
        guest = cls(source)
        for key, value in re.findall(
            r"(?m)^(?://|/\*|#)\s*(flags|options|exit|signal|modes):\s*(.*?)(?:\s*\*/)?$", source.read_text()
        ):
            if key == "flags":
                guest.flags = value.split()
            elif key == "options":
                guest.options = value.split()
            elif key == "exit":
                guest.status = int(value)
            elif key == "signal":
                guest.status = -int(signal.Signals[value])
            else:
                guest.modes = value.split()
        return guest


ALL = [Guest.read(p) for p in sorted(GUESTS.iterdir()) if p.suffix in (".c", ".cc", ".S", ".sh")]


def build(source: Path, out: Path, flags: list[str]) -> Path:
    if source.suffix == ".sh":
        out.write_bytes(source.read_bytes())
        out.chmod(0o755)
        return out
    compiler = "g++" if source.suffix == ".cc" else "gcc"
    warnings = ["-Wall", "-Wno-unused-result", "-Wno-infinite-recursion"]
    subprocess.run([compiler, "-O1", "-g", *warnings, "-o", str(out), str(source), *flags], check=True)
    return out


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Path]:
    """Programs built so far, by source."""
    return {Path(): tmp_path_factory.mktemp("engine-guests")}


def program(built: dict[Path, Path], guest: Guest) -> Path:
    if guest.source not in built:
        built[guest.source] = build(guest.source, built[Path()] / guest.source.stem, guest.flags)
    return built[guest.source]


def run(command: list[str], cwd: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, cwd=cwd, errors="replace"
    )
    return done.returncode, done.stdout, done.stderr


def compare(
    path: Path, options: list[str], tmp_path: Path, status: int = 0, words: list[str] | None = None
) -> None:
    command = [str(path), *(words or [])]
    native = run(command, tmp_path)
    assert native[0] == status, f"the guest itself fails: {native}"
    got = run([sys.executable, "-m", "interpose", "--tool=none", "-q", *options, *command], tmp_path)
    assert got[1] == native[1], got[2]
    assert got[0] == native[0], got[2]
    # What the program and its children wrote; a report of ours begins with ==.
    mine = [line for line in got[2].splitlines() if not line.startswith("==")]
    assert mine == native[2].splitlines()


@pytest.mark.parametrize(
    ("guest", "mode"), [pytest.param(g, m, id=f"{g.source.stem}-{m}") for g in ALL for m in g.modes]
)
def test_as_native(built: dict[Path, Path], guest: Guest, mode: str, tmp_path: Path) -> None:
    options = (MODES | RARE_MODES)[mode] + guest.options
    compare(program(built, guest), options, tmp_path, guest.status)


@pytest.mark.parametrize("linked", ["-pie", "-no-pie", "-static", "-static-pie"])
@pytest.mark.parametrize(
    "name", ["setjmps.c", "threads_basic.c", "signals_siginfo.c", "exceptions.cc", "processes.c"]
)
def test_linked(tmp_path: Path, name: str, linked: str) -> None:
    """The same programs in the other forms of ELF file."""
    guest = Guest.read(GUESTS / name)
    compare(build(guest.source, tmp_path / "guest", [*guest.flags, linked]), [], tmp_path)


def test_script_of_a_script(tmp_path: Path) -> None:
    """``#!`` lines with an argument, and one that names another script."""
    inner = tmp_path / "inner"
    inner.write_text('#!/bin/sh -e\necho "inner $# $1 $2"\n')
    inner.chmod(0o755)
    outer = tmp_path / "outer"
    outer.write_text(f"#!{inner} word\n")
    outer.chmod(0o755)
    for options in ([], ["--trace-children=yes"]):
        compare(outer, options, tmp_path, 0, "a")


def test_closed_standard_streams(tmp_path: Path, built: dict[Path, Path]) -> None:
    """A program that starts without standard input, output or error starts."""
    guest = next(g for g in ALL if g.source.name == "libcfree.S")
    path = program(built, guest)
    for closing in ("<&-", ">&-", "2>&-", "<&- 2>&-", "<&- >&- 2>&-"):
        native = subprocess.run(f"{path} {closing}", shell=True, capture_output=True, timeout=TIMEOUT)
        line = f"{sys.executable} -m interpose --tool=none -q {path} {closing}"
        got = subprocess.run(line, shell=True, capture_output=True, timeout=TIMEOUT)
        assert (got.returncode, got.stdout) == (native.returncode, native.stdout), closing
