"""Builds guests, and runs them with hooks written in the tests."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

GUESTS = Path(__file__).resolve().parents[1] / "guests" / "hooks"
_PREFIX = re.compile(r"(==|--|\*\*)\d+(==|--|\*\*) ?")


NATIVE = "native"
"""In the place of a tool: the engine that has none."""
# Not imported: it starts threads, which a process that forks as often as this one should not have.
HAS_FRIDA = importlib.util.find_spec("frida") is not None
needs_frida = pytest.mark.skipif(not HAS_FRIDA, reason="the native engine's package is not installed")
ON_CPU = pytest.param(NATIVE, marks=needs_frida)


class Run:
    """What a program printed, what its hooks printed (``said``), the log's other lines, and the exit code."""

    def __init__(self, process: subprocess.CompletedProcess[str]) -> None:
        self.out = process.stdout
        self.err = process.stderr
        self.code = process.returncode
        lines = self.err.splitlines()
        self.said = [_PREFIX.sub("", line, count=1) for line in lines if line.startswith("**")]
        self.log = [_PREFIX.sub("", line, count=1) for line in lines if line.startswith(("==", "--"))]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """build("calls.c", "-O2"): a program or, with -shared, a library; each is built once."""
    folder = tmp_path_factory.mktemp("hooks")
    done: dict[tuple[str, ...], Path] = {}

    def make(source: str, *flags: str, name: str | None = None) -> Path:
        key = (source, *flags, name or "")
        if key not in done:
            out = folder / (name or f"{Path(source).stem}-{len(done)}")
            compiler = "g++" if source.endswith(".cc") else "gcc"
            command = [
                compiler,
                "-g",
                "-O1",
                "-falign-functions=16",
                "-w",
                str(GUESTS / source),
                "-o",
                str(out),
                *flags,
            ]
            subprocess.run(command, check=True)
            done[key] = out
        return done[key]

    return make


@pytest.fixture
def hooked(tmp_path: Path) -> Callable[..., Run]:
    """hooked(program, "hooks' text", "argument", tool="memcheck", options=["-v"])."""

    def run(
        program: Path | str,
        hooks: str,
        *words: str,
        tool: str = "none",
        options: tuple[str, ...] = ("-q",),
        env: dict[str, str] | None = None,
        stdin: str | None = None,
    ) -> Run:
        file = tmp_path / "hooks.py"
        file.write_text("import interpose\n" + textwrap.dedent(hooks))
        engine = "--engine=native" if tool == NATIVE else f"--tool={tool}"
        command = [sys.executable, "-m", "interpose", engine, *options, f"--hooks={file}"]
        process = subprocess.run(
            [*command, str(program), *words],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            input=stdin,
        )
        return Run(process)

    return run
