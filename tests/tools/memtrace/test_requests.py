"""The instructions of client requests, of which the engine sees one."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpose import paths
from interpose.formats.drmemtrace.records import Instr
from interpose.memtrace import cli

from .tracing import build, folders, records, trace

ROTATIONS = [bytes([0x48, 0xC1, 0xC7, n]) for n in (3, 13, 61, 51)]
EXCHANGE = b"\x48\x87\xdb"


@pytest.mark.parametrize("chunk", [1001, 10_000_000])
def test_each_instruction_of_a_request_is_there(chunk: int, tmp_path: Path) -> None:
    """As a CPU runs them, also where a chunk is cut between two of them."""
    program = build("requests.c", tmp_path, "-O1", f"-I{paths.include()}")
    options = (f"--chunk-instr-count={chunk}",)
    done = trace(tmp_path, program, options=options)
    assert (done.returncode, done.stdout) == (0, "100\n")
    assert "damaged" not in done.stderr
    run = [record for record in records(tmp_path) if isinstance(record, Instr)]
    begins = [n for n, record in enumerate(run) if record.encoding == ROTATIONS[0]]
    assert len(begins) >= 100
    for n in begins:
        assert [one.encoding for one in run[n : n + 5]] == [*ROTATIONS, EXCHANGE]
        assert [one.pc - run[n].pc for one in run[n : n + 6]] == [0, 4, 8, 12, 16, 19]
    assert cli.main(["invariant_checker", str(folders(tmp_path)[0])]) == 0
