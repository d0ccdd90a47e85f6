"""Reads the client's heap tables, recorded traces, mappings and shadow (heap_abi.h, rt.h) from its memory."""

from __future__ import annotations

import struct
from bisect import bisect_right
from itertools import groupby

from interpose.jit._native import ffi, lib
from interpose.supervisor.mappings import Mapping, brk_mapping, mapping_at, read_mappings

from .blocks import KINDS, ROW, Blocks
from .heap import CHUNKS, FAR, NESTED_MORE, AllocKind, HeapBlock, HeapStats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from interpose.report.stack import Stack, StackResolver
    from interpose.supervisor.client import Client
    from interpose.supervisor.unloaded import UnloadedCode

    _Row = tuple[int, int, int, int, Any]
    """State, kind, first and last address of a block, and its ``struct ip_near_block``."""

_BLOCK_SIZE = ffi.sizeof("struct ip_heap_block")
_STATE_AT, _KIND_AT = (ffi.offsetof("struct ip_heap_block", name) for name in ("state", "kind"))
_CHUNK = lib.IP_HEAP_CHUNK
_PIECE = _CHUNK // 8  # records that are copied at a time
_NEAR = FAR + NESTED_MORE
"""So far from an address blocks are looked for together: every step of its description asks for some."""
_FEW_NEAR = 16
"""More blocks near one address take a second look."""
_CTX_SHIFT, _CTX_MASK = 17, lib.IP_CTX_CHUNK_WORDS - 1
_LIVE, _QUARANTINE = lib.IP_HB_LIVE, lib.IP_HB_QUARANTINE
NOT_KEPT: Stack = (0,)
"""Shown in the place of a stack that ``--keep-stacktraces`` does not keep, as Valgrind does."""
_FEW = 64
"""Traces that are read one by one."""
_COUNT = struct.Struct("5Q")
"""``struct ip_heap_count``."""
assert _COUNT.size == ffi.sizeof("struct ip_heap_count")


def _pool_of(blocks: Any, at: int) -> int:
    """The heap's number of a chunk's pool."""
    return int(ffi.cast("struct ip_heap_pooled *", blocks + at + 1).pool)


def _row(row: Any) -> _Row:
    block = row.block
    return block.state, block.kind, block.addr, block.addr + block.size, row


