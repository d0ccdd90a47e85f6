"""What the checker passes over in C is what it would have passed record by record."""

from __future__ import annotations

import random
from pathlib import Path

from formats.drmemtrace.entries import PC, RET, SYSCALL, end, entry, header, instr, marker, plain, prelude
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.formats.drmemtrace.constants import FILE_TYPE, FileType, MarkerId, Type
from interpose.memtrace import invariants

CALL, JUMP, JZ = b"\xe8\x0b\x00\x00\x00", b"\xeb\x06", b"\x74\x06"
LOAD, MOVSB, MASKED = b"\x8b\x07", b"\xf3\xa4", bytes.fromhex("62f375223f0e00")
READ, WRITE = entry(Type.READ, 8, 0x7000), entry(Type.WRITE, 8, 0x7000)


def piece(rng: random.Random, pc: int) -> tuple[list[bytes], int]:
    """An instruction with what belongs to it, and where it leads."""
    again = entry(Type.INSTR_NO_FETCH, 2, pc)
    return rng.choice(
        (
            ([instr(pc)], pc + 1),
            ([instr(pc, LOAD), READ], pc + 2),
            ([instr(pc, MASKED), *[READ] * rng.randrange(2)], pc + 7),
            ([instr(pc, MOVSB), READ, WRITE, again, READ, WRITE], pc + 2),
            ([instr(pc, CALL, Type.INSTR_DIRECT_CALL), WRITE], pc + 16),
            ([instr(pc, JUMP, Type.INSTR_DIRECT_JUMP)], pc + 8),
            ([instr(pc, JZ, Type.INSTR_TAKEN_JUMP)], pc + 8),
            ([instr(pc, JZ, Type.INSTR_UNTAKEN_JUMP)], pc + 2),
            ([instr(pc, RET, Type.INSTR_RETURN, target=PC + 64), READ], PC + 64),
            ([instr(pc, SYSCALL), marker(MarkerId.SYSCALL, 1)], pc + 2),
            ([instr(pc, b"\x0f\x18\x08"), entry(Type.PREFETCH_READ_L1, 1, 9)], pc + 3),
            ([instr(pc, b"\x06")], pc + 1),
            ([marker(MarkerId.TIMESTAMP, 2000), marker(MarkerId.CPU_ID, 1)], pc),
            ([marker(MarkerId.FUNC_ID, 1), marker(MarkerId.FUNC_ARG, 2)], pc),
            ([marker(MarkerId.WINDOW_ID, 1)], PC + 96),
        )
    )


def damaged(seed: int) -> bytes:
    """A trace with a few entries lost, twice or somewhere else."""
    rng = random.Random(seed)
    pc, entries = PC, []
    for _ in range(rng.randrange(1, 60)):
        more, pc = piece(rng, pc)
        entries += more
    for _ in range(rng.randrange(4)):
        place = rng.randrange(len(entries) or 1)
        entries[place : place + 1] = rng.choice(
            ([], entries[place : place + 1] * 2, rng.sample(entries, min(1, len(entries))))
        )
    version = rng.choice((7, 7, 6, 5))
    filetype = FILE_TYPE ^ rng.choice(
        (0, 0, FileType.SYSCALL_NUMBERS, FileType.DFILTERED, FileType.IFILTERED)
    )
    limit = rng.choice((10_000_000, 10_000_000, 7))
    return header(version, filetype) + prelude(limit) + b"".join(entries) + end()


@settings(max_examples=400, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_same_violations(tmp_path_factory, seed: int) -> None:
    path: Path = plain(tmp_path_factory.mktemp("ordinary", numbered=True) / "t", damaged(seed))
    found = list(invariants.check(path))
    thread = invariants._Thread(path)
    thread.skip = lambda block, index, count: index  # type: ignore[method-assign]
    assert found == list(thread.check())


def test_most_are_passed_over(tmp_path, monkeypatch) -> None:
    """A straight program costs no step in Python for each instruction."""
    seen = []
    record = invariants._Thread.record
    monkeypatch.setattr(
        invariants._Thread, "record", lambda self, one: (seen.append(one), record(self, one))[1]
    )
    body = b"".join(instr(PC + 2 * n, LOAD) + READ for n in range(5000))
    path = plain(tmp_path / "t", header() + prelude() + body + end())
    assert list(invariants.check(path)) == []
    assert len(seen) < 20
