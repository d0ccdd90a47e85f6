"""Every system call with arguments undefined, unaddressable and null: the reports are those of Valgrind 3.19
or 3.27.1, whose names for arguments are others.

Where there is no Valgrind of these versions, only that the program survives and each call is checked at all.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from tools.memcheck.guests import NEWER_VERSION, VERSIONS, valgrind_version
from tools.memcheck.sweep_cases import NOT_MADE, all_cases, program, table
from tools.memcheck.sweep_differences import NEWER_SWEEP_DIFFERENCES, SWEEP_DIFFERENCES, UNKNOWN_CALLS

from interpose.tools.memcheck.newer_names import NEWER_NAMES

OPTIONS = ("-q", "--error-limit=no", "--num-callers=4")
LAST = 500


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "sweep.c").write_text(program(all_cases()))
    flags = ["-std=gnu17", "-g", "-O1", "-w", "-Wno-int-conversion"]
    flags += ["-fno-optimize-sibling-calls", "-fno-ipa-icf"]
    subprocess.run(["gcc", *flags, "-o", "sweep", "sweep.c"], check=True, cwd=folder)
    for each in (*reversed(folder.parents), folder):  # the program runs as nobody, who must find itself
        if each.owner() == Path.home().owner() and os.access(each, os.W_OK) and each != Path("/"):
            each.chmod(each.stat().st_mode | 0o055)
    return folder / "sweep"


def reports(command: list[str], binary: Path) -> dict[str, set[str]]:
    """What is reported in each case: ``CALL_CASE`` to the lines behind "Syscall param"."""
    words = [*command, *OPTIONS, str(binary), "0", str(LAST)]
    result = subprocess.run(words, capture_output=True, timeout=300, cwd=binary.parent)
    assert result.returncode == 0, result.stderr[-2000:]
    found = defaultdict(set)
    what = None
    for line in result.stderr.decode("utf-8", "replace").splitlines():
        line = re.sub(r"^==\d+== ?", "", line)
        if (match := re.match(r"Syscall param (.*)", line)) is not None:
            what = match[1]
        elif what and (match := re.match(r"   (?:at|by) .*: c_\d+_(\w+) ", line)) is not None:
            found[match[1]].add(what)
            what = None
        elif re.match(r"(Invalid|Use of|Conditional)", line):
            raise AssertionError(line)
    return found


@pytest.fixture(scope="module")
def ours(binary: Path) -> dict[str, set[str]]:
    return reports([sys.executable, "-m", "interpose"], binary)


def test_every_call_with_arguments_is_checked(ours):
    """Each argument's register, unless the call has none; NOSYS calls have no arguments in the table."""
    reported = {case.call for case in all_cases() if f"{case.call}_{case.tag}" in ours}
    wanted = {row.name for row in table() if row.arguments and row.name not in NOT_MADE}
    assert wanted - reported - {"io_submit"} == set()


def newer(line: str) -> set[str]:
    """What 3.27 may call the argument that a line of ours names."""
    argument, parenthesis, said = line.partition(")")
    return {f"{name}{said}" for name in NEWER_NAMES.get(argument + parenthesis, ())}


def alone(here: set[str], there: set[str]) -> list[tuple[str, str]]:
    """The lines that only one reports, with whose they are."""
    names = {line: {line, *newer(line)} if valgrind_version() == NEWER_VERSION else {line} for line in here}
    mine = [(line, "ours") for line in here if not names[line] & there]
    return mine + [(line, "theirs") for line in there.difference(*names.values())]


@pytest.mark.skipif(valgrind_version() not in VERSIONS, reason=f"compares with {VERSIONS}")
def test_reports_are_valgrinds_but_for_known_differences(ours, binary):
    theirs = reports(["valgrind"], binary)
    new = valgrind_version() == NEWER_VERSION
    known = SWEEP_DIFFERENCES
    if new:
        common = (entry for entry in SWEEP_DIFFERENCES if entry is not UNKNOWN_CALLS)
        known = (*NEWER_SWEEP_DIFFERENCES, *common)
    used, unexplained = set(), []
    for case in all_cases():
        name = f"{case.call}_{case.tag}"
        for line, side in alone(ours.get(name, set()), theirs.get(name, set())):
            for entry in known:
                pattern = getattr(entry, side)
                if pattern and re.fullmatch(entry.cases, name) and re.fullmatch(pattern, line):
                    used.add(entry)
                    break
            else:
                unexplained.append((name, side, line))
    assert not unexplained
    needed = NEWER_SWEEP_DIFFERENCES if new else SWEEP_DIFFERENCES
    assert {entry.reason for entry in needed} - {entry.reason for entry in used} == set()
