"""The translator's switches change how code is made, never what memcheck says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "errors.c"
SAME = [
    "--single-step=yes",
    "--optimise=no",
    "--cleanup=no",
    "--chaining=no",
    "--tiny-cache=yes",
    "--force-tracking=yes",
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The README's program with known errors."""
    out = tmp_path_factory.mktemp("example") / "errors"
    subprocess.run(["gcc", "-g", "-O0", "-w", EXAMPLE, "-o", out], check=True)
    return out


def report(program: Path, *options: str) -> tuple[int, str, str]:
    """Exit code, the program's output, and the log without process numbers."""
    command = [sys.executable, "-m", "interpose", "--tool=memcheck", "--leak-check=full", *options, program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, re.sub(r"==\d+==", "==PID==", done.stderr)


@pytest.mark.parametrize("switch", SAME)
def test_same_report(program: Path, switch: str) -> None:
    expected = report(program)
    assert "Conditional jump or move depends on uninitialised value(s)" in expected[2]
    assert report(program, switch) == expected


def test_without_instrumentation_only_the_heap_speaks(program: Path) -> None:
    status, output, log = report(program, "--instrument=no")
    assert (status, output) == report(program)[:2]
    assert "Invalid free() / delete / delete[] / realloc()" in log
    assert "definitely lost: 100 bytes in 1 blocks" in log or "still reachable: 100 bytes in 1 blocks" in log
    assert "uninitialised" not in log
    assert "Invalid read" not in log


def test_exit_on_first_error(program: Path) -> None:
    status, output, log = report(program, "--exit-on-first-error=yes", "--error-exitcode=7")
    assert (status, output) == (7, "")
    assert log.count("Invalid write of size 1") == 1
    assert log.count("Exit program on first error (--exit-on-first-error=yes)") == 1
    assert log.endswith("(--exit-on-first-error=yes)\n")  # no summary, as under Valgrind
    assert "Invalid read" not in log


@pytest.mark.parametrize(("code", "status", "at_first"), [("-1", 0, 255), ("300", 44, 44), ("256", 0, 0)])
def test_exit_codes_beyond_a_byte(program: Path, code: str, status: int, at_first: int) -> None:
    """Of which exit leaves eight bits; a negative one counts at the first error alone."""
    for more, wanted in (((), status), (("--exit-on-first-error=yes",), at_first)):
        found, _, log = report(program, f"--error-exitcode={code}", *more)
        assert (found, "internal error" in log) == (wanted, False)
