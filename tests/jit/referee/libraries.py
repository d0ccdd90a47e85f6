"""Executable sections of the system's shared libraries, and their instructions compared with iced."""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from iced_x86 import Decoder

from .compare import NAMES, Native, differences

FOLDER = Path("/usr/lib/x86_64-linux-gnu")
CHUNK = 1 << 16
LONGEST = 16
EXECINSTR, NOBITS, X86_64 = 4, 8, 62


def libraries(folder: Path) -> list[Path]:
    """Every 64-bit ELF shared object below the folder, once each."""
    seen: set[tuple[int, int]] = set()
    found = []
    for root, _, names in os.walk(folder):
        for name in names:
            path = Path(root, name)
            if ".so" not in name or path.is_symlink() or not path.is_file():
                continue
            stat = path.stat()
            if (stat.st_dev, stat.st_ino) not in seen:
                seen.add((stat.st_dev, stat.st_ino))
                found.append(path)
    return sorted(found)


def sections(path: Path) -> Iterator[tuple[int, bytes]]:
    """Address and contents of each executable section (System V ABI, "Sections")."""
    with path.open("rb") as stream:
        if os.fstat(stream.fileno()).st_size < 64:
            return
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 18)[0] != X86_64:
                return
            table = struct.unpack_from("<Q", data, 40)[0]
            entry, count = struct.unpack_from("<HH", data, 58)
            for i in range(count):
                _, kind, flags, address, offset, size = struct.unpack_from("<IIQQQQ", data, table + i * entry)
                if flags & EXECINSTR and kind != NOBITS and size:
                    yield address, data[offset : offset + size]


def sample(path: Path, size: int) -> Iterator[tuple[int, bytes]]:
    """The middle of the library's largest executable section."""
    address, data = max(sections(path), key=lambda s: len(s[1]), default=(0, b""))
    start = max(0, len(data) // 2 - size // 2)
    if data:
        yield address + start, data[start : start + size]


def chosen(paths: list[Path], count: int) -> list[Path]:
    """So many of the libraries, by a rule that depends on their names alone."""
    return sorted(paths, key=lambda p: (zlib.crc32(p.name.encode()), p))[:count]


@dataclass
class Referee:
    """Compares code with iced: every length, and everything else once for each encoding."""

    native: Native
    slots: int = 1 << 20
    instructions: int = 0
    encodings: int = 0
    invalid: int = 0
    found: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Difference -> bytes and text of the first instruction that shows it."""

    def __post_init__(self) -> None:
        self.seen = self.native.ffi.new("uint64_t[]", self.slots)
        self.fresh = self.native.ffi.new("uint32_t[]", CHUNK)

    def grow(self) -> None:
        """Double the set of encodings seen; a set that is half full becomes slow."""
        ffi, old = self.native.ffi, self.seen
        mask = self.slots * 2 - 1
        new = ffi.new("uint64_t[]", self.slots * 2)
        for value in ffi.unpack(old, self.slots):
            if value:
                slot = value & mask
                while new[slot]:
                    slot = (slot + 1) & mask
                new[slot] = value
        self.seen, self.slots = new, self.slots * 2

    def code(self, address: int, data: bytes) -> None:
        at = 0
        while at < len(data):
            at += self.chunk(address + at, data[at : at + CHUNK + LONGEST])

    def chunk(self, pc: int, data: bytes) -> int:
        """Compare the instructions that begin in a chunk; the number of bytes that are done."""
        stop = min(len(data), CHUNK)
        lens = bytearray(stop)
        view = self.native.ffi.from_buffer("uint8_t[]", lens, require_writable=True)
        if 2 * (self.encodings + CHUNK) > self.slots:
            self.grow()
        n = self.native.lib.sweep(data, len(data), stop, pc, view, self.seen, self.slots, self.fresh)
        theirs, end = bytearray(stop), 0
        decoder = Decoder(64, data, ip=pc)
        while (at := decoder.position) < stop:
            insn = decoder.decode()
            if insn.code:
                theirs[at] = insn.len
            else:
                decoder.position = at + 1
            end = decoder.position
        if lens != theirs:
            end = next(i for i in range(stop) if lens[i] != theirs[i])
            self.compare(pc + end, data[end : end + LONGEST])
            end += lens[end] or 1
        self.encodings += n
        for i in range(n):
            at = self.fresh[i]
            self.compare(pc + at, data[at : at + LONGEST])
        done = min(end, stop)
        self.instructions += done - lens.count(0, 0, done)
        self.invalid += end - sum(lens[:done])
        return end

    def compare(self, pc: int, data: bytes) -> None:
        insn = Decoder(64, data, ip=pc).decode()
        for what in differences(self.native, data, insn):
            self.found.setdefault(
                f"{NAMES[insn.mnemonic]}: {what}", (data[: insn.len or 16].hex(), str(insn))
            )
