"""Every system call with arguments undefined, unaddressable and null: the reports are those of Valgrind 3.19.

Where there is no Valgrind of that version, only that the program survives and each call is checked at all.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from tools.memcheck.guests import REFERENCE, valgrind_version
from tools.memcheck.sweep_cases import NOT_MADE, all_cases, program, table
from tools.memcheck.sweep_differences import SWEEP_DIFFERENCES

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


@pytest.mark.skipif(valgrind_version() != REFERENCE, reason="needs Valgrind 3.19")
def test_reports_are_valgrinds_but_for_known_differences(ours, binary):
    theirs = reports(["valgrind"], binary)
    used, unexplained = set(), []
    for case in all_cases():
        name = f"{case.call}_{case.tag}"
        here, there = ours.get(name, set()), theirs.get(name, set())
        for line, side in [(line, "ours") for line in here - there] + [(x, "theirs") for x in there - here]:
            for entry in SWEEP_DIFFERENCES:
                pattern = getattr(entry, side)
                if pattern and re.fullmatch(entry.cases, name) and re.fullmatch(pattern, line):
                    used.add(entry)
                    break
            else:
                unexplained.append((name, side, line))
    assert not unexplained
    assert {entry.reason for entry in SWEEP_DIFFERENCES} - {entry.reason for entry in used} == set()
