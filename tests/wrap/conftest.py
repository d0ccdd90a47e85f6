"""Builds guests against either header, and runs them natively and under engines."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hooks.conftest import HAS_FRIDA

from interpose import paths

GUESTS = Path(__file__).resolve().parents[1] / "guests" / "wrap"
_PREFIX = re.compile(r"(==|--)\d+(==|--) ")
VALGRIND = shutil.which("valgrind")


class Run:
    """What a program printed and how it ended."""

    def __init__(self, process: subprocess.CompletedProcess[str]) -> None:
        self.out = process.stdout
        self.err = process.stderr
        self.code = process.returncode
        self.messages = [_PREFIX.sub("", line) for line in self.err.splitlines() if _PREFIX.match(line)]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """build("basic.c", "ours", "-O2"): a program or, with -shared, a library; each is built once."""
    folder = tmp_path_factory.mktemp("wrap")
    done: dict[tuple[str, ...], Path] = {}

    def make(source: str, header: str = "valgrind", *flags: str, name: str | None = None) -> Path:
        key = (source, header, *flags, name or "")
        if key not in done:
            out = folder / (name or f"{Path(source).stem}-{header}-{len(done)}")
            file, compiler = GUESTS / source, "g++" if source.endswith(".cc") else "gcc"
            if header == "ours-c++" and compiler == "gcc":
                compiler, text = "g++", f'extern "C" {{\n#include "{file}"\n}}\n'
                file = folder / f"{Path(source).stem}-{len(done)}.cc"
                file.write_text(text)
            ours = ["-DOURS", f"-I{paths.include()}"] if header.startswith("ours") else []
            usual = ["-g", "-O1", "-falign-functions=16", "-w"]  # a native jump needs five bytes
            command = [compiler, *usual, *ours, f"-I{GUESTS}", str(file), "-o", str(out), *flags]
            subprocess.run(command, check=True)
            done[key] = out
        return done[key]

    return make


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Run]:
    """run("none", program, "argument", options=["-v"]): natively, under a tool of ours, under the native
    engine ("wrapped"), or under Valgrind."""

    def go(
        engine: str,
        program: Path,
        *words: str,
        options: tuple[str, ...] = ("-q",),
        env: dict[str, str] | None = None,
    ) -> Run:
        command = [str(program), *words]
        if engine.startswith("valgrind"):
            tool = engine.partition("-")[2] or "none"
            command = ["valgrind", f"--tool={tool}", *options, *command]
        elif engine == "wrapped":
            command = [sys.executable, "-m", "interpose", "--engine=native", *options, *command]
        elif engine != "native":
            command = [sys.executable, "-m", "interpose", f"--tool={engine}", *options, *command]
        process = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
        )
        return Run(process)

    return go


@pytest.fixture
def check(run: Callable[..., Run]) -> Callable[..., None]:
    """The program's output natively and under each engine, against what it must be."""

    def verify(
        program: Path,
        *words: str,
        native: str | None,
        wrapped: str,
        engines: tuple[str, ...] = ("none", "memcheck", "wrapped", "valgrind"),
        env: dict[str, str] | None = None,
    ) -> None:
        if native is not None:
            assert run("native", program, *words, env=env).out == native
        for engine in engines:
            if engine.startswith("valgrind") and VALGRIND is None:
                continue
            if engine == "wrapped" and not HAS_FRIDA:
                continue
            result = run(engine, program, *words, env=env)
            assert (result.out, result.code) == (wrapped, 0), f"{engine}: {result.err}"

    return verify
