"""Programs under datagrind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from . import records

GUESTS = Path(__file__).resolve().parents[2] / "guests" / "datagrind"
INCLUDE = Path(__file__).resolve().parents[3] / "include"


def compile_guest(name: str, folder: Path, *flags: str) -> Path:
    """A guest of this folder as a program."""
    target = folder / Path(name).stem
    command = ["gcc", "-g", "-O1", "-w", f"-I{INCLUDE}", "-o", str(target), str(GUESTS / name), *flags]
    subprocess.run(command, check=True)
    return target


def run(
    words: Sequence[str], output: Path, *options: str, status: int = 0
) -> subprocess.CompletedProcess[str]:
    """A program with its file at ``output``."""
    command = [sys.executable, "-m", "interpose", "--tool=datagrind", f"--datagrind-out-file={output}"]
    done = subprocess.run(
        [*command, *options, *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == status, done.stderr
    return done


def record(words: Sequence[str], folder: Path, *options: str) -> records.Recording:
    """What a program that ends well accessed."""
    output = folder / "datagrind.out"
    run(words, output, *options)
    return records.read(output)
