"""Small traces for the tools."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

from formats.drmemtrace.entries import PC

from interpose.formats.drmemtrace.constants import MarkerId, Type
from interpose.formats.drmemtrace.writer import Writer

LOAD, STORE, BACK, SYSCALL = b"\x8b\x07", b"\x89\x07", b"\xeb\xfc", b"\x0f\x05"
CALL, RET, REP = b"\xe8\x0b\x00\x00\x00", b"\xc3", b"\xf3\xa4"

MAPPED = (
    "basic_counts",
    "opcode_mix",
    "reuse_distance",
    "cache_simulator",
    "histogram",
    "func_view",
    "syscall_mix",
)
"""Analyzers that read a trace in parts, in several processes."""


def loop(writer: Writer, accesses: Iterable[tuple[Type, int]], start: int = 1000) -> None:
    """A load or store and a jump back for each access; the time goes on every ten."""
    for number, (kind, addr) in enumerate(accesses):
        if number % 10 == 0:
            writer.timestamp(start + number)
            writer.cpu(0)
        writer.instr(PC, 2, Type.INSTR, LOAD if kind == Type.READ else STORE)
        writer.data(kind, 4, addr)
        writer.instr(PC + 2, 2, Type.INSTR_DIRECT_JUMP, BACK)


def random_accesses(seed: int, count: int, lines: int) -> list[tuple[Type, int]]:
    rng = random.Random(seed)
    return [
        (
            rng.choice([Type.READ, Type.WRITE]),
            0x7000 + 64 * int(lines * rng.random() ** 2) + rng.randrange(64),
        )
        for _ in range(count)
    ]


def loops(folder: Path, *threads: list[tuple[Type, int]], chunk: int = 100, form: str = "zip") -> Path:
    """A trace of threads 11, 12, … that run :func:`loop` at the same time."""
    (folder / "trace").mkdir(parents=True)
    for number, accesses in enumerate(threads):
        path = folder / "trace" / f"app.{11 + number}.trace.{form}"
        with Writer(path, tid=11 + number, pid=10, chunk_instr_count=chunk, level=1) as writer:
            loop(writer, accesses, 1000 + number)
    return folder


def various(folder: Path) -> Path:
    """A bit of everything in one thread, and the names of its functions."""
    (folder / "trace").mkdir(parents=True)
    (folder / "aux").mkdir()
    (folder / "aux" / "funclist.log").write_text("0,1,0x401010,libc.so!f\n1,0,0x402000,noret,libc.so!g\n")
    with Writer(folder / "trace" / "app.00011.0001.trace.zip", tid=11, pid=10) as writer:
        writer.timestamp(5000)
        writer.cpu(-1)
        writer.instr(PC, 5, Type.INSTR_DIRECT_CALL, CALL)
        writer.data(Type.WRITE, 8, 0x7FF8)
        writer.marker(MarkerId.FUNC_ID, 0)
        writer.marker(MarkerId.FUNC_RETADDR, PC + 5)
        writer.marker(MarkerId.FUNC_ARG, 17)
        writer.instr(PC + 16, 2, encoding=REP)
        for number in range(3):
            if number:
                writer.no_fetch(PC + 16, 2)
            writer.data(Type.WRITE, 1, 0x9000 + number)
            writer.data(Type.READ, 1, 0x8000 + number)
        writer.instr(PC + 18, 1, Type.INSTR_RETURN, RET, PC + 5)
        writer.data(Type.READ, 8, 0x7FF8)
        writer.marker(MarkerId.FUNC_ID, 0)
        writer.marker(MarkerId.FUNC_RETVAL, 3)
        writer.instr(PC + 5, 2, encoding=SYSCALL)
        writer.timestamp(5001)
        writer.cpu(1)
        writer.marker(MarkerId.SYSCALL, 1)
        writer.marker(MarkerId.SYSCALL_FAILED, 32)
        writer.timestamp(5002)
        writer.cpu(1)
        writer.instr(PC + 7, 3, encoding=b"\x0f\x18\x08")
        writer.data(Type.PREFETCH_READ_L1, 1, 0x8000)
        writer.instr(PC + 10, 2, Type.INSTR_UNTAKEN_JUMP, b"\x74\x06")
    return folder
