"""Writes files that datagrind's viewers read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO

from interpose.formats.datagrind.records import (
    LABEL_BYTES,
    TYPE_OF,
    Access,
    BBDef,
    BBRun,
    Context,
    EndEvent,
    FreeBlock,
    Header,
    Instr,
    MallocBlock,
    Record,
    StartEvent,
    TextAvma,
    TrackRange,
    UntrackRange,
    encode,
    framed,
)


def _cut(text: str | bytes) -> bytes:
    """At most 64 bytes; no character is cut in two."""
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    data = data.partition(b"\0")[0]
    if len(data) > LABEL_BYTES:
        end = LABEL_BYTES
        while end > LABEL_BYTES - 4 and data[end] & 0xC0 == 0x80:
            end -= 1
        data = data[:end]
    return data


class Writer:
    """Writes the header at once, then record by record.  ValueError: a record that no reader would take."""

    def __init__(self, stream: BinaryIO, *, word_size: int = 8) -> None:
        if word_size not in (4, 8):
            raise ValueError(f"word size {word_size} is neither 4 nor 8")
        self._stream = stream
        self._word_size = word_size
        self._accesses_of: list[int] = []
        self._bbdef_of: list[int] = []
        self.write(Header(word_size=word_size))

    def write(self, record: Record) -> None:
        """Any record, as it is."""
        self._stream.write(framed(TYPE_OF[type(record)], encode(record, self._word_size)))

    def track_range(
        self, address: int, length: int, label: str | bytes, type_name: str | bytes = b""
    ) -> None:
        """Name memory; strings are cut to what the format has room for."""
        self.write(TrackRange(address, length, _cut(type_name), _cut(label)))

    def untrack_range(self, address: int, length: int) -> None:
        """End what :meth:`track_range` began."""
        self.write(UntrackRange(address, length))

    def start_event(self, label: str | bytes) -> None:
        """Begin a stretch of time with a name."""
        self.write(StartEvent(_cut(label)))

    def end_event(self, label: str | bytes) -> None:
        """End what :meth:`start_event` began."""
        self.write(EndEvent(_cut(label)))

    def text_avma(self, address: int, path: str | bytes) -> None:
        """Say where an object's .text section is."""
        data = path.encode("utf-8", "surrogateescape") if isinstance(path, str) else path
        if b"\0" in data:
            raise ValueError("NUL in a path")
        self.write(TextAvma(address, data))

    def malloc_block(self, address: int, size: int, ips: Iterable[int] = ()) -> None:
        """A heap block, with its callers, eight at the most."""
        self.write(MallocBlock(address, size, tuple(ips)[:8]))

    def free_block(self, address: int) -> None:
        """The heap block at an address is freed."""
        self.write(FreeBlock(address))

    def bbdef(self, instrs: Iterable[tuple[int, int]], accesses: Iterable[tuple[int, int, int]] = ()) -> int:
        """A block: (address, size) of instructions, (dir, size, instruction) of accesses.  Its index."""
        record = BBDef(tuple(Instr(*i) for i in instrs), tuple(Access(*a) for a in accesses))
        if not 1 <= len(record.instrs) <= 255:
            raise ValueError(f"a block of {len(record.instrs)} instructions")
        if any(access.instr >= len(record.instrs) for access in record.accesses):
            raise ValueError("an access of an instruction that is not there")
        self.write(record)
        self._accesses_of.append(len(record.accesses))
        return len(self._accesses_of) - 1

    def context(self, bbdef: int, stack: Iterable[int]) -> int:
        """A block on a stack, which begins with the block's own address.  Its index."""
        record = Context(bbdef, tuple(stack))
        if not 0 <= bbdef < len(self._accesses_of):
            raise ValueError(f"there is no block {bbdef}")
        if not 1 <= len(record.stack) <= 255:
            raise ValueError(f"a stack of {len(record.stack)} frames")
        self.write(record)
        self._bbdef_of.append(bbdef)
        return len(self._bbdef_of) - 1

    def bbrun(self, context: int, n_instrs: int, addresses: Iterable[int] = ()) -> None:
        """A run; none is written when no instruction was completed."""
        record = BBRun(context, n_instrs, tuple(addresses))
        if not 0 <= context < len(self._bbdef_of):
            raise ValueError(f"there is no context {context}")
        if len(record.addresses) > self._accesses_of[self._bbdef_of[context]]:
            raise ValueError("more addresses than accesses")
        if n_instrs:
            self.write(record)
