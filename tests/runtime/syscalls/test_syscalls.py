"""rt_syscall and the handlers beside it, call by call."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path


def test_calls_answer_as_the_guest_expects(harness: Callable[[str], Path]) -> None:
    run = subprocess.run([harness("syscalls/syscalls")], capture_output=True, text=True, timeout=20)
    assert run.returncode == 0, run.stdout
    assert run.stdout.startswith("ok ")
