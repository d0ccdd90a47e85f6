"""Blocks that lie in one another: which of them a leak search is about, and who owns which bytes.

A program that makes blocks known inside of one that it allocated (MALLOCLIKE_BLOCK, memory pools) wants to
hear of those, not of what holds them.  Chunks of a metapool may hold other blocks and are blocks themselves.
Any other overlap is a mistake of the program's.
"""

from __future__ import annotations

from bisect import bisect_right

from .heap import CHUNKS, AllocKind, HeapBlock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from dataclasses import dataclass, field
else:
    from interpose.records import dataclass, field

_OF_THE_PROGRAM = (AllocKind.CUSTOM, *CHUNKS)


@dataclass
class Arrangement:
    """What the search looks for, and where."""

    blocks: list[HeapBlock] = field(default_factory=list)
    """By address; only blocks in chunks of metapools overlap."""
    parts: list[HeapBlock] = field(default_factory=list)
    """The same bytes without overlap: a chunk's are those that no block in it has."""
    owners: list[int] | None = None
    """For each part its block, by index; None if each block is its own part."""
    holders: dict[int, list[int]] = field(default_factory=dict)
    """For a block, the chunks that begin where it does: a pointer to it is one to them."""
    dropped: list[tuple[int, int]] = field(default_factory=list)
    """Ranges of the blocks that the search is not about, by address; their words are no roots."""
    overlaps: list[tuple[HeapBlock, HeapBlock]] = field(default_factory=list)
    """Blocks that must not overlap, and do; of the two the first is dropped."""

    def is_dropped(self, addr: int) -> bool:
        """Whether an address lies in a block that was dropped."""
        return holds(self.dropped, addr)


def holds(ranges: Sequence[tuple[int, int]], addr: int) -> bool:
    """Whether one of some ranges, which are by address, has an address in it."""
    at = bisect_right(ranges, (addr, 1 << 64)) - 1
    return at >= 0 and addr < ranges[at][1]


def _holds_none(block: HeapBlock) -> bool:
    return block.kind is not AllocKind.METAPOOL


def arrange(blocks: Iterable[HeapBlock]) -> Arrangement:
    """Decide which blocks count where some lie in others."""
    found = sorted(blocks, key=lambda each: (each.addr, each.size > 0, -each.size, _holds_none(each)))
    result = Arrangement()
    gone: set[int] = set()
    around: list[int] = []  # blocks that have begun and not ended, the outer ones first
    is_nested = False
    for index, block in enumerate(found):
        around = [outer for outer in around if block.addr < found[outer].end]
        for outer in around[::-1]:
            first = found[outer]
            if first.kind is AllocKind.METAPOOL and block.kind is not AllocKind.METAPOOL:
                is_nested = True
                continue
            if first.kind in _OF_THE_PROGRAM or block.kind not in _OF_THE_PROGRAM:
                if not block.size:  # nothing overlaps; but nobody could tell whose a pointer to both is
                    gone.add(index)
                    continue
                result.overlaps.append((first, block))
            gone.add(outer)
            around.remove(outer)
        if block.size:
            around.append(index)
    if gone:
        result.dropped = sorted((found[index].addr, found[index].end) for index in gone)
        found = [block for index, block in enumerate(found) if index not in gone]
    result.blocks = result.parts = found
    if is_nested:
        _divide(result)
    return result


def _divide(result: Arrangement) -> None:
    """Fill parts, owners and holders."""
    result.parts, owners, open_chunks = [], [], list[int]()

    def part(owner: int, start: int, end: int) -> None:
        if start < end or result.blocks[owner].size == 0:
            result.parts.append(HeapBlock(start, end - start, result.blocks[owner].kind))
            owners.append(owner)

    at = 0  # what lies before is divided
    for index, block in enumerate(result.blocks):
        while open_chunks and result.blocks[open_chunks[-1]].end <= block.addr:
            done = open_chunks.pop()
            part(done, at, result.blocks[done].end)
            at = max(at, result.blocks[done].end)
        if open_chunks:
            chunk = open_chunks[-1]
            part(chunk, at, min(block.addr, result.blocks[chunk].end))
            same = [outer for outer in open_chunks if result.blocks[outer].addr == block.addr]
            if same:
                result.holders[index] = same
        at = max(at, block.addr)
        if block.kind is AllocKind.METAPOOL:
            open_chunks.append(index)
        else:
            part(index, block.addr, block.end)
            at = block.end
    while open_chunks:
        done = open_chunks.pop()
        part(done, at, result.blocks[done].end)
        at = max(at, result.blocks[done].end)
    result.owners = owners
