"""How these tests compile a guest, run it, and find what a run leaves behind."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from cli.launcher import place, script

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
TOOLS = ["none", "memcheck"]


def compile_guest(name: str, folder: Path, *flags: str) -> Path:
    """Build ``tests/guests/NAME`` (with its suffix) in a folder."""
    source = TESTS / "guests" / name
    out = folder / source.stem
    compiler = "g++" if source.suffix == ".cpp" else "gcc"
    command = [compiler, "-g", "-O1", "-w", "-pthread", "-rdynamic", *flags, "-o", str(out), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return out


@functools.cache
def _launcher() -> str:
    folder = tempfile.mkdtemp(prefix="launcher")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return str(place(Path(folder), script()))


def command(*options: str) -> list[str]:
    """As a user types it; most other tests start ``python -m interpose``."""
    return [_launcher(), *options]


def environment(**more: str) -> dict[str, str]:
    """Ours, with the package importable from any folder."""
    import interpose

    path = str(Path(interpose.__file__).resolve().parents[1])
    return {**os.environ, "PYTHONPATH": path, **more}


def run(words: list[str], **how: object) -> subprocess.CompletedProcess[str]:
    how = {"capture_output": True, "text": True, "timeout": 120, "env": environment(), **how}
    return subprocess.run(words, check=False, **how)  # type: ignore[call-overload]


def processes_with(token: str) -> list[int]:
    """Processes whose environment or arguments hold a token."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        for file in ("cmdline", "environ"):
            try:
                if token.encode() in Path(f"/proc/{entry}/{file}").read_bytes():
                    found.append(int(entry))
                    break
            except OSError:
                continue
    return found


def state(pid: int) -> str:
    """``R``, ``S``, ``T``, ``Z``…; "" if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def parent_of(pid: int) -> int:
    """0 if it is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def wait_until(holds: object, seconds: float = 30) -> bool:
    """Whether a condition comes to hold in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False
