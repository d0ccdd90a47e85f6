"""Signals, one guest program for each behaviour: as native under every tool, and no error reported.

Comments at the start of a line may say ``flags: ...`` (for the compiler), ``exit: N`` (how it ends natively),
``modes: ...`` (which of MODES it is run in; all without it), ``errors: N`` (memcheck's, if there are any).
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

GUESTS = Path(__file__).resolve().parents[2] / "guests" / "signals"
MODES: dict[str, list[str]] = {
    "none": ["--tool=none", "-q"],
    "memcheck": ["--tool=memcheck", "--leak-check=no"],
    "callgrind": ["--tool=callgrind", "--callgrind-out-file=/dev/null"],
}
TIMEOUT = 90


@dataclass
class Guest:
    """One source and what its comments say."""

    source: Path
    flags: list[str] = field(default_factory=list)
    status: int = 0
    errors: int = 0
    modes: list[str] = field(default_factory=lambda: list(MODES))

    @classmethod
    def read(cls, source: Path) -> Guest:
        guest = cls(source)
        for key, value in re.findall(r"(?m)^// (flags|exit|errors|modes): (.*)$", source.read_text()):
            match key:
                case "flags":
                    guest.flags = value.split()
                case "exit":
                    guest.status = int(value)
                case "errors":
                    guest.errors = int(value)
                case _:
                    guest.modes = value.split()
        return guest


ALL = [Guest.read(path) for path in sorted(GUESTS.glob("*.c"))]


def _build(guest: Guest, folder: Path) -> Path:
    out = folder / guest.source.stem
    warnings = ["-Wall", "-Wno-unused-result"]
    command = ["gcc", "-std=gnu17", "-O1", "-g", *warnings, "-o", str(out), str(guest.source), *guest.flags]
    subprocess.run(command, check=True)
    return out


def _run(command: list[str], cwd: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, cwd=cwd, text=True
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("guest", ALL, ids=lambda g: g.source.stem)
def test_as_native(guest: Guest, tmp_path: Path) -> None:
    """What the program prints depends on every detail that it can see of its signals."""
    program = str(_build(guest, tmp_path))
    native = _run([program], tmp_path)
    assert native[0] == guest.status, native
    for mode in guest.modes:
        got = _run([sys.executable, "-m", "interpose", *MODES[mode], program], tmp_path)
        assert got[1] == native[1], (mode, got[2])
        assert got[0] == native[0], (mode, got[2])
        mine = [line for line in got[2].splitlines() if not line.startswith("==")]
        assert mine == native[2].splitlines(), mode
        if mode == "memcheck":
            # A forked child that ends by itself reports, too.
            found = sum(int(n) for n in re.findall(r"ERROR SUMMARY: (\d+) errors", got[2]))
            assert (found > 0) == (guest.errors > 0), got[2]
