"""The current folder was removed: what has names of its own works, what has not says so in a line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from interpose.formats.callgrind import read


def nowhere(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a module of ours, or Python, where there is no folder any more."""
    gone = folder / "gone"
    gone.mkdir()
    here = os.open(".", os.O_RDONLY)
    os.chdir(gone)
    try:
        gone.rmdir()
        return subprocess.run(
            [sys.executable, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
    finally:
        os.fchdir(here)
        os.close(here)


def entry(module: str, *words: str) -> tuple[str, ...]:
    return "-c", f"from interpose.{module} import entry; entry()", *words


def test_profiles_and_reports(tmp_path: Path) -> None:
    """interpose-annotate and interpose-report, of files with names from the root on."""
    profile, report, out = (str(tmp_path / name) for name in ("profile", "report", "out"))
    run = ("-m", "interpose", "--tool=callgrind", f"--callgrind-out-file={profile}", f"--json-file={report}")
    assert nowhere(tmp_path, *run, "/bin/true").returncode == 0
    assert read(profile).parts
    for words in (
        entry("annotate.cli", profile),
        entry("annotate.cli", "--export=flamegraph", out, profile),
        entry("reporting.cli", report),
        entry("reporting.cli", "--sarif", report),
        entry("reporting.cli", "--html", "-o", out, report),
    ):
        done = nowhere(tmp_path, *words)
        assert (done.returncode, done.stderr) == (0, ""), words


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--hooks=x.py",), 1, "interpose: x.py: cannot read the hooks: No such file or directory"),
        (("--tool=memtrace",), 0, "No such file or directory; the program runs on without a trace"),
        (("--engine=native", "--wrappers=x.so"), 0, "Warning: cannot load the wrappers x.so"),
    ],
)
def test_relative_names(options: tuple[str, ...], code: int, message: str, tmp_path: Path) -> None:
    if "--engine=native" in options:
        pytest.importorskip("frida")
    done = nowhere(tmp_path, "-m", "interpose", *options, "/bin/true")
    assert done.returncode == code and message in done.stderr and "internal error" not in done.stderr


def test_from_python(tmp_path: Path) -> None:
    native = nowhere(tmp_path, "-c", "import asyncio")
    if native.returncode:  # 3.13.0: "SystemError: error return without exception set"
        pytest.skip(f"this Python itself cannot: {native.stderr.splitlines()[-1]}")
    code = "import interpose; print(interpose.run(['/bin/true'], tool='callgrind').profile is not None)"
    done = nowhere(tmp_path, "-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
