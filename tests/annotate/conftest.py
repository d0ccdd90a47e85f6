"""Profiles of a real program, beside hand-written ones."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

GUESTS = Path(__file__).parents[1] / "guests" / "formats"


@pytest.fixture(scope="session")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program ``profiled`` and profiles of it by the installed Valgrind."""
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    folder = tmp_path_factory.mktemp("annotate")
    program = folder / "profiled"
    source = GUESTS / "profiled.c"
    subprocess.run(["gcc", "-g", "-O1", "-static", "-pthread", source, "-o", program], check=True)
    runs = {
        "plain.out": [],
        "full.out": "--dump-instr=yes --collect-jumps=yes --cache-sim=yes --branch-sim=yes".split(),
        "callers.out": "--separate-callers=3".split(),
    }
    for name, options in runs.items():
        command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={folder / name}", *options]
        subprocess.run([*command, program], check=True, capture_output=True, cwd=folder)
    command = ["valgrind", "-q", "--tool=cachegrind", f"--cachegrind-out-file={folder / 'cachegrind.out'}"]
    subprocess.run([*command, program], check=True, capture_output=True, cwd=folder)
    return folder
