"""Traces put together entry by entry, without the writer that is tested."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

from interpose.formats.drmemtrace.constants import FILE_TYPE, MarkerId, Type

NOP, RET, SYSCALL = b"\x90", b"\xc3", b"\x0f\x05"
PC = 0x401000


def entry(kind: int, size: int = 0, addr: int = 0) -> bytes:
    return struct.pack("<HHQ", kind, size, addr & 0xFFFFFFFFFFFFFFFF)


def marker(number: int, value: int = 0) -> bytes:
    return entry(Type.MARKER, number, value)


def encoding(code: bytes) -> bytes:
    pieces = [code[:8], code[8:]] if len(code) > 8 else [code]
    return b"".join(struct.pack("<HH8s", Type.ENCODING, len(piece), piece) for piece in pieces)


def instr(pc: int, code: bytes = NOP, kind: Type = Type.INSTR, target: int | None = None) -> bytes:
    """An instruction with its encoding."""
    branch = b"" if target is None else marker(MarkerId.BRANCH_TARGET, target)
    return encoding(code) + branch + entry(kind, len(code), pc)


def header(version: int = 7, filetype: int = FILE_TYPE, tid: int = 11, pid: int = 10) -> bytes:
    return b"".join(
        [
            entry(Type.HEADER, 0, version),
            marker(MarkerId.VERSION, version),
            marker(MarkerId.FILETYPE, filetype),
            entry(Type.THREAD, 4, tid),
            entry(Type.PID, 4, pid),
        ]
    )


def prelude(chunk_instrs: int = 10_000_000, timestamp: int = 1000) -> bytes:
    return b"".join(
        [
            marker(MarkerId.CACHE_LINE_SIZE, 64),
            marker(MarkerId.CHUNK_INSTR_COUNT, chunk_instrs),
            marker(MarkerId.PAGE_SIZE, 4096),
            marker(MarkerId.TIMESTAMP, timestamp),
            marker(MarkerId.CPU_ID, 2),
        ]
    )


def end(tid: int = 11) -> bytes:
    return entry(Type.THREAD_EXIT, 4, tid) + entry(Type.FOOTER)


def trace(*body: bytes, chunk_instrs: int = 10_000_000) -> bytes:
    """A trace of one chunk with that in it."""
    return b"".join([header(), prelude(chunk_instrs), *body, end()])


MINIMAL = trace(instr(PC))


def archive(path: Path, *chunks: bytes, method: int = zipfile.ZIP_DEFLATED, digits: int = 8) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for number, chunk in enumerate(chunks):
            file.writestr(f"chunk.{number:0{digits}d}", chunk)
    return path


def plain(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path
