"""Leak search: which blocks can the program still reach? (memcheck manual, "Memory leak detection")

One pass over the client's memory finds every aligned word that points into a block; C does it
(``leak_scan.c``).  A word that lies in a block is an edge of a graph, any other a root.  What cannot be
trusted, because it is undefined or not addressable, is removed from the few hits rather than tested
on every word.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import compress

from .heap import HeapBlock
from .nesting import Arrangement, arrange
from .options import LEAK_HEURISTICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array as Words
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from dataclasses import dataclass, field
    from enum import IntEnum
    from typing import Any, NamedTuple, Protocol
else:
    from interpose.records import IntEnum, NamedTuple, dataclass, field

    Protocol = object

WORD = 8
CHUNK = 4 << 20
"""Bytes of client memory copied at a time."""
_HITS = 1 << 16
_NO_HOLDER = 0xFFFF_FFFF
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

    def read(self, addr: int, length: int, /) -> bytes | None:
        """A copy of client memory, None if it cannot be read as a whole."""

    def valid_words(self, addrs: Sequence[int], /) -> Sequence[int]:
        """For aligned words in ascending order: 1 if all eight bytes are addressable and defined."""

    def registers(self) -> Iterable[int]:
        """Defined values of the general registers of all threads."""

    def is_code(self, addr: int, /) -> bool:
        """Does an executable mapping hold the address?"""


class Hit(NamedTuple):
    """A pointer into a block: found at ``where`` (0: a register), in the block ``holder`` (-1: a root)."""

    where: int
    holder: int
    block: int
    offset: int


@dataclass
class LeakSearch:
    """The result: a state for each block, by index into ``blocks``."""

    blocks: list[HeapBlock]
    state: list[State] = field(default_factory=list)
    clique: list[int] = field(default_factory=list)
    """For an indirectly lost block, the definitely lost one that it hangs on; else itself."""
    heuristic: list[str | None] = field(default_factory=list)
    """The heuristic by which a block was found, unless a pointer to its start was met later."""
    hits: list[Hit] = field(default_factory=list)
    checked_bytes: int = 0
    overlaps: list[tuple[HeapBlock, HeapBlock]] = field(default_factory=list)
    """Blocks that overlap by mistake; the first of each two is not in ``blocks``."""

    def indirect_of(self) -> dict[int, tuple[int, int]]:
        """For each leader: bytes and blocks lost with it."""
        sums: dict[int, tuple[int, int]] = {}
        for index, leader in enumerate(self.clique):
            if leader != index:
                size, count = sums.get(leader, (0, 0))
                sums[leader] = (size + self.blocks[index].size, count + 1)
        return sums


def search(
    blocks: Iterable[HeapBlock], memory: LeakMemory, heuristics: Iterable[str] = LEAK_HEURISTICS
) -> LeakSearch:
    """Search for pointers to the live blocks."""
    nest = arrange(blocks)
    result = LeakSearch(nest.blocks, overlaps=nest.overlaps)
    found, result.checked_bytes = find_hits(nest.parts, memory)
    usable = memory.valid_words(found[::_FIELDS]) if found else b""
    hits = [_hit(*each) for each in compress(_rows(found), usable)]
    if nest.dropped:
        # Not even the words of the outer ones are roots.
        hits = [hit for hit in hits if hit.holder >= 0 or not nest.is_dropped(hit.where)]
    index = BlockIndex(nest.parts)
    for value in memory.registers():
        if (block := index.find(value)) is not None:
            hits.append(Hit(0, -1, block, value - nest.parts[block].addr))
    result.hits = hits if nest.owners is None else list(_of_blocks(hits, nest, nest.owners))
    _classify(result, Heuristics(heuristics, memory))
    return result


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


class BlockIndex:
    """Which block holds an address; an empty block holds its start."""

    def __init__(self, blocks: Sequence[HeapBlock]) -> None:
        self.blocks = blocks
        self._starts = [block.addr for block in blocks]

    def find(self, addr: int) -> int | None:
        at = bisect_right(self._starts, addr) - 1
        if at >= 0 and (addr < self.blocks[at].end or addr == self.blocks[at].addr):
            return at
        return None


# -- scanning ------------------------------------------------------------------------------------------------


def _rows(found: Words[int]) -> Iterator[tuple[int, int, int]]:
    columns = iter(found)
    return zip(columns, columns, columns, strict=True)


def _hit(where: int, offset: int, blocks: int) -> Hit:
    holder = blocks >> 32
    return Hit(where, -1 if holder == _NO_HOLDER else holder, blocks & 0xFFFF_FFFF, offset)


def find_hits(blocks: Sequence[HeapBlock], memory: LeakMemory) -> tuple[Words[int], int]:
    """All words of the client's memory that point into the blocks, and the number of bytes looked at.

    Most of them lie in dead memory, so they stay rows of ``struct ip_hit`` until they are known to count.
    """
    from array import array as Words

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


if TYPE_CHECKING:
    Scanner = Callable[[int, bytes], "Words[int]"]


def make_scanner(blocks: Sequence[HeapBlock]) -> Scanner:
    """The fastest scanner there is: C if the extension is built, else Python."""
    if not blocks:
        from array import array as Words

        return lambda base, data: Words("Q")
    try:
        from interpose.jit import _native
    except ImportError:
        return python_scanner(blocks)
    if not hasattr(_native.lib, "ip_scan_words"):
        return python_scanner(blocks)
    return native_scanner(blocks, _native.ffi, _native.lib)


def native_scanner(blocks: Sequence[HeapBlock], ffi: Any, lib: Any) -> Scanner:
    """Scan with ``ip_scan_words``."""
    from array import array as Words

    ranges = ffi.new("struct ip_range[]", len(blocks))
    flat = Words("Q", (value for block in blocks for value in (block.addr, block.end)))
    ffi.memmove(ranges, flat, len(flat) * WORD)
    low, high = blocks[0].addr, max(block.end for block in blocks)
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


def python_scanner(blocks: Sequence[HeapBlock]) -> Scanner:
    """The same in Python, for a tree without the extension."""
    from array import array as Words

    index = BlockIndex(blocks)
    low, high = blocks[0].addr, max(block.end for block in blocks)

    def scan(base: int, data: bytes) -> Words[int]:
        hits = Words("Q")
        for number, word in enumerate(Words("Q", data[: len(data) & -WORD])):
            if low <= word <= high and (block := index.find(word)) is not None:
                where = base + number * WORD
                holder = index.find(where)
                owner = holder if holder is not None and where < blocks[holder].end else _NO_HOLDER
                hits.extend((where, word - blocks[block].addr, owner << 32 | block))
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
        if offset % WORD or offset + WORD > block.size or block.addr % WORD:
            return False
        return self._is_table(self._word(block.addr)) and self._is_table(self._word(block.addr + offset))

    def _is_table(self, addr: int | None) -> bool:
        """Functions of a table: among its first words at least one points at code, the others are null."""
        if not addr or addr % WORD:
            return False
        known = self._tables.get(addr)
        if known is None:
            known = self._tables[addr] = self._leads_to_code(addr)
        return known

    def _leads_to_code(self, addr: int) -> bool:
        for number in range(4):
            function = self._memory.read(addr + number * WORD, WORD)
            if function is None:
                return False
            target = int.from_bytes(function, "little")
            if target:
                return self._memory.is_code(target)
        return False


# -- classification ------------------------------------------------------------------------------------------


def _classify(result: LeakSearch, heuristics: Heuristics) -> None:
    blocks = result.blocks
    count = len(blocks)
    state: list[State | None] = [None] * count
    result.heuristic = [None] * count
    result.clique = list(range(count))
    edges: list[list[Hit]] = [[] for _ in blocks]
    roots: list[Hit] = []
    for hit in result.hits:
        (edges[hit.holder] if hit.holder >= 0 else roots).append(hit)

    # Everything that the roots lead to, in Valgrind's order, which decides which heuristic is named: the
    # roots by address, then the block found last.  A block is possibly lost if each chain to it has an
    # interior-pointer somewhere; it is looked at again when a better one is found.
    found: list[int] = []

    def follow(hit: Hit, reachable: bool) -> None:
        block, before = hit.block, state[hit.block]
        if before is State.REACHABLE:
            if not hit.offset:
                result.heuristic[block] = None  # not needed after all
            return
        name = heuristics.match(blocks[block], hit.offset) if hit.offset else None
        if name is not None:
            result.heuristic[block] = name
        now = State.REACHABLE if reachable and (name or not hit.offset) else State.POSSIBLE
        if now is not before:
            state[block] = now
            found.append(block)

    for hit in roots:
        follow(hit, True)
    while found:
        holder = found.pop()
        for hit in edges[holder]:
            follow(hit, state[holder] is State.REACHABLE)

    # Lost: whatever another lost block leads to hangs on that one.
    for first in range(count):
        if state[first] is None:
            state[first] = State.DEFINITE
            _gather(first, state, edges, result.clique)
    for index, leader in enumerate(result.clique):
        result.clique[index] = _leader(result.clique, leader)
    result.state = [State.DEFINITE if each is None else each for each in state]


def _gather(first: int, state: list[State | None], edges: list[list[Hit]], clique: list[int]) -> None:
    """Hang on ``first`` what it leads to: unseen blocks, and earlier leaders with all that is theirs."""
    queue = list(edges[first])
    while queue:
        index = queue.pop().block
        if index == first or state[index] not in (None, State.DEFINITE):
            continue
        seen_before = state[index] is State.DEFINITE
        state[index] = State.INDIRECT
        clique[index] = first
        if not seen_before:
            queue += edges[index]


def _leader(clique: list[int], index: int) -> int:
    while clique[index] != index:
        index = clique[index]
    return index
