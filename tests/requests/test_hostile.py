"""Requests with bad arguments: the program gets an answer and goes on, whatever it asks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Build = Callable[..., Path]

TOOLS = ("none", "memcheck")
SEEDS = [int(os.environ["INTERPOSE_SEED"])] if "INTERPOSE_SEED" in os.environ else [1, 2, 4]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("tool", TOOLS)
def test_any_arguments(build: Build, tmp_path: Path, tool: str, seed: int) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-m", "interpose", f"--tool={tool}", f"--log-file={log}"]
    command += [str(build("hostile.c")), str(seed), "700"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    text = log.read_text(errors="replace")
    assert "internal error" not in text
    if tool == "memcheck":
        assert "ERROR SUMMARY" in text


def test_a_range_of_nearly_everything_can_be_ended(build: Build, tmp_path: Path) -> None:
    program = build("everywhere.c")
    command = [sys.executable, "-m", "interpose", "--tool=memcheck", "-q", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "begins\ndone\n")
    with subprocess.Popen([*command, "reserve"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begins\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == -signal.SIGTERM
        finally:
            process.kill()
