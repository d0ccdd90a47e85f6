"""What a suite is to the comparison: units, each one command, and the status of each of its tests."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

Statuses = dict[str, str]
"""Status of every test of a unit, by name: ``ok``, ``fail``, ``skip`` or what the suite says."""


@dataclass(frozen=True)
class Unit:
    """One run of an interpreter over one file of tests."""

    name: str
    command: tuple[str, ...]
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    result: Path | None = None  # a file the command writes, beside its output

    def environ(self) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PERL", "TCL", "INTERPOSE"))}
        return {**inherited, "LC_ALL": "C.UTF-8", "TZ": "UTC", **self.environment}


class Suite(Protocol):
    """A suite: how its units are found, and how their results are read."""

    def units(self, folder: Path) -> list[Unit]:
        """Units in the order they run; ``folder`` is theirs for files they need."""

    def statuses(self, unit: Unit, output: str) -> Statuses:
        """Status of each test, from the output and the result file."""
