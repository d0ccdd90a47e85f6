"""A strict reader of datagrind's files for the tests, written from the format's description alone."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HEADER, TRACK, UNTRACK, START, END, TEXT, MALLOC, FREE, BBDEF, BBRUN, CONTEXT = (
    0,
    3,
    4,
    5,
    6,
    8,
    9,
    10,
    11,
    12,
    13,
)


@dataclass(frozen=True)
class Access:
    """One access of a run."""

    pc: int
    write: bool
    address: int
    size: int

    def __str__(self) -> str:
        return f"{'RW'[self.write]} {self.size}"


@dataclass
class BBDef:
    """A block: its instructions, and (direction, size, instruction) of its accesses."""

    insns: list[tuple[int, int]]
    accesses: list[tuple[int, int, int]]


@dataclass
class Run:
    """A block that ran: its call stack with the block's address first, and what it accessed."""

    stack: list[int]
    n_insns: int
    block: BBDef
    addresses: tuple[int, ...]

    @property
    def accesses(self) -> list[Access]:
        return [
            Access(self.block.insns[insn][0], direction == 1, address, size)
            for address, (direction, size, insn) in zip(self.addresses, self.block.accesses, strict=False)
        ]


@dataclass
class Mark:
    """Anything that is no run: ``kind`` is its record's type."""

    kind: int
    values: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass
class Recording:
    """A whole file."""

    events: list[Run | Mark] = field(default_factory=list)
    bbdefs: list[BBDef] = field(default_factory=list)
    contexts: list[tuple[int, list[int]]] = field(default_factory=list)

    @property
    def runs(self) -> list[Run]:
        return [event for event in self.events if isinstance(event, Run)]

    @property
    def marks(self) -> list[Mark]:
        return [event for event in self.events if isinstance(event, Mark)]

    @property
    def accesses(self) -> list[Access]:
        return [access for run in self.runs for access in run.accesses]


def raw(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Types and payloads; an AssertionError for a record that ends behind the file."""
    at = 0
    while at < len(data):
        kind, length = data[at], data[at + 1]
        assert kind < 128
        at += 2
        if length == 255:
            (length,) = struct.unpack_from("<Q", data, at)
            at += 8
        assert at + length <= len(data), "a record is cut off"
        yield kind, data[at : at + length]
        at += length


def _words(data: bytes) -> tuple[int, ...]:
    assert len(data) % 8 == 0
    return struct.unpack(f"<{len(data) // 8}Q", data)


def _texts(data: bytes, count: int) -> tuple[str, ...]:
    parts = data.split(b"\0")
    assert len(parts) == count + 1
    assert parts[-1] == b""
    return tuple(part.decode() for part in parts[:-1])


def read(path: str | Path) -> Recording:
    """The file, every rule of the format tested."""
    found = Recording()
    records = raw(Path(path).read_bytes())
    assert next(records) == (HEADER, b"DATAGRIND1\0\x01\x00\x08")
    for kind, data in records:
        if kind == BBDEF:
            n, n_accesses = data[0], _words(data[1:9])[0]
            assert n >= 1
            assert len(data) == 9 + 9 * n + 3 * n_accesses
            insns = [struct.unpack_from("<QB", data, 9 + 9 * i) for i in range(n)]
            accesses = [(data[i], data[i + 1], data[i + 2]) for i in range(9 + 9 * n, len(data), 3)]
            assert all(direction < 2 and size and insn < n for direction, size, insn in accesses), (
                insns,
                accesses,
            )
            assert [insn for _, _, insn in accesses] == sorted(insn for _, _, insn in accesses)
            found.bbdefs.append(BBDef(insns, accesses))
        elif kind == CONTEXT:
            number, n = _words(data[:8])[0], data[8]
            assert n >= 1
            assert len(data) == 9 + 8 * n
            stack = list(_words(data[9:]))
            assert stack[0] == found.bbdefs[number].insns[0][0]
            found.contexts.append((number, stack))
        elif kind == BBRUN:
            number, stack = found.contexts[_words(data[:8])[0]]
            block = found.bbdefs[number]
            addresses = _words(data[9:])
            assert 1 <= data[8] <= len(block.insns)
            assert len(addresses) <= len(block.accesses)
            found.events.append(Run(stack, data[8], block, addresses))
        elif kind == TRACK:
            found.events.append(Mark(kind, _words(data[:16]), _texts(data[16:], 2)))
        elif kind in (START, END):
            found.events.append(Mark(kind, (), _texts(data, 1)))
        elif kind == TEXT:
            found.events.append(Mark(kind, _words(data[:8]), _texts(data[8:], 1)))
        elif kind == MALLOC:
            words = _words(data)
            assert words[2] == len(words) - 3 <= 8
            found.events.append(Mark(kind, words))
        elif kind in (UNTRACK, FREE):
            words = _words(data)
            assert len(words) == (2 if kind == UNTRACK else 1)
            found.events.append(Mark(kind, words))
        else:
            raise AssertionError(f"record {kind}")
    return found
