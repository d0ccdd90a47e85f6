"""When a tool's object comes into being."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from interpose import tools
from interpose.supervisor.latetool import LateTool
from interpose.tools.base import BaseTool


class Tool(BaseTool):
    """Somebody's."""


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Parts of the tool that were loaded, in order; its object needs two modules that are there already."""
    parts: list[str] = []

    def load(name: str, part: str = "options") -> Any:
        parts.append(part)
        return SimpleNamespace(LATE=("zenc", "redir"), Tool=Tool)

    monkeypatch.setattr(tools, "load", load)
    return parts


def supervisor(**changes: Any) -> Any:
    core = SimpleNamespace(suppressions=(), verbosity=1)
    own = {name: value for name, value in changes.items() if name in ("json", "xml")}
    core.__dict__.update({name: value for name, value in changes.items() if name not in own})
    config = SimpleNamespace(core=core, tool_name="any")
    return SimpleNamespace(config=config, log=None, **{"json": None, "xml": None, **own})


def test_step_by_step(loaded: list[str]) -> None:
    late = LateTool(supervisor())
    assert late.is_due and type(late.first_events()) is BaseTool
    late.prepare()
    assert late.is_due and loaded == ["options"]
    late.prepare()
    assert not late.is_due and loaded == ["options", "tool"]
    assert late.get() is late.first_events() is late.get()
    assert type(late.get()) is Tool


def test_whoever_needs_it_has_it(loaded: list[str]) -> None:
    late = LateTool(supervisor())
    late.prepare()
    assert type(late.get()) is Tool
    assert not late.is_due


@pytest.mark.parametrize(
    "changes", [{"suppressions": ("file",)}, {"verbosity": 2}, {"json": object()}, {"xml": object()}]
)
def test_at_once_where_it_shows(changes: dict[str, Any], loaded: list[str]) -> None:
    late = LateTool(supervisor(**changes))
    assert not late.is_due and type(late.first_events()) is Tool


FIRST = """
.globl _start
_start:
    mov 0x10, %eax      # the program's first instruction is an error
    mov $60, %eax
    xor %edi, %edi
    syscall
"""


def test_an_error_of_the_first_instruction(tmp_path: Path) -> None:
    source, program = tmp_path / "first.S", tmp_path / "first"
    source.write_text(FIRST)
    subprocess.run(["gcc", "-nostdlib", "-static", "-o", program, source], check=True)
    words = [sys.executable, "-m", "interpose", "-q", "--error-exitcode=7", program]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert "Invalid read of size 4" in done.stderr and "(in " in done.stderr
    assert "Process terminating with default action of signal 11 (SIGSEGV)" in done.stderr
    assert done.returncode == -11
