"""interpose runs itself: the inner one's program is the inner one's alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

INTERPOSE = [sys.executable, "-m", "interpose"]


@pytest.mark.parametrize(
    "outer",
    [["--tool=none"], ["--tool=memcheck"], ["--tool=none", "--trace-children=yes"]],
    ids=lambda options: "-".join(word.strip("-") for word in options),
)
def test_under_itself(outer: list[str]) -> None:
    inner = [*INTERPOSE, "--tool=memcheck", "-q", "--trace-children=yes"]
    program = ["/bin/sh", "-c", "echo here; /bin/echo there; exit 3"]
    command = [*INTERPOSE, *outer, "-q", *inner, *program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (3, "here\nthere\n", "")
