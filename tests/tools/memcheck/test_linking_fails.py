"""A program whose dynamic linker gives up ends with the linker's status: nothing in its libraries is called.

They are mapped, but not relocated, so ``__libc_freeres`` would crash.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tools.memcheck.guests import PACKAGE, TIMEOUT

LINKER = "/lib64/ld-linux-x86-64.so.2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs: one that runs, one that lacks a function of its library, one that lacks the library."""
    path = tmp_path_factory.mktemp("linking")
    (path / "there.c").write_text("int answer(void) { return 42; }")
    (path / "other.c").write_text("int question;")
    (path / "prog.c").write_text("int answer(void);\nint main(void) { return answer(); }")
    (path / "right.c").write_text("int main(void) { return 5; }")
    link = ["prog.c", "-L.", "-Wl,-rpath,$ORIGIN", "-Wl,-z,now"]
    for command in (
        ["-shared", "-fPIC", "-o", "libpart.so", "there.c"],
        ["-shared", "-fPIC", "-o", "libgone.so", "there.c"],
        [*link, "-lpart", "-o", "part"],
        [*link, "-lgone", "-o", "gone"],
        ["right.c", "-o", "right"],
        ["-shared", "-fPIC", "-o", "libpart.so", "other.c"],
    ):
        subprocess.run(["gcc", *command], cwd=path, check=True, timeout=TIMEOUT)
    (path / "libgone.so").unlink()
    return path


@pytest.mark.parametrize("tool", ["none", "memcheck"])
@pytest.mark.parametrize(
    "words",
    [
        ["./part"],
        [LINKER, "./part"],
        ["./gone"],
        [LINKER, "./gone"],
        [LINKER, "--list", "./right"],
        ["env", "LD_TRACE_LOADED_OBJECTS=1", "./right"],
        [LINKER, "./right"],
        [LINKER],
    ],
    ids=" ".join,
)
def test_the_status_is_the_linkers(folder: Path, words: list[str], tool: str) -> None:
    native = subprocess.run(words, capture_output=True, cwd=folder, timeout=TIMEOUT, check=False)
    command = [
        sys.executable,
        "-m",
        "interpose",
        "-q",
        f"--tool={tool}",
        "--trace-children=yes",
        "--log-file=%p",
    ]
    ours = subprocess.run(
        [*command, *words],
        capture_output=True,
        cwd=folder,
        timeout=TIMEOUT,
        env={"PYTHONPATH": PACKAGE, "PATH": "/usr/bin:/bin"},
        check=False,
    )
    assert (ours.returncode, ours.stderr) == (native.returncode, native.stderr)
