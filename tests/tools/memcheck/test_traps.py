"""Reduced cases of what went wrong on real programs: tests/guests/memcheck_traps, each found by its place.

A source says in its comments what is to be reported, in order (``@expect: first line [at function]``);
nothing where it says nothing.  Output and status are the native ones, and forced tracking changes nothing.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tools.memcheck.guests import ROOT, TIMEOUT, Guest, run

TRAPS = {
    path.stem: Guest(path) for path in sorted((ROOT / "tests" / "guests" / "memcheck_traps").glob("*.c"))
}
_FIRST = re.compile(r"^(\S.*)\n +at[^:\n]*: ([^\s(]+)", re.MULTILINE)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where programs are built."""
    return tmp_path_factory.mktemp("memcheck-traps")


NOT_HERE = 77
"""Natively, the status of a program that needs what not every kernel has."""


def _expected(source: Path) -> list[str]:
    return [line.strip() for line in re.findall(r"@expect:(.*?)(?:\*/)?$", source.read_text(), re.MULTILINE)]


def test_there_are_traps() -> None:
    assert len(TRAPS) >= 9
    assert sum(len(_expected(trap.source)) for trap in TRAPS.values()) >= 9


@pytest.mark.parametrize("option", [None, "--force-tracking=yes"], ids=["default", "forced"])
@pytest.mark.parametrize("name", TRAPS)
def test_reports_what_the_source_says(name: str, option: str | None, programs: Path) -> None:
    trap = TRAPS[name]
    program = trap.build(programs)
    native = subprocess.run(
        [program], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    if native.returncode == NOT_HERE:
        pytest.skip("this machine has not what the program needs")
    outcome = run([*trap.our_command(), *([option] if option else [])], program)
    assert (outcome.status, outcome.output) == (native.returncode, native.stdout + native.stderr)
    expected = _expected(trap.source)
    found = _FIRST.findall(outcome.report)
    assert len(found) == len(expected), outcome.report
    for (first, function), wanted in zip(found, expected, strict=True):
        assert wanted in (first, f"{first} at {function}")
