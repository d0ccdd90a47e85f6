"""The records, as Python has them, and how they lie in a payload."""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from interpose.jit._native import lib

SIGNATURE = b"DATAGRIND1\0"
HEADER_BYTES = 14
LONGEST = lib.IP_DG_LONGEST
LABEL_BYTES = 64
"""What tracers keep of a string."""


class Dir(enum.IntEnum):
    """What an access does; a file may hold other numbers, which stay numbers."""

    READ = lib.IP_DG_READ
    WRITE = lib.IP_DG_WRITE
    EXEC = lib.IP_DG_EXEC


class Instr(NamedTuple):
    """An instruction of a block."""

    address: int
    size: int


class Access(NamedTuple):
    """An access of a block: by which of its instructions."""

    dir: int
    size: int
    instr: int


@dataclass(frozen=True, slots=True)
class Header:
    """How the file is to be read: the first record."""

    version: int = 1
    big_endian: int = 0
    word_size: int = 8


@dataclass(frozen=True, slots=True)
class TrackRange:
    """Memory with a name from here on."""

    address: int
    length: int
    type_name: bytes
    label: bytes


@dataclass(frozen=True, slots=True)
class UntrackRange:
    """The end of a :class:`TrackRange`."""

    address: int
    length: int


@dataclass(frozen=True, slots=True)
class StartEvent:
    """A stretch of time with a name begins."""

    label: bytes


@dataclass(frozen=True, slots=True)
class EndEvent:
    """The end of a :class:`StartEvent`."""

    label: bytes


@dataclass(frozen=True, slots=True)
class TextAvma:
    """Where the .text section of an object is."""

    address: int
    path: bytes


@dataclass(frozen=True, slots=True)
class MallocBlock:
    """A heap block that was allocated, and its callers, innermost first."""

    address: int
    size: int
    ips: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FreeBlock:
    """The heap block at an address was freed."""

    address: int


@dataclass(frozen=True, slots=True)
class BBDef:
    """A block; its index counts the blocks before it."""

    instrs: tuple[Instr, ...]
    accesses: tuple[Access, ...]


@dataclass(frozen=True, slots=True)
class BBRun:
    """A run of a block: the context's index, instructions completed, and an address for each access."""

    context: int
    n_instrs: int
    addresses: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Context:
    """A block with its stack, `stack[0]` the block's start; its index counts the contexts before it."""

    bbdef: int
    stack: tuple[int, ...]


Record: TypeAlias = (
    Header
    | TrackRange
    | UntrackRange
    | StartEvent
    | EndEvent
    | TextAvma
    | MallocBlock
    | FreeBlock
    | BBDef
    | BBRun
    | Context
)

TYPE_OF: dict[type, int] = {
    Header: lib.IP_DG_HEADER,
    TrackRange: lib.IP_DG_TRACK_RANGE,
    UntrackRange: lib.IP_DG_UNTRACK_RANGE,
    StartEvent: lib.IP_DG_START_EVENT,
    EndEvent: lib.IP_DG_END_EVENT,
    TextAvma: lib.IP_DG_TEXT_AVMA,
    MallocBlock: lib.IP_DG_MALLOC_BLOCK,
    FreeBlock: lib.IP_DG_FREE_BLOCK,
    BBDef: lib.IP_DG_BBDEF,
    BBRun: lib.IP_DG_BBRUN,
    Context: lib.IP_DG_CONTEXT,
}


class DroppedError(Exception):
    """The record has no effect."""

    def __init__(self, reason: int, a: int = 0, b: int = 0) -> None:
        super().__init__(reason)
        self.what = (reason, a, b)


class TooShortError(Exception):
    """The payload ends too early, and nobody knows where the next record is meant to be."""


