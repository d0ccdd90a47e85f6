"""Runs real programs natively and under a tool, and compares.

INTERPOSE_LONG=1 makes the runs long, and more of them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

LONG = os.environ.get("INTERPOSE_LONG") == "1"
WORKLOADS = Path(__file__).with_name("workloads")
TIMEOUT = 3600 if LONG else 300
OURS = [sys.executable, "-m", "interpose", "--tool=none", "-q"]
TOOLS = ["none", "memcheck"]
_FRAME = re.compile(r"^==\d+== [A-Z].*\n==\d+==    at 0x[0-9A-F]+: (.*?)(?: \([^()]*\))?$", re.M)


def need(*programs: str) -> None:
    """Skip where a program is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def under(tool: str, log: Path, *more: str) -> list[str]:
    """The command's beginning for a tool."""
    return [sys.executable, "-m", "interpose", f"--tool={tool}", "-q", f"--log-file={log}", *more]


def run(command: list[str], folder: Path) -> tuple[int, bytes, bytes]:
    """Status, output and messages of a command."""
    environ = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, env=environ
    )
    return done.returncode, done.stdout, done.stderr


def compare(
    command: list[str],
    folder: Path,
    tool: str,
    clean: Callable[[bytes], bytes] = bytes,
) -> Counter[str]:
    """The same output and status; the places that the tool reported."""
    log = folder / "log"
    began = time.monotonic()
    native = run(command, folder)
    middle = time.monotonic()
    ours = run([*under(tool, log), *command], folder)
    print(f"{tool}: {(time.monotonic() - middle) / (middle - began):.1f} times the native time, {command}")
    told = ours[2].decode(errors="replace")
    assert clean(ours[1]) == clean(native[1]), told
    assert ours[0] == native[0], told
    return places(log)


def places(*logs: Path) -> Counter[str]:
    """Functions at the top of the reported stacks."""
    found: Counter[str] = Counter()
    for log in logs:
        found.update(_FRAME.findall(log.read_text(errors="replace")))
    return found
