"""Reads the client's heap tables, recorded traces, mappings and shadow (heap_abi.h, rt.h) from its memory."""

from __future__ import annotations

import struct
from bisect import bisect_right

from interpose.jit._native import ffi, lib

from .heap import AllocKind, HeapBlock, HeapStats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NamedTuple

    from interpose.report.stack import Stack, StackResolver
    from interpose.supervisor.client import Client
else:
    from interpose.records import NamedTuple

_BLOCK_SIZE = ffi.sizeof("struct ip_heap_block")
_CHUNK = lib.IP_HEAP_CHUNK
_CTX_SHIFT, _CTX_MASK = 17, lib.IP_CTX_CHUNK_WORDS - 1
_LIVE, _QUARANTINE = lib.IP_HB_LIVE, lib.IP_HB_QUARANTINE
_KINDS = (AllocKind.MALLOC, AllocKind.NEW, AllocKind.NEW_ARRAY, AllocKind.CUSTOM)
_SEGMENT_KINDS = ("anonymous", "file", "anonymous", "brk", "shm")
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
_TOP = (1 << 64) - 1


class Mapping(NamedTuple):
    """One mapping of the client."""

    lo: int
    hi: int
    prot: int
    kind: str
    path: str | None

    @property
    def rwx(self) -> str:
        """``r-x``."""
        return "".join(c if self.prot & bit else "-" for c, bit in zip("rwx", (1, 2, 4), strict=True))


