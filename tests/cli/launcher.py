"""The command that is built, in a folder of a test's, with a script of the test's that it has Python do."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path

from interpose.jit import _native

REAL = "interpose-python"


def built() -> Path:
    """The launcher of the package under test: as it is installed, or in the build folder of the checkout."""
    beside = Path(_native.__file__).resolve().parent.parent / "launcher" / "interpose"
    return beside if beside.exists() else Path(sysconfig.get_path("scripts")) / "interpose"


def script() -> str:
    """The lines of the script that belongs to it, without the first."""
    checkout = Path(__file__).resolve().parents[2] / "scripts" / REAL
    return checkout.read_text().partition("\n")[2]


def place(folder: Path, text: str, interpreter: str = sys.executable) -> Path:
    """The launcher, beside a script of this text."""
    command = folder / "bin" / "interpose"
    command.parent.mkdir()
    shutil.copy(built(), command)
    beside = command.with_name(REAL)
    beside.write_text(f"#!{interpreter}\n{text}")
    beside.chmod(0o755)
    return command
