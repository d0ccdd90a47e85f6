"""Every instruction and access of a program, beside what Valgrind's lackey sees of it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tools.memtrace.tracing import build, records, trace

from interpose.formats.drmemtrace.constants import Type
from interpose.formats.drmemtrace.records import Data, Instr

Step = tuple[int, set[tuple[str, int, int]]]
STACKS = 1 << 24
"""The program's own data lie below."""


def from_one_stack(steps: list[Step]) -> list[Step]:
    """Stack addresses counted from the first one."""
    top = next(address for _, data in steps for _, address, _ in data if address > STACKS)
    return [
        (pc, {(kind, address - top if address > STACKS else address, size) for kind, address, size in data})
        for pc, data in steps
    ]


def of_lackey(text: str) -> list[Step]:
    steps: list[Step] = []
    for kind, address, size in re.findall(r"^\s*([ILSM])\s+([0-9a-f]+),(\d+)$", text, re.MULTILINE):
        place, length = int(address, 16), int(size)
        if kind == "I":
            steps.append((place, set()))
        else:
            steps[-1][1].update((one, place, length) for one in ("LS" if kind == "M" else kind))
    return steps


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_the_same_accesses(tmp_path: Path) -> None:
    program = build(
        "accesses.c", tmp_path, "-O1", "-mno-red-zone", "-fno-stack-protector", "-nostdlib", "-static"
    )
    assert trace(tmp_path, program).returncode == 0
    ours: list[Step] = []
    for record in records(tmp_path):
        if isinstance(record, Instr):
            ours.append((record.pc, set()))
        elif isinstance(record, Data):
            ours[-1][1].add(("L" if record.kind is Type.READ else "S", record.addr, record.size))
    log = tmp_path / "lackey.log"
    options = ["--tool=lackey", "--trace-mem=yes", f"--log-file={log}"]
    subprocess.run(["valgrind", *options, program], check=True)
    theirs = of_lackey(log.read_text())
    # Valgrind shows a string instruction once more, when it finds that nothing is left to do.
    ended = [n for n in range(1, len(theirs)) if theirs[n][0] == theirs[n - 1][0] and not theirs[n][1]]
    for n in reversed(ended):
        del theirs[n]
    assert len(ours) == len(theirs)
    pairs = zip(from_one_stack(ours), from_one_stack(theirs), strict=True)
    assert [(n, one, other) for n, (one, other) in enumerate(pairs) if one != other] == []
