"""Programs to run."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def compile_guest(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Compile a program from its text."""
    folder = tmp_path_factory.mktemp("guest")

    def build(name: str, text: str, *flags: str) -> str:
        source, out = folder / f"{name}.c", folder / name
        Path(source).write_text(text)
        subprocess.run(["gcc", "-g", "-O1", "-o", str(out), str(source), *flags], check=True)
        return str(out)

    return build