class HeapReader:
    """A view of the stopped client; :meth:`forget` after it ran."""

    def __init__(self, client: Client, resolver: StackResolver) -> None:
        self._client = client
        self._resolver = resolver
        self._stacks: dict[int, Stack | None] = {}
        self._mappings: list[Mapping] | None = None
        self._live: list[HeapBlock] | None = None

    def forget(self) -> None:
        """The client ran: what was read is stale, recorded traces are not."""
        self._mappings = None
        self._live = None

    # -- heap ----------------------------------------------------------------------------------

    def stats(self) -> HeapStats:
        """The counters of HEAP SUMMARY."""
        table = self._table()
        if table is None:
            return HeapStats()
        return HeapStats(
            table.allocs, table.frees, table.bytes_allocated, table.live_bytes, table.live_blocks
        )

    def _table(self) -> Any:
        addr = self._client.symbol(lib.IP_SYM_HEAP_TABLE)
        return self._client.read_struct("struct ip_heap_table", addr) if addr else None

    def live(self) -> list[HeapBlock]:
        """The blocks in use."""
        if self._live is None:
            self._live = list(self._pick(_LIVE, 0, _TOP))
        return self._live

    def near(self, addr: int, distance: int, freed: bool) -> list[HeapBlock]:
        """Live or freed blocks not farther than ``distance`` bytes from an address."""
        lo, hi = max(0, addr - distance), min(addr + distance, _TOP)
        return list(self._pick(_QUARANTINE if freed else _LIVE, lo, hi))

    def _pick(self, state: int, lo: int, hi: int) -> Iterator[HeapBlock]:
        table = self._table()
        if table is None:
            return
        picked = ffi.new("uint32_t[]", _CHUNK)
        for number, start in enumerate(range(0, table.n_blocks, _CHUNK)):
            count = min(table.n_blocks - start, _CHUNK)
            data = self._client.read(table.chunks[number], count * _BLOCK_SIZE)
            if data is None:
                continue
            blocks = ffi.from_buffer("struct ip_heap_block[]", data)
            found = lib.ip_heap_pick(blocks, count, 1 << state, lo, hi, picked, _CHUNK)
            for at in ffi.unpack(picked, found):
                yield self._decoded(blocks[at])

    def _decoded(self, block: Any) -> HeapBlock:
        """:param block: a ``struct ip_heap_block``."""
        stacks = self.stack(block.alloc_ctx), self.stack(block.free_ctx)
        return HeapBlock(block.addr, block.size, _KINDS[block.kind], *stacks, block.state == _QUARANTINE)

    def block(self, index: int) -> HeapBlock | None:
        """One block by its record number."""
        table = self._table()
        if table is None or not 0 < index < table.n_blocks:
            return None
        data = self._client.read(table.chunks[index // _CHUNK] + index % _CHUNK * _BLOCK_SIZE, _BLOCK_SIZE)
        if data is None:
            return None
        states = 1 << _LIVE | 1 << _QUARANTINE
        blocks = ffi.from_buffer("struct ip_heap_block[]", data)
        found = lib.ip_heap_pick(blocks, 1, states, 0, _TOP, ffi.new("uint32_t *"), 1)
        return self._decoded(blocks[0]) if found else None

    def stack(self, number: int) -> Stack | None:
        """A recorded trace; None for number 0 (none kept)."""
        if number == 0:
            return None
        if number not in self._stacks:
            self._stacks[number] = self._read_stack(number)
        return self._stacks[number]

    def _read_stack(self, number: int) -> Stack | None:
        table = self._client.symbol(lib.IP_SYM_CTX_TABLE)
        if not table:
            return None
        chunks = table + ffi.offsetof("struct ip_ctx_table", "chunks")
        where = self._client.read(chunks + 8 * (number >> _CTX_SHIFT), 8)
        if where is None:
            return None
        at = int.from_bytes(where, "little") + 8 * (number & _CTX_MASK)
        head = self._client.read(at, 8)
        if head is None:
            return None
        count = int.from_bytes(head[:4], "little")
        data = self._client.read(at + 8, 8 * count) or b""
        return self._resolver.normalise(struct.unpack(f"<{len(data) // 8}Q", data))

    def stacks(self) -> Iterator[tuple[int, Stack]]:
        """Number and frames of each recorded trace, in the order in which they were first met."""
        where = self._client.symbol(lib.IP_SYM_CTX_TABLE)
        table = self._client.read_struct("struct ip_ctx_table", where) if where else None
        if table is None:
            return
        for chunk in range(table.n_chunks):
            data = self._client.read(table.chunks[chunk], 8 * lib.IP_CTX_CHUNK_WORDS)
            at = 1 if chunk == 0 else 0  # number 0 is none
            while data is not None and at < lib.IP_CTX_CHUNK_WORDS:
                count = int.from_bytes(data[8 * at : 8 * at + 4], "little")
                if not count:
                    break
                number = chunk << _CTX_SHIFT | at
                yield number, self.stack(number) or ()
                at += 1 + count

    # -- errors --------------------------------------------------------------------------------

    def error_counts(self) -> dict[int, int]:
        """How often each error (by its index) was met, repeated ones included."""
        addr = self._client.symbol(lib.IP_SYM_STATS)
        if not addr:
            return {}
        table = self._client.read_struct("struct ip_err_table", addr)
        if table is None:
            return {}
        return {slot.index: slot.count for slot in table.slots if slot.hash}

    def requested_ranges(self) -> list[tuple[int, int, int]]:
        """Where the program still has invalid accesses not reported: first and last byte, and the number of
        the range among all that there are, those between counted."""
        addr = self._client.symbol(lib.IP_SYM_TOOL)
        table = self._client.read_struct("struct mc_ranges", addr) if addr else None
        if table is None:
            return []
        size = ffi.sizeof("struct mc_range")
        found, number, reached = [], 0, 0
        for place in range(table.count):
            one = self._client.read_struct("struct mc_range", table.at + place * size)
            if one is None:
                break
            number += one.lo > reached
            if one.kind:
                found.append((one.lo, one.hi, number))
            number += 1
            reached = one.hi + 1
        return found

    # -- mappings ------------------------------------------------------------------------------

    def mappings(self) -> list[Mapping]:
        """The client's mappings by address."""
        if self._mappings is None:
            self._mappings = self._read_mappings()
        return self._mappings

    def _read_mappings(self) -> list[Mapping]:
        table = self._client.read_struct("struct rt_seg_table", self._client.symbol(lib.IP_SYM_SEGMENTS))
        if table is None:
            return []
        count = int.from_bytes(self._client.read(table.count_at, 4) or b"", "little")
        data = self._client.read(table.segments, count * ffi.sizeof("struct rt_seg")) or b""
        names: dict[int, str | None] = {0: None}
        found = []
        for seg in ffi.from_buffer("struct rt_seg[]", data):
            path = seg.path
            if path not in names:
                raw = self._client.read_string(table.paths + path, 4096)
                names[path] = raw.decode("utf-8", "surrogateescape") if raw else None
            found.append(Mapping(seg.lo, seg.hi, seg.prot, _SEGMENT_KINDS[seg.kind], names[path]))
        return found

    def mapping_at(self, addr: int) -> Mapping | None:
        """The mapping that holds an address."""
        found = self.mappings()
        at = bisect_right(found, addr, key=lambda m: m.lo) - 1
        return found[at] if at >= 0 and addr < found[at].hi else None
