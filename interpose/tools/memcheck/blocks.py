"""Live blocks as rows in C (``leak_graph.h``): a large heap has millions of them, and few are ever shown."""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from itertools import islice

from interpose.jit._native import ffi, lib

from .heap import CHUNKS, AllocKind, HeapBlock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from interpose.report.stack import Stack

ROW = ffi.sizeof("struct ip_leak_block")
_ROW = struct.Struct("2Q4I")
assert _ROW.size == ROW
KINDS = tuple(AllocKind)
"""In the order of ``enum ip_alloc_kind``."""


def _known(origins: Iterable[int]) -> None:
    """Stacks that need not be read."""


class Blocks:
    """Blocks by address; of nested ones the outer first."""

    def __init__(
        self,
        rows: bytearray,
        origin: Callable[[int], tuple[Stack | None, int]],
        read_ahead: Callable[[Iterable[int]], None] = _known,
    ) -> None:
        """:param rows: ``struct ip_leak_block``, in any order; they are sorted in place.
        :param origin: the stack and its number in order of appearance, by what a row has as its origin.
        :param read_ahead: is told for which of them ``origin`` is about to be called, if they are many.
        """
        self._count = len(rows) // ROW
        self.rows: Any = ffi.from_buffer("struct ip_leak_block[]", rows)
        self.origin = origin
        self.read_ahead = read_ahead
        facts = lib.ip_leak_sort(self.rows, self._count)
        self.are_apart = not facts & lib.IP_LB_TOUCHING
        """No block lies in another one, or begins where another does."""
        self.only_chunks = not facts & lib.IP_LB_ALLOCATED
        """None was allocated: all are chunks of memory pools."""

    @classmethod
    def of(cls, blocks: Iterable[HeapBlock]) -> Blocks:
        """The same of any blocks; stacks of freed ones are not kept."""
        if isinstance(blocks, Blocks):
            return blocks
        origins: dict[tuple[Stack | None, int], int] = {}
        found = list(blocks)
        rows = bytearray(len(found) * ROW)
        table = ffi.from_buffer("struct ip_leak_block[]", rows)
        for row, block in zip(table, found, strict=True):
            origin = origins.setdefault((block.alloc_stack, block.context), len(origins))
            row.addr, row.size, row.origin = block.addr, block.size, origin
            row.kind = KINDS.index(block.kind)
            row.detail = block.redzone if block.kind in CHUNKS else block.turn
        return cls(rows, list(origins).__getitem__)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> HeapBlock:
        if not 0 <= index < self._count:
            raise IndexError(index)
        row = self.rows[index]
        stack, context = self.origin(row.origin)
        kind = KINDS[row.kind]
        redzone, turn = (row.detail, 0) if kind in CHUNKS else (0, row.detail)
        return HeapBlock(row.addr, row.size, kind, stack, redzone=redzone, context=context, turn=turn)

    def __iter__(self) -> Iterator[HeapBlock]:
        for index in range(self._count):
            yield self[index]

    def _rows(self) -> Iterator[tuple[int, ...]]:
        return _ROW.iter_unpack(ffi.buffer(self.rows))

    def by_origin(self) -> dict[int, list[int]]:
        """Bytes and number of the blocks of each origin."""
        sums: dict[int, list[int]] = {}
        for _, size, origin, *_ in self._rows():
            cost = sums.setdefault(origin, [0, 0])
            cost[0] += size
            cost[1] += 1
        return sums

    def stacks(self, most: int) -> list[Stack]:
        """Some of the stacks that the first blocks are from."""
        found: list[Stack] = []
        for origin in dict.fromkeys(row[2] for row in islice(self._rows(), most * most)):
            stack = self.origin(origin)[0]
            if stack is not None:
                found.append(stack)
            if len(found) == most:
                break
        return found

    def find(self, addr: int) -> int | None:
        """Which block holds an address; an empty block holds its start.  Of blocks that are apart."""
        at = bisect_right(range(self._count), addr, key=lambda index: self.rows[index].addr) - 1
        if at < 0:
            return None
        block = self.rows[at]
        return at if addr == block.addr or addr - block.addr < block.size else None

    def any_in(self, start: int, end: int) -> bool:
        """Does a block lie in a range, or a part of one?  Of blocks that are apart."""
        at = bisect_left(range(self._count), start, key=lambda index: self.rows[index].addr)
        if at < self._count and self.rows[at].addr < end:
            return True
        return at > 0 and self.rows[at - 1].addr + self.rows[at - 1].size > start

    def chunk_at(self, addr: int, kind: AllocKind) -> HeapBlock | None:
        """The chunk of a memory pool that an address lies in, or in whose red zone it does."""
        at = lib.ip_leak_chunk_at(self.rows, self._count, KINDS.index(kind), addr)
        return self[at] if at >= 0 else None
