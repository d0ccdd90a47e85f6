"""Runs programs under memtrace, and reads what it has written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import interpose
from interpose.formats.drmemtrace.layout import trace_files
from interpose.formats.drmemtrace.reader import Reader
from interpose.formats.drmemtrace.records import Data, Instr, Marker

GUESTS = Path(__file__).resolve().parents[2] / "guests" / "memtrace"
PACKAGE = str(Path(interpose.__file__).resolve().parents[1])
Record = Instr | Data | Marker


def build(name: str, folder: Path, *arguments: str) -> Path:
    """Compile a guest."""
    program = folder / Path(name).stem
    subprocess.run(["gcc", "-g", "-w", "-o", program, GUESTS / name, *arguments], check=True)
    return program


def trace(
    folder: Path, program: str | Path, *words: str, options: tuple[str, ...] = (), **more: object
) -> subprocess.CompletedProcess[str]:
    """Run a program; its traces go to a folder."""
    env = {**os.environ, "PYTHONPATH": PACKAGE}
    command = [sys.executable, "-m", "interpose", "--tool=memtrace", f"--memtrace-dir={folder}", *options]
    return subprocess.run(
        [*command, str(program), *words], capture_output=True, text=True, timeout=200, env=env, **more
    )


def folders(folder: Path) -> list[Path]:
    """The traces there, by process and program."""
    return sorted(folder.glob("drmemtrace.*.dir"))


def records(folder: Path) -> list[Record]:
    """The records of the only thread of the only trace."""
    [place] = folders(folder)
    [path] = trace_files(place)
    return list(Reader(path))


def symbols(program: Path) -> dict[str, int]:
    """Addresses by name."""
    lines = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout.splitlines()
    return {name: int(address, 16) for address, _, name in (line.split() for line in lines if line[0] != " ")}
