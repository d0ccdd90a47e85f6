"""Programs that the tests of interpose.elf are made of, compiled once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from elf.helpers import C_SOURCE, CXX_SOURCE

Compile = Callable[..., Path]


@pytest.fixture(scope="session")
def compile_program(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """compile_program(name, source, *flags) → path of the program; the source keeps its suffix."""

    def run(name: str, source: str, *flags: str) -> Path:
        folder = tmp_path_factory.mktemp(Path(name).stem)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(source)
        program = folder / "program"
        compiler = "g++" if name.endswith(".cc") else "gcc"
        subprocess.run([compiler, "-w", name, "-o", str(program), *flags], cwd=folder, check=True)
        return program

    return run


@pytest.fixture(scope="session", params=["-gdwarf-4", "-gdwarf-5"])
def c_program(request: pytest.FixtureRequest, compile_program: Compile) -> Path:
    return compile_program("prog.c", C_SOURCE, "-O2", "-g", request.param)


@pytest.fixture(scope="session", params=["-gdwarf-4", "-gdwarf-5"])
def cxx_program(request: pytest.FixtureRequest, compile_program: Compile) -> Path:
    return compile_program("prog.cc", CXX_SOURCE, "-O2", "-g", request.param)
