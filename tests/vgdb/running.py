"""Programs that wait to be asked, under interpose or Valgrind, and both vgdbs."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

GUESTS = Path(__file__).parents[1] / "guests" / "vgdb"
VALGRIND = shutil.which("valgrind")
VGDB = shutil.which("vgdb")
TIMEOUT = 120

beside_valgrind = pytest.mark.skipif(not (VALGRIND and VGDB), reason="needs valgrind and vgdb")


def compile_guest(folder: Path, name: str) -> Path:
    """A guest program, with its debug information."""
    out = folder / name
    words = ["gcc", "-g", "-O0", "-pthread", "-w", str(GUESTS / f"{name}.c"), "-o", str(out)]
    subprocess.run(words, check=True, timeout=TIMEOUT)
    return out


class Run:
    """A program that has said what its addresses are."""

    def __init__(self, process: subprocess.Popen[str], prefix: Path, log: Path, said: str) -> None:
        self.process = process
        self.pid = process.pid
        self.prefix = prefix
        self.log = log
        self.said = said
        self.places = {name: int(value, 16) for name, value in re.findall(r"(\w+)=0x([0-9a-f]+)", said)}

    def files(self) -> list[Path]:
        return sorted(self.prefix.parent.glob(f"{self.prefix.name}-*"))


@contextlib.contextmanager
def running(
    engine: Sequence[str], program: Path, *words: str, folder: Path, options: Sequence[str] = ()
) -> Iterator[Run]:
    """A run under ``interpose`` or ``valgrind``, killed at the end."""
    prefix, log = folder / "p", folder / "log"
    command = [*engine, f"--vgdb-prefix={prefix}", f"--log-file={log}", *options, str(program), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said, log.read_text()
        yield Run(process, prefix, log, said)
    finally:
        process.kill()
        process.communicate(timeout=TIMEOUT)


def interpose(tool: str = "memcheck") -> list[str]:
    return [sys.executable, "-m", "interpose", f"--tool={tool}"]


def valgrind(tool: str = "memcheck") -> list[str]:
    assert VALGRIND
    return [VALGRIND, f"--tool={tool}"]


OURS = (sys.executable, "-m", "interpose.vgdb")


def vgdb(run: Run, *words: str, by: Sequence[str] = OURS, **options) -> subprocess.CompletedProcess[str]:
    """One vgdb and what it said."""
    command = [*by, f"--vgdb-prefix={run.prefix}", *words]
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, **options)


def ask(run: Run, command: str, by: Sequence[str] = OURS) -> str:
    """The reply to a monitor command."""
    done = vgdb(run, f"--pid={run.pid}", command, by=by)
    assert done.returncode == 0, done
    return done.stdout


def environment() -> dict[str, str]:
    return dict(os.environ)
