"""Leak search: which blocks can the program still reach? (memcheck manual, "Memory leak detection")

One pass over the client's memory finds every aligned word that points into a block; C does it
(``leak_scan.c``).  A word that lies in a block is an edge of a graph, any other a root.  What cannot be
trusted, because it is undefined or not addressable, is removed from the few hits rather than tested
on every word.  The graph is walked in C, too (``leak_graph.c``), which asks here for heuristics: a heap of
millions of blocks has no object for each.
"""

from __future__ import annotations

import struct

from interpose.jit._native import ffi, lib
from interpose.plain import cached_property
from interpose.words import Words

from .blocks import Blocks
from .heap import HeapBlock
from .nesting import Arrangement, arrange, holds
from .options import LEAK_HEURISTICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from enum import IntEnum
    from typing import Any, NamedTuple, Protocol

    from interpose.report.stack import Stack
else:
    from interpose.records import IntEnum, NamedTuple

    Protocol = object

WORD = 8
CHUNK = 1 << 19
"""Bytes of client memory copied at a time: two of them at once are a part of a run's peak."""
_HITS = 1 << 13
_FUNCTIONS = 4
"""So many words of what may be a table of virtual functions are looked at."""
_ADDRESSES = 1 << 63
"""No process has any from there on."""
_NO_HOLDER = 0xFFFF_FFFF
_GROUP = struct.Struct("4Q2I")
"""``struct ip_leak_group``."""
assert _GROUP.size == ffi.sizeof("struct ip_leak_group")
_FIELDS = 3
"""64-bit words of ``struct ip_hit``; the last holds block and holder."""


class State(IntEnum):
    """The four leak kinds, in the order of loss records of equal size."""

    REACHABLE = 0
    POSSIBLE = 1
    INDIRECT = 2
    DEFINITE = 3

    @property
    def word(self) -> str:
        """The name used by options and suppressions."""
        return self.name.lower()


class LeakMemory(Protocol):
    """What a search needs of the stopped client."""

    def regions(self) -> Iterable[tuple[int, int]]:
        """Readable ranges of the client, stacks and heap included, without overlap.

        They may hold red zones and dead stack: only words that :meth:`valid_words` admits count.
        """

    def readable(self) -> Iterable[tuple[int, int]]:
        """What the program may read, by address, whether it is looked at or not."""

    def read(self, addr: int, length: int, /) -> bytes | None:
        """A copy of client memory, None if it cannot be read as a whole."""

    def valid_words(self, addrs: Sequence[int], /) -> Sequence[int]:
        """For aligned words in ascending order: 1 if all eight bytes are addressable and defined."""

    def read_words(self, addrs: Sequence[int], /) -> Sequence[int]:
        """Words in ascending order, 0 where one cannot be read."""

    def registers(self) -> Iterable[int]:
        """Defined values of the general registers of all threads."""

    def is_code(self, addr: int, /) -> bool:
        """Does an executable mapping hold the address?"""

    def is_gone(self) -> bool:
        """Was the client killed meanwhile? What was read before this answer is whole if not."""


class Hit(NamedTuple):
    """A pointer into a block: found at ``where`` (0: a register), in the block ``holder`` (-1: a root)."""

    where: int
    holder: int
    block: int
    offset: int


