"""Guest programs about processes and threads, one subject each: output and end as native, under each tool.

Comments at the start of a line may say ``flags: ...`` (for the compiler), ``exit: N``, ``signal: NAME`` (how
it ends natively), ``modes: ...`` (which of MODES and ON_DEMAND it is run in), ``errors: yes`` (reports may
come), ``skip-status: N`` (with this status it says natively that the machine does not offer what it needs).
"""

from __future__ import annotations

import re
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from life.running import command, run

if TYPE_CHECKING:
    from collections.abc import Callable

GUESTS = Path(__file__).resolve().parents[2] / "guests"
MODES: dict[str, list[str]] = {
    "none": ["--tool=none"],
    "memcheck": ["--tool=memcheck"],
    "callgrind": ["--tool=callgrind", "--callgrind-out-file=/dev/null"],
    "trace-children": ["--tool=none", "--trace-children=yes"],
}
ON_DEMAND: dict[str, list[str]] = {
    "children-checked": ["--tool=memcheck", "--trace-children=yes"],
    "origins": ["--tool=memcheck", "--track-origins=yes"],
    "caches": ["--tool=callgrind", "--cache-sim=yes", "--callgrind-out-file=/dev/null"],
    "jumps": ["--tool=callgrind", "--collect-jumps=yes", "--callgrind-out-file=/dev/null"],
    "datagrind": ["--tool=datagrind"],
    "memtrace": ["--tool=memtrace"],
}
COMMENT = re.compile(r"(?m)^(?://|/\*)\s*(flags|exit|signal|modes|errors|skip-status):\s*(.*?)(?:\s*\*/)?$")
REPORT = re.compile(r"==\d+==")


@dataclass
class Guest:
    """One source and what its comments say."""

    source: Path
    flags: list[str] = field(default_factory=list)
    status: int = 0
    modes: list[str] = field(default_factory=lambda: list(MODES))
    errors: bool = False
    skip_status: int | None = None

    @classmethod
    def read(cls, source: Path) -> Guest:
        guest = cls(source)
        for key, value in COMMENT.findall(source.read_text()):
            if key == "flags":
                guest.flags = value.split()
            elif key == "exit":
                guest.status = int(value)
            elif key == "signal":
                guest.status = -int(signal.Signals[value])
            elif key == "modes":
                guest.modes = value.split()
            elif key == "errors":
                guest.errors = value == "yes"
            else:
                guest.skip_status = int(value)
        return guest


ALL = [Guest.read(p) for part in ("processes", "threads") for p in sorted((GUESTS / part).glob("*.c"))]


Native = tuple[Path, subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def natively(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Guest], Native]:
    """Builds a guest and runs it natively, once."""
    folder = tmp_path_factory.mktemp("guests")
    done: dict[Path, Native] = {}

    def build_and_run(guest: Guest) -> Native:
        source = guest.source
        if source not in done:
            out = folder / f"{source.parent.name}-{source.stem}"
            compiler = ["gcc", "-O1", "-g", "-w", "-pthread", *guest.flags]
            subprocess.run([*compiler, "-o", str(out), str(source)], check=True)
            done[source] = (out, run([str(out)], stdin=subprocess.DEVNULL, cwd=folder))
        return done[source]

    return build_and_run


@pytest.mark.parametrize(
    ("guest", "mode"), [pytest.param(g, m, id=f"{g.source.stem}-{m}") for g in ALL for m in g.modes]
)
def test_as_native(natively: Callable[[Guest], Native], guest: Guest, mode: str, tmp_path: Path) -> None:
    path, wanted = natively(guest)
    if guest.skip_status is not None and wanted.returncode == guest.skip_status:
        pytest.skip(wanted.stdout.strip())
    assert wanted.returncode == guest.status, f"the guest itself fails: {wanted}"
    got = run(command(*(MODES | ON_DEMAND)[mode], "-q", str(path)), stdin=subprocess.DEVNULL, cwd=tmp_path)
    assert got.stdout == wanted.stdout, got.stderr
    assert got.returncode == wanted.returncode, got.stderr
    if not guest.errors:
        assert not REPORT.search(got.stderr), got.stderr
    mine = [line for line in got.stderr.splitlines() if not REPORT.match(line)]
    assert mine == wanted.stderr.splitlines()
