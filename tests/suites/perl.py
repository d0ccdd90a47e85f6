"""perl's own tests (the folder ``t`` of its source), run by the installed perl; their output is TAP."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from .suite import Statuses, Unit

FOLDERS = "base comp cmd run io re opbasic op uni mro lib class".split()
# As t/TEST of perl's source does: these folders take no switches, the others this one.
PLAIN = ("base", "comp", "run")
# The factor is for the watchdogs of single tests.
ENVIRONMENT = {"PERL_CORE": "1", "PERL_TEST_TIME_OUT_FACTOR": "50"}
_LINE = re.compile(r"^(not )?ok\b *(\d*)(?:[^#\n]|\\#)*(?:# *(skip|todo))?", re.IGNORECASE | re.MULTILINE)
_SWITCH = re.compile(r"^#!.*\bperl.*?\s-\w*([tT])")


class Perl:
    """``source`` is an unpacked perl source; its ``lib`` gets the installed modules."""

    def __init__(self, source: Path, patterns: list[str]) -> None:
        self.source, self.patterns = source, patterns
        self.perl = shutil.which("perl") or "perl"

    def _prepare(self) -> None:
        if (self.source / "t" / "perl").exists():
            return
        line = "use Config; print join qq(\\n), @Config{qw(privlibexp archlibexp)}"
        out = subprocess.run([self.perl, "-e", line], capture_output=True, text=True, check=True).stdout
        for folder in out.split("\n"):
            shutil.copytree(folder, self.source / "lib", dirs_exist_ok=True, symlinks=False)
        for place in (self.source / "perl", self.source / "t" / "perl"):
            place.symlink_to(self.perl)

    def units(self, folder: Path) -> list[Unit]:
        self._prepare()
        tests, found = self.source / "t", []
        for kind in FOLDERS:
            for path in sorted((tests / kind).glob("*.t")):
                name = f"{kind}/{path.name}"
                if self.patterns and not any(re.search(p, name) for p in self.patterns):
                    continue
                switches = (
                    () if kind in PLAIN else ("-I..", "-MTestInit=U1" if kind == "lib" else "-MTestInit")
                )
                first = path.read_text(errors="replace").split("\n", 1)[0]
                taint = _SWITCH.match(first)
                taints = (f"-{taint[1]}",) if taint else ()
                found.append(Unit(name, ("./perl", *switches, *taints, name), tests, ENVIRONMENT))
        return found

    def statuses(self, unit: Unit, output: str) -> Statuses:
        found: Statuses = {}
        for number, match in enumerate(_LINE.finditer(output), 1):
            status = (match[3] or ("fail" if match[1] else "ok")).lower()
            name = match[2] or str(number)
            found[name if name not in found else f"{name} (line {number})"] = status
        return found
