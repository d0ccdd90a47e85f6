"""The report that the README shows is one that a run prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def alike(line: str) -> str:
    """A line without what differs between runs and builds: PID, addresses, lines of the stubs."""
    line = re.sub(r"==\d+==", "==PID==", line.rstrip())
    line = re.sub(r"0x[0-9A-Fa-f]+", "ADDRESS", line)
    return re.sub(r"(_stubs\.c):\d+", r"\1:N", line)


def test_report_is_what_a_run_prints(tmp_path):
    shown = re.search(r"^```text\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert shown is not None
    program = tmp_path / "errors"
    source = ROOT / "examples" / "errors.c"
    subprocess.run(["gcc", "-g", "-O0", "-w", str(source), "-o", str(program)], check=True)
    command = [sys.executable, "-m", "interpose", "--tool=memcheck", "--leak-check=full", "./errors"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    printed = "\n".join(alike(line) for line in done.stderr.splitlines())
    parts = ["\n".join(alike(line) for line in part.strip().splitlines()) for part in shown[1].split("…\n")]
    assert len(parts) == 4
    where = 0
    for part in parts:
        assert part in printed[where:], f"{part}\n--- is not in what follows ---\n{printed[where:]}"
        where = printed.index(part, where) + len(part)
