"""What is no instruction is none in the files of datagrind and memtrace."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tools.datagrind.running import INCLUDE, record
from tools.memtrace.tracing import records, symbols, trace

from interpose.formats.drmemtrace.records import Instr

GUEST = Path(__file__).resolve().parents[1] / "guests" / "trace" / "nothing.c"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nothing") / "nothing"
    subprocess.run(
        ["gcc", "-O1", "-w", "-no-pie", f"-I{INCLUDE}/valgrind", f"-I{INCLUDE}", "-o", path, GUEST],
        check=True,
    )
    return path


def test_datagrind_has_instructions_only(program: Path, tmp_path: Path) -> None:
    recording = record([str(program)], tmp_path)
    assert [insn for block in recording.bbdefs for insn in block.insns if insn[1] == 0] == []


def test_memtrace_goes_on(program: Path, tmp_path: Path) -> None:
    """The trace ended at the first one, for no template has an instruction without bytes."""
    done = trace(tmp_path, program)
    assert (done.returncode, "damaged" in done.stderr) == (0, False)
    pcs = [record.pc for record in records(tmp_path) if isinstance(record, Instr)]
    assert pcs.count(symbols(program)["called"]) == 5
    assert pcs.count(symbols(program)["handler"]) == 6