class Payload:
    """A payload, read from front to end."""

    def __init__(self, data: bytes, word_size: int) -> None:
        self._data = data
        self._word = "<I" if word_size == 4 else "<Q"
        self._word_size = word_size
        self.at = 0

    @property
    def left(self) -> int:
        """Bytes that were not read yet."""
        return len(self._data) - self.at

    def _take(self, size: int) -> bytes:
        if size > self.left:
            raise TooShortError
        self.at += size
        return self._data[self.at - size : self.at]

    def byte(self) -> int:
        """The next byte, as a number."""
        return self._take(1)[0]

    def plain(self, count: int) -> bytes:
        """So many bytes, as they are."""
        return self._take(count)

    def word(self) -> int:
        """A word of the file's size."""
        return struct.unpack(self._word, self._take(self._word_size))[0]

    def words(self, count: int) -> tuple[int, ...]:
        """Words in a row."""
        data = self._take(count * self._word_size)
        return struct.unpack(f"<{count}{self._word[1]}", data)

    def string(self) -> bytes:
        """Bytes to a NUL, which is not among them."""
        end = self._data.find(b"\0", self.at)
        if end < 0:
            raise DroppedError(lib.IP_DG_UNTERMINATED)
        return self._take(end + 1 - self.at)[:-1]


def decode(kind: int, p: Payload) -> Record:
    """The record of a payload, all but the header."""
    if kind == lib.IP_DG_BBRUN:
        context, n_instrs = p.word(), p.byte()
        return BBRun(context, n_instrs, p.words(p.left // p._word_size))
    if kind == lib.IP_DG_CONTEXT:
        return Context(p.word(), p.words(p.byte()))
    if kind == lib.IP_DG_BBDEF:
        n_instrs, n_accesses = p.byte(), p.word()
        instrs = tuple(Instr(p.word(), p.byte()) for _ in range(n_instrs))
        accesses = p.plain(3 * n_accesses)
        return BBDef(instrs, tuple(Access(*accesses[i : i + 3]) for i in range(0, len(accesses), 3)))
    if kind == lib.IP_DG_MALLOC_BLOCK:
        return MallocBlock(p.word(), p.word(), p.words(p.word()))
    if kind == lib.IP_DG_FREE_BLOCK:
        return FreeBlock(p.word())
    if kind == lib.IP_DG_TRACK_RANGE:
        return TrackRange(p.word(), p.word(), p.string(), p.string())
    if kind == lib.IP_DG_UNTRACK_RANGE:
        return UntrackRange(p.word(), p.word())
    if kind == lib.IP_DG_START_EVENT:
        return StartEvent(p.string())
    if kind == lib.IP_DG_END_EVENT:
        return EndEvent(p.string())
    if kind == lib.IP_DG_TEXT_AVMA:
        return TextAvma(p.word(), p.string())
    if kind == lib.IP_DG_HEADER:
        raise DroppedError(lib.IP_DG_SECOND_HEADER)
    raise DroppedError(lib.IP_DG_UNKNOWN_TYPE, kind)


def encode(record: Record, word_size: int = 8) -> bytes:
    """The payload of a record."""
    letter = "I" if word_size == 4 else "Q"

    def words(*values: int) -> bytes:
        return struct.pack(f"<{len(values)}{letter}", *values)

    if isinstance(record, BBRun):
        return words(record.context) + bytes([record.n_instrs]) + words(*record.addresses)
    if isinstance(record, Context):
        return words(record.bbdef) + bytes([len(record.stack)]) + words(*record.stack)
    if isinstance(record, BBDef):
        head = bytes([len(record.instrs)]) + words(len(record.accesses))
        instrs = b"".join(words(address) + bytes([size]) for address, size in record.instrs)
        return head + instrs + b"".join(map(bytes, record.accesses))
    if isinstance(record, MallocBlock):
        return words(record.address, record.size, len(record.ips), *record.ips)
    if isinstance(record, FreeBlock):
        return words(record.address)
    if isinstance(record, TrackRange):
        return words(record.address, record.length) + record.type_name + b"\0" + record.label + b"\0"
    if isinstance(record, UntrackRange):
        return words(record.address, record.length)
    if isinstance(record, TextAvma):
        return words(record.address) + record.path + b"\0"
    if isinstance(record, Header):
        return SIGNATURE + bytes([record.version, record.big_endian, record.word_size])
    return record.label + b"\0"


def framed(kind: int, payload: bytes) -> bytes:
    """A record as it lies in the file."""
    size = len(payload)
    head = bytes([kind, size]) if size < 255 else struct.pack("<BBQ", kind, 255, size)
    return head + payload
