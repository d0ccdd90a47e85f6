"""Runs of the engine's commands as a user starts them."""

from __future__ import annotations

import os
import subprocess
import sys

# What a child needs to import the package under test, and a world that does not change from run to run.
ENVIRON = {
    **{name: os.environ[name] for name in ("PYTHONPATH", "PATH") if name in os.environ},
    "LC_ALL": "C",
    "HOME": "/nonexistent",
}


def run(module: str, *words: str, timeout: int = 240) -> subprocess.CompletedProcess[str]:
    """``python -m module words``."""
    return subprocess.run(
        [sys.executable, "-m", module, *words],
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        env=ENVIRON,
    )
