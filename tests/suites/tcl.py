"""Tcl's own tests (the folder ``tests`` of its source), run by the installed tclsh."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from .suite import Statuses, Unit

_PASSED = re.compile(r"^\+\+\+\+ (\S+) (PASSED|SKIPPED)", re.MULTILINE)
_FAILED = re.compile(r"^==== (\S+) FAILED$", re.MULTILINE)


class Tcl:
    def __init__(self, source: Path, patterns: list[str]) -> None:
        self.source, self.patterns = source, patterns
        self.tclsh = shutil.which("tclsh") or "tclsh"

    def units(self, folder: Path) -> list[Unit]:
        tests, work = self.source / "tests", folder / "tmp"
        work.mkdir(parents=True, exist_ok=True)
        found = []
        for path in sorted(tests.glob("*.test")):
            if self.patterns and not any(re.search(p, path.name) for p in self.patterns):
                continue
            command = (self.tclsh, str(path), "-verbose", "pass skip body error", "-tmpdir", str(work))
            found.append(Unit(path.name, command, work, {"TERM": "dumb"}))
        return found

    def statuses(self, unit: Unit, output: str) -> Statuses:
        found = {m[1]: {"PASSED": "ok", "SKIPPED": "skip"}[m[2]] for m in _PASSED.finditer(output)}
        found.update((m[1], "fail") for m in _FAILED.finditer(output))
        return found