class HeapReader:
    """A view of the stopped client; :meth:`forget` after it ran."""

    def __init__(self, client: Client, resolver: StackResolver, until_freed: bool = False) -> None:
        """:param until_freed: a block's allocation is not known any more once it is freed."""
        self._client = client
        self._until_freed = until_freed
        self._errors_head = b""
        self._resolver = resolver
        self._stacks: dict[int, Stack | None] = {}
        self._mappings: list[Mapping] | None = None
        self._ignored: list[tuple[int, int, int]] | None = None
        self._live: Blocks | None = None
        self._near: tuple[int, int, Any, list[_Row]] | None = None
        self.unloaded: UnloadedCode | None = None
        """What is known of code that stacks from before its unmapping are about."""

    def forget_stacks(self) -> None:
        """What the addresses in recorded stacks are has changed."""
        self._stacks.clear()
        self._live = None

    def forget(self) -> None:
        """The client ran: what was read is stale, recorded traces are not."""
        self._mappings = None
        self._ignored = None
        self._live = None
        self._near = None

    # -- heap ----------------------------------------------------------------------------------

    def stats(self) -> HeapStats:
        """The counters of HEAP SUMMARY."""
        table = self._table()
        if table is None:
            return HeapStats()
        return HeapStats(
            table.allocs, table.frees, table.bytes_allocated, table.live_bytes, table.live_blocks
        )

    def is_gone(self) -> bool:
        """Whether the client's memory went with the client: then the last reads may have found nothing.

        It goes as a whole and for good, so all reads before a successful one saw what there was.
        """
        addr = self._client.symbol(lib.IP_SYM_HEAP_TABLE)
        return bool(addr) and self._client.read(addr, 8) is None and self._client.is_ending()

    def _table(self) -> Any:
        addr = self._client.symbol(lib.IP_SYM_HEAP_TABLE)
        return self._client.read_struct("struct ip_heap_table", addr) if addr else None

    def live(self) -> Blocks:
        """The blocks in use."""
        if self._live is None:
            rows = bytearray()
            out = None
            for _, data in self._pieces():
                records = ffi.from_buffer(data)
                out = out or ffi.new("struct ip_leak_block[]", _PIECE)
                found = lib.ip_leak_pick(records, len(data) // _BLOCK_SIZE, out)
                rows += ffi.buffer(out, found * ROW)
            self._live = Blocks(rows, self._origin, self.read_ahead)
        return self._live

    def _origin(self, context: int) -> tuple[Stack | None, int]:
        return self.stack(context) or NOT_KEPT, context

    def near(self, addr: int, distance: int, freed: bool) -> list[HeapBlock]:
        """Live or freed blocks not farther than ``distance`` bytes from an address."""
        state = _QUARANTINE if freed else _LIVE
        lo, hi = addr - distance, addr + distance
        return [
            self._decoded(row)
            for found, _, start, end, row in self._around(addr, distance)
            if found == state and start <= hi and lo <= end
        ]

    def pool_chunks(self, number: int) -> list[HeapBlock]:
        """The chunks of a memory pool, by address, of those at one address the longest first."""
        found = []
        for first, data in self._pieces():
            blocks = ffi.from_buffer("struct ip_heap_block[]", data)
            marks = zip(data[_STATE_AT::_BLOCK_SIZE], data[_KIND_AT::_BLOCK_SIZE], strict=True)
            for at, (state, kind) in enumerate(marks):
                if state == _LIVE and KINDS[kind] in CHUNKS and _pool_of(blocks, at) == number:
                    found.append(self.block(first + at))
        chunks = [chunk for chunk in found if chunk is not None]
        return sorted(chunks, key=lambda chunk: (chunk.addr, -chunk.size))

    def chunk_at(self, addr: int, kind: AllocKind) -> HeapBlock | None:
        """The live chunk of a memory pool that an address lies in, or in whose red zone it does."""
        number = KINDS.index(kind)
        chunks = [
            self._decoded(row)
            for state, of, _, _, row in self._around(addr, 0)
            if of == number and state == _LIVE
        ]
        return Blocks.of(chunks).chunk_at(addr, kind) if chunks else None

    def _around(self, addr: int, distance: int) -> list[_Row]:
        """All blocks that are so near, and maybe others; good until the next call."""
        if self._near is None or self._near[0] != addr or self._near[1] < distance:
            distance = max(distance, _NEAR)
            table, found, room = self._client.symbol(lib.IP_SYM_HEAP_TABLE), 0, 0
            rows: Any = []
            while table and found >= room:
                room = max(found + _FEW_NEAR, 2 * room)
                rows = ffi.new("struct ip_near_block[]", room)
                found = lib.ip_heap_near(self._client.memory_fd(), table, addr, distance, rows, room)
            # A row, or a slice, of an array of cffi's does not keep it alive.
            self._near = addr, distance, rows, [_row(rows[at]) for at in range(found)]
        return self._near[3]

    def unallocated(self, addr: int, redzone: int) -> tuple[int, int] | None:
        """The piece of the heap's memory around an address that is no block's, nor a block's red zone."""
        table, ends = self._client.symbol(lib.IP_SYM_HEAP_TABLE), ffi.new("uint64_t[2]")
        if not table or not lib.ip_heap_unallocated(self._client.memory_fd(), table, addr, redzone, ends):
            return None
        return ends[0], ends[1]

    def _pieces(self) -> Iterator[tuple[int, bytes]]:
        """Copies of the heap's records, ``struct ip_heap_block``, with the number of the first one."""
        table = self._table()
        if table is None:
            return
        for start in range(0, table.n_blocks, _PIECE):
            chunk, within = divmod(start, _CHUNK)
            count = min(table.n_blocks - start, _PIECE)
            data = self._client.read(table.chunks[chunk] + within * _BLOCK_SIZE, count * _BLOCK_SIZE)
            if data is not None:
                yield start, data

    def _decoded(self, row: Any) -> HeapBlock:
        """:param row: ``struct ip_near_block``."""
        block = row.block
        alloc, free = self.stack(block.alloc_ctx), self.stack(block.free_ctx)
        kind, freed = KINDS[block.kind], block.state == _QUARANTINE
        if freed:
            free = free or NOT_KEPT
            if self._until_freed:
                alloc = None
        else:
            alloc = alloc or NOT_KEPT
        return HeapBlock(block.addr, block.size, kind, alloc, free, freed, row.redzone, block.alloc_ctx)

    def block(self, index: int) -> HeapBlock | None:
        """One block by its record number."""
        table = self._client.symbol(lib.IP_SYM_HEAP_TABLE)
        row = ffi.new("struct ip_near_block *")
        if not table or not lib.ip_heap_numbered(self._client.memory_fd(), table, index, row):
            return None
        return self._decoded(row)

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
        return self._stack_of(number, struct.unpack(f"<{len(data) // 8}Q", data))

    def _stack_of(self, number: int, raw: Sequence[int]) -> Stack:
        stack = self._resolver.normalise(raw)
        return stack if self.unloaded is None else self.unloaded.numbered(stack, number)

    def _take(self, number: int, chunk: bytes) -> Stack | None:
        """The trace of a number, from the bytes of its chunk."""
        if number not in self._stacks:
            at = 8 * (number & _CTX_MASK)
            count = int.from_bytes(chunk[at : at + 4], "little")
            data = chunk[at + 8 : at + 8 + 8 * count]
            self._stacks[number] = self._stack_of(number, struct.unpack(f"<{len(data) // 8}Q", data))
        return self._stacks[number]

    def read_ahead(self, numbers: Iterable[int]) -> None:
        """Read the traces that are about to be asked for, if they are many: all that is between them, too."""
        wanted = sorted(set(numbers).difference(self._stacks, (0,)))
        where = self._client.symbol(lib.IP_SYM_CTX_TABLE)
        table = self._client.read_struct("struct ip_ctx_table", where) if len(wanted) > _FEW else None
        if table is None:
            return
        for chunk, members in groupby(wanted, lambda number: number >> _CTX_SHIFT):
            data = self._client.read(table.chunks[chunk], 8 * lib.IP_CTX_CHUNK_WORDS)
            if data is None:
                continue
            for number in members:
                self._take(number, data)

    def next_stack(self) -> int:
        """The number that the next trace will get."""
        where = self._client.symbol(lib.IP_SYM_CTX_TABLE)
        table = self._client.read(where, ffi.offsetof("struct ip_ctx_table", "chunks")) if where else None
        if table is None:
            return 1
        at = ffi.offsetof("struct ip_ctx_table", "used_words")
        return int.from_bytes(table[at : at + 8], "little")

    def outdate_stacks(self) -> None:
        """Traces and errors met from now on are others than those so far, even with the same addresses."""
        self._outdate(lib.IP_SYM_CTX_TABLE, "struct ip_ctx_table")
        self.outdate_errors()

    def outdate_errors(self) -> None:
        """Errors met from now on are told, whether they were met before or not."""
        self._outdate(lib.IP_SYM_STATS, "struct ip_err_table")

    def _outdate(self, symbol: int, table: str) -> None:
        """Count up what is in the program's memory, and so in a forked child's."""
        where = self._client.symbol(symbol)
        at = where + ffi.offsetof(table, "outdated")
        before = self._client.read(at, 8) if where else None
        if before is not None:
            self._client.write(at, (int.from_bytes(before, "little") + 1).to_bytes(8, "little"))

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
                yield number, self._take(number, data) or ()
                at += 1 + count

    def counts(self) -> list[tuple[Stack, int, int, int, int]]:
        """What each recorded stack allocated and freed, bytes and blocks (``--xtree-memory=full``)."""
        table = self._table()
        if table is None or not table.counts:
            return []
        data = self._client.read(table.counts, table.counts_cap * ffi.sizeof("struct ip_heap_count"))
        found = sorted(row for row in _COUNT.iter_unpack(data or b"") if row[0])
        self.read_ahead(row[0] for row in found)
        return [(self.stack(number) or (), *sums) for number, *sums in found]

    # -- errors --------------------------------------------------------------------------------

    def error_counts(self) -> dict[int, int]:
        """How often each error (by its index) was met, repeated ones included; nothing if none was meanwhile.

        Programs ask for their errors often: so the table, which is large, is read only when there are more.
        """
        addr = self._client.symbol(lib.IP_SYM_STATS)
        head = self._client.read(addr, ffi.offsetof("struct ip_err_table", "slots")) if addr else None
        if head is None or head == self._errors_head:
            return {}
        self._errors_head = head
        table = self._client.read_struct("struct ip_err_table", addr)
        size = ffi.sizeof("struct ip_err_slot")
        slots = self._client.read(table.slots, table.capacity * size) if table is not None else None
        words = memoryview(slots or b"").cast("Q")  # of each slot: hash, count, kind and index
        return {words[at + 2] & 0xFFFF_FFFF: words[at + 1] for at in range(0, len(words), 3) if words[at]}

    def read_counts_again(self) -> None:
        """Have the next call of :meth:`error_counts` tell all."""
        self._errors_head = b""

    def errors_met(self) -> int:
        """How many errors the runtime has counted, suppressed ones, too."""
        addr = self._client.symbol(lib.IP_SYM_STATS)
        table = self._client.read_struct("struct ip_err_table", addr) if addr else None
        return int(table.total) if table is not None else 0

    def tool_root(self) -> Any | None:
        """``struct mc_root``: what memcheck in the client shows; None if there is nothing to read."""
        addr = self._client.symbol(lib.IP_SYM_TOOL)
        return self._client.read_struct("struct mc_root", addr) if addr else None

    def ignored_ranges(self) -> list[tuple[int, int, int]]:
        """Where invalid accesses are not reported: first and last byte, and whether the program asked for it
        (1) or an option (0), which is known here once there was such an access."""
        if self._ignored is None:
            self._ignored = list(self._read_ignored())
        return self._ignored

    def _read_ignored(self) -> Iterator[tuple[int, int, int]]:
        root = self.tool_root()
        if root is None:
            return
        for place in range(root.ignored.count):
            at = root.ignored.at + place * ffi.sizeof("struct mc_range")
            one = self._client.read_struct("struct mc_range", at)
            if one is None:
                break
            yield one.lo, one.hi, one.kind

    def requested_ranges(self) -> list[tuple[int, int, int]]:
        """Where the program still has invalid accesses not reported: first and last byte, and the number of
        the range among all that there are, those between counted."""
        found, number, reached = [], 0, 0
        for lo, hi, kind in self._read_ignored():  # also of a program that vanished since it was looked at
            number += lo > reached
            if kind:
                found.append((lo, hi, number))
            number += 1
            reached = hi + 1
        return found

    def described_at(self, addr: int) -> tuple[Any, bytes] | None:
        """Of the blocks that hold an address and that the program has described the one of the lowest number:
        its ``struct mc_described`` and what it is called."""
        root = self._client.symbol(lib.IP_SYM_TOOL)
        block = ffi.new("struct mc_described *")
        if not root or not lib.ip_described_at(self._client.memory_fd(), root, addr, block):
            return None
        return block, self._client.read(block.text, block.text_bytes) or b""

    # -- mappings ------------------------------------------------------------------------------

    def mappings(self) -> list[Mapping]:
        """The client's mappings by address."""
        if self._mappings is None:
            self._mappings = read_mappings(self._client)
        return self._mappings

    def mapping_at(self, addr: int) -> Mapping | None:
        """The mapping that holds an address."""
        if self._mappings is None:
            return mapping_at(self._client, addr)
        at = bisect_right(self._mappings, addr, key=lambda m: m.lo) - 1
        return self._mappings[at] if at >= 0 and addr < self._mappings[at].hi else None

    def brk_mapping(self) -> Mapping | None:
        """The first mapping of what brk(2) has made."""
        return brk_mapping(self._client)