class LeakSearch:
    """The result: a state for each block, by index into ``blocks``."""

    def __init__(
        self,
        blocks: Blocks,
        hits: Words[int],
        heuristics: Heuristics,
        checked_bytes: int = 0,
        overlaps: Sequence[tuple[HeapBlock, HeapBlock]] = (),
    ) -> None:
        """:param hits: ``struct ip_hit``, in the order in which they are followed."""
        self.blocks = blocks
        self.checked_bytes = checked_bytes
        self.overlaps = overlaps
        """Blocks that overlap by mistake; the first of each two is not in ``blocks``."""
        self._hits = hits
        self._walk = ffi.new("struct ip_leak_walk *")
        self._memory: list[Any] = []
        self._walk_graph(heuristics)

    def _new(self, kind: str, count: int) -> Any:
        self._memory.append(ffi.new(f"{kind}[]", count))
        return self._memory[-1]

    def _walk_graph(self, heuristics: Heuristics) -> None:
        walk, n, m = self._walk, len(self.blocks), len(self._hits) // _FIELDS
        walk.blocks, walk.n_blocks, walk.n_hits = self.blocks.rows, n, m
        hits = ffi.from_buffer("struct ip_hit[]", self._hits) if m else ffi.NULL
        walk.hits = hits
        walk.asks = bool(heuristics)
        walk.state, walk.heuristic, walk.refused = (self._new("uint8_t", n) for _ in range(3))
        walk.clique, walk.first = self._new("uint32_t", n), self._new("size_t", n + 2)
        walk.order, walk.queue = self._new("uint32_t", m), self._new("uint32_t", 2 * n + m)
        if heuristics:
            self._refuse_inner(heuristics)
        while (asked := lib.ip_leak_go(walk)) >= 0:
            hit = hits[asked]
            name = heuristics.match(self.blocks[hit.block], hit.offset)
            walk.answer = 0 if name is None else LEAK_HEURISTICS.index(name) + 1
            if name is None and not heuristics.begins_with_table(self.blocks[hit.block]):
                walk.refused[hit.block] |= lib.IP_LR_ELSE

    def _refuse_inner(self, heuristics: Heuristics) -> None:
        """Answer at once what most pointers into blocks are: ordinary ones.

        Where each object has a header (Python's collector), nearly all blocks are pointed into; to ask for
        each took most of a search.
        """
        walk, n = self._walk, len(self.blocks)
        inner, addrs = ffi.new("uint32_t[]", n), ffi.new("uint64_t[]", n)
        count = lib.ip_leak_inner(walk, inner, addrs)
        starts = Words("Q", bytes(ffi.buffer(addrs)[: count * WORD]))
        for number in heuristics.may_begin_with_table(starts):
            walk.refused[inner[number]] &= ~lib.IP_LR_ELSE & 0xFF

    @cached_property
    def state(self) -> list[State]:
        """What became of each block."""
        names = tuple(State)
        return [names[each] for each in ffi.unpack(self._walk.state, len(self.blocks))]

    @cached_property
    def clique(self) -> list[int]:
        """For an indirectly lost block, the definitely lost one that it hangs on; else itself."""
        return list(ffi.unpack(self._walk.clique, len(self.blocks)))

    @cached_property
    def heuristic(self) -> list[str | None]:
        """The heuristic by which a block was found, unless a pointer to its start was met later."""
        names = (None, *LEAK_HEURISTICS)
        return [names[each] for each in ffi.unpack(self._walk.heuristic, len(self.blocks))]

    @property
    def hits(self) -> list[Hit]:
        """All pointers to blocks that count."""
        return list(_decoded(self._hits))

    @cached_property
    def _grouped(self) -> tuple[Groups, Any]:
        """The groups, and the number of each block's."""
        slots, n = 1 << 12, len(self.blocks)
        group_of = ffi.new("uint32_t[]", n)
        count = 0
        found: Any = ()
        while n and not count:
            slots *= 2
            found = ffi.new("struct ip_leak_group[]", slots // 2)
            count = lib.ip_leak_groups(self._walk, ffi.new("uint32_t[]", slots), slots, found, group_of)
        rows = bytes(ffi.buffer(found, count * _GROUP.size)) if count else b""
        return Groups(rows, self.blocks.origin, self.blocks.read_ahead), group_of

    @property
    def groups(self) -> Groups:
        """The blocks by state and origin, in the order in which their first ones lie."""
        return self._grouped[0]

    @property
    def group_of(self) -> list[int]:
        """For each block the number of its group."""
        return list(ffi.unpack(self._grouped[1], len(self.blocks)))

    def by_state(self) -> Iterator[tuple[State, int, int]]:
        """Bytes and blocks of each state."""
        size, blocks = (ffi.new("uint64_t[]", len(State)) for _ in range(2))
        lib.ip_leak_by_state(self._walk, size, blocks)
        for state in State:
            yield state, size[state], blocks[state]

    def by_heuristic(self) -> Iterator[tuple[str, int, int]]:
        """Bytes and blocks that each heuristic found."""
        size, blocks = (ffi.new("uint64_t[]", lib.IP_LEAK_HEURISTICS) for _ in range(2))
        lib.ip_leak_by_heuristic(self._walk, size, blocks)
        for number, name in enumerate(LEAK_HEURISTICS, 1):
            yield name, size[number], blocks[number]


class Group(NamedTuple):
    """Blocks of the same state and origin (``Blocks.origin``), and what is lost with them."""

    state: State
    origin: int
    bytes: int
    blocks: int
    indirect_bytes: int
    indirect_blocks: int


class Groups:
    """All groups of a search, which they outlast: as rows in C, until somebody looks at them."""

    def __init__(
        self,
        rows: bytes,
        origin: Callable[[int], tuple[Stack | None, int]],
        read_ahead: Callable[[Iterable[int]], None],
    ) -> None:
        """:param rows: ``struct ip_leak_group``; the others as :class:`Blocks` has them."""
        self._rows = rows
        self.origin = origin
        self._read_ahead = read_ahead

    def __len__(self) -> int:
        return len(self._rows) // _GROUP.size

    def __iter__(self) -> Iterator[Group]:
        names = tuple(State)
        for size, blocks, indirect, indirect_blocks, origin, state in _GROUP.iter_unpack(self._rows):
            yield Group(names[state], origin, size, blocks, indirect, indirect_blocks)

    def read_stacks(self) -> None:
        """All of them will be asked for."""
        self._read_ahead(row[4] for row in _GROUP.iter_unpack(self._rows))


def search(
    blocks: Iterable[HeapBlock], memory: LeakMemory, heuristics: Iterable[str] = LEAK_HEURISTICS
) -> LeakSearch:
    """Search for pointers to the live blocks."""
    found = parts = Blocks.of(blocks)
    nest = None
    if not found.are_apart:
        nest = arrange(found)
        found, parts = Blocks.of(nest.blocks), Blocks.of(nest.parts)
    hits, checked = find_hits(parts, memory)
    if hits:
        good = bytes(memory.valid_words(hits[::_FIELDS]))
        kept = lib.ip_leak_keep(ffi.from_buffer("struct ip_hit[]", hits), len(good), good)
        del hits[kept * _FIELDS :]
    if nest is not None and nest.dropped:
        # Not even the words of the outer ones are roots.
        hits = rows_of(hit for hit in _decoded(hits) if hit.holder >= 0 or not nest.is_dropped(hit.where))
    closed = _closed(parts, memory)
    if closed:
        targets = ((parts.rows[hit.block].addr + hit.offset, hit) for hit in _decoded(hits))
        hits = rows_of(hit for target, hit in targets if not holds(closed, target))
    for value in memory.registers():
        if (block := parts.find(value)) is not None and not holds(closed, value):
            hits.extend((0, value - parts[block].addr, _NO_HOLDER << 32 | block))
    if nest is not None and nest.owners is not None:
        hits = rows_of(_of_blocks(_decoded(hits), nest, nest.owners))
    overlaps = nest.overlaps if nest is not None else ()
    return LeakSearch(found, hits, Heuristics(heuristics, memory), checked, overlaps)


def _closed(blocks: Blocks, memory: LeakMemory) -> list[tuple[int, int]]:
    """Where blocks lie that the program cannot read: what points there is no pointer, as under Valgrind."""
    closed, at = list[tuple[int, int]](), 0
    for start, end in (*memory.readable(), (1 << 64, 1 << 64)):
        if at < start and blocks.any_in(at, start):
            closed.append((at, start))
        at = max(at, end)
    return closed


def _of_blocks(hits: Iterable[Hit], nest: Arrangement, owners: Sequence[int]) -> Iterator[Hit]:
    """Hits in parts as hits in the blocks that own them."""
    for hit in hits:
        block = owners[hit.block]
        offset = hit.offset + nest.parts[hit.block].addr - nest.blocks[block].addr
        holder = owners[hit.holder] if hit.holder >= 0 else -1
        yield Hit(hit.where, holder, block, offset)
        if not offset:
            for outer in nest.holders.get(block, ()):
                yield Hit(hit.where, holder, outer, 0)


# -- scanning ------------------------------------------------------------------------------------------------


def _decoded(hits: Words[int]) -> Iterator[Hit]:
    columns = iter(hits)
    for where, offset, blocks in zip(columns, columns, columns, strict=True):
        holder = blocks >> 32
        yield Hit(where, -1 if holder == _NO_HOLDER else holder, blocks & 0xFFFF_FFFF, offset)


def rows_of(hits: Iterable[Hit]) -> Words[int]:
    """``struct ip_hit`` of pointers."""
    rows = Words("Q")
    for hit in hits:
        holder = _NO_HOLDER if hit.holder < 0 else hit.holder
        rows.extend((hit.where, hit.offset, holder << 32 | hit.block))
    return rows


def find_hits(blocks: Blocks, memory: LeakMemory) -> tuple[Words[int], int]:
    """All words of the client's memory that point into the blocks, and the number of bytes looked at.

    Most of them lie in dead memory, so they stay rows of ``struct ip_hit`` until they are known to count.
    """
    scanner = make_scanner(blocks)
    hits = Words("Q")
    checked = 0
    for start, end in memory.regions():
        start = (start + WORD - 1) & -WORD
        end &= -WORD
        for addr, data in _copies(memory, start, end):
            checked += len(data)
            hits += scanner(addr, data)
    return hits, checked


def _copies(memory: LeakMemory, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """A region in chunks; where a chunk cannot be read, its readable pages."""
    page = 4096
    while start < end:
        length = min(CHUNK, end - start)
        data = memory.read(start, length)
        if data is not None:
            yield start, data
        elif length > page:
            for at in range(start, start + length, page):
                part = memory.read(at, min(page, start + length - at))
                if part is not None:
                    yield at, part
        start += length


def make_scanner(blocks: Blocks) -> Callable[[int, bytes], Words[int]]:
    """What finds the pointers into the blocks in a copy of memory that begins at an address."""
    if not blocks:
        return lambda base, data: Words("Q")
    ranges = ffi.new("struct ip_range[]", len(blocks))
    lib.ip_leak_ranges(blocks.rows, len(blocks), ranges)
    low, high = ranges[0].start, ranges[len(blocks) - 1].end  # they do not overlap
    out = ffi.new("struct ip_hit[]", _HITS)

    def scan(base: int, data: bytes) -> Words[int]:
        words = ffi.from_buffer("uint64_t[]", data)
        total = len(data) // WORD
        at = 0
        hits = Words("Q")
        while at < total:
            count = lib.ip_scan_words(
                words + at, total - at, base + at * WORD, ranges, len(blocks), low, high, out, _HITS
            )
            hits.frombytes(ffi.buffer(out, count * _FIELDS * WORD))
            if count < _HITS:
                break
            at = (hits[-_FIELDS] - base) // WORD + 1
        return hits

    return scan


# -- heuristics ----------------------------------------------------------------------------------------------


class Heuristics:
    """Interior pointers that C++ and sqlite make on purpose (``--leak-check-heuristics``)."""

    def __init__(self, enabled: Iterable[str], memory: LeakMemory) -> None:
        wanted = frozenset(enabled)
        self._enabled = [name for name in LEAK_HEURISTICS if name in wanted]
        self._memory = memory
        self._tables: dict[int, bool] = {}

    def __bool__(self) -> bool:
        return bool(self._enabled)

    def match(self, block: HeapBlock, offset: int) -> str | None:
        """The heuristic under which a pointer to ``offset`` counts as one to the start."""
        for name in self._enabled:
            if getattr(self, f"_{name}")(block, offset):
                return name
        return None

    def _word(self, addr: int) -> int | None:
        data = self._memory.read(addr, WORD)
        if data is None or (addr % WORD == 0 and not self._memory.valid_words([addr])[0]):
            return None
        return int.from_bytes(data, "little")

    def _stdstring(self, block: HeapBlock, offset: int) -> bool:
        """A std::string of the copy-on-write kind: length, capacity, reference count, then the characters."""
        header = 3 * WORD
        if offset != header or block.size < header + 1:
            return False
        length = self._word(block.addr)
        capacity = self._word(block.addr + WORD)
        if length is None or capacity is None:
            return False
        return length <= capacity and header + capacity + 1 == block.size

    def _length64(self, block: HeapBlock, offset: int) -> bool:
        """The first eight bytes hold the size of the rest."""
        return offset == WORD and block.size > WORD and self._word(block.addr) == block.size - WORD

    def _newarray(self, block: HeapBlock, offset: int) -> bool:
        """new[] of objects with destructors: their number comes first, whoever gave it its memory."""
        if offset != WORD or block.size <= WORD:
            return False
        count = self._word(block.addr)
        return count is not None and count > 0 and (block.size - WORD) % count == 0

    def _multipleinheritance(self, block: HeapBlock, offset: int) -> bool:
        """A pointer to a base class part: there and at the start lie pointers to virtual function tables."""
        if offset % WORD or offset + WORD > block.size:
            return False
        return self.begins_with_table(block) and self._is_table(self._word(block.addr + offset))

    def begins_with_table(self, block: HeapBlock) -> bool:
        """Does a pointer to a table of virtual functions lie at its start?"""
        return not block.addr % WORD and self._is_table(self._word(block.addr))

    def may_begin_with_table(self, starts: Sequence[int]) -> list[int]:
        """The numbers of the blocks of which :meth:`begins_with_table` is to be asked; of others it is false.

        :param starts: addresses in ascending order, which is what makes this cheap
        """
        valid, words = self._memory.valid_words(starts), self._memory.read_words(starts)
        first = {
            number: word
            for number, (addr, good, word) in enumerate(zip(starts, valid, words, strict=True))
            if good and word and not (addr | word) % WORD and word < _ADDRESSES
        }
        tables = self._lead_to_code(sorted(set(first.values())))
        return [number for number, word in first.items() if word in tables]

    def _lead_to_code(self, addrs: list[int]) -> set[int]:
        """As :meth:`_leads_to_code`, of many; a word that cannot be read counts as null."""
        found = set[int]()
        for number in range(_FUNCTIONS):
            functions = self._memory.read_words([addr + number * WORD for addr in addrs])
            rest = list[int]()
            for addr, target in zip(addrs, functions, strict=True):
                if not target:
                    rest.append(addr)
                elif self._memory.is_code(target):
                    found.add(addr)
            addrs = rest
        return found

    def _is_table(self, addr: int | None) -> bool:
        """Functions of a table: among its first words at least one points at code, the others are null."""
        if not addr or addr % WORD:
            return False
        known = self._tables.get(addr)
        if known is None:
            known = self._tables[addr] = self._leads_to_code(addr)
        return known

    def _leads_to_code(self, addr: int) -> bool:
        for number in range(_FUNCTIONS):
            function = self._memory.read(addr + number * WORD, WORD)
            if function is None:
                return False
            target = int.from_bytes(function, "little")
            if target:
                return self._memory.is_code(target)
        return False
