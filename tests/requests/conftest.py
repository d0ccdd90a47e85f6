"""Builds guests that make client requests, and runs them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from interpose import paths

GUESTS = Path(__file__).resolve().parents[1] / "guests" / "requests"
VALGRIND = shutil.which("valgrind")


class Run:
    """What a program printed, and what the engine's log says: messages, and the program's own lines."""

    def __init__(self, process: subprocess.CompletedProcess[str]) -> None:
        self.out, self.err, self.code = process.stdout, process.stderr, process.returncode
        lines = self.err.splitlines()
        self.messages = [m[1] for line in lines if (m := re.match(r"==\d+== (.*)", line))]
        self.printed = [m[1] for line in lines if (m := re.match(r"\*\*\d+\*\* (.*)", line))]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    folder = tmp_path_factory.mktemp("requests")

    def make(source: str, *flags: str) -> Path:
        out = folder / "-".join([Path(source).stem, *(flag.strip("-") for flag in flags)])
        if not out.exists():
            command = ["gcc", "-g", "-O1", "-w", "-pthread", f"-I{paths.include()}", str(GUESTS / source)]
            subprocess.run([*command, "-o", str(out), *flags], check=True)
        return out

    return make


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Run]:
    def go(engine: str, program: Path, *options: str, words: Sequence[str] = ()) -> Run:
        command = [str(program), *words]
        if engine == "valgrind":
            command = ["valgrind", "--tool=none", *options, *command]
        elif engine != "native":
            command = [sys.executable, "-m", "interpose", f"--tool={engine}", *options, *command]
        return Run(subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path))

    return go
