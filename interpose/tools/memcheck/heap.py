"""The client's heap as the supervisor sees it: live and freed blocks, and lookups among them.

The runtime keeps the tables in the client's memory; whoever reads them fills these records.  Stacks are
normalised (``interpose.report.stack``): return addresses already less one.
"""

from __future__ import annotations

from bisect import bisect_right

from interpose.report.stack import Stack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from dataclasses import dataclass, field
    from enum import Enum
else:
    from interpose.records import Enum, dataclass, field

REDZONE = 16
"""Addresses this near to a block are described by it (docs/spec/output.md section 4)."""

FAR = 64
"""Addresses this near are described by a block if nothing better is known."""

NESTED_MORE = 8
"""Addresses so much farther than :data:`REDZONE` are described by what a program carved out of a block of its
own, as in Valgrind, where red zones are rounded up."""


class AllocKind(Enum):
    """How a block was allocated; releasing it otherwise is a mismatch."""

    MALLOC = "malloc"
    NEW = "new"
    NEW_ARRAY = "new[]"
    CUSTOM = "custom"
    """MALLOCLIKE_BLOCK."""
    POOL = "pool"
    """MEMPOOL_ALLOC."""
    METAPOOL = "metapool"
    """MEMPOOL_ALLOC of a pool whose chunks hold other blocks."""


CHUNKS = (AllocKind.POOL, AllocKind.METAPOOL)
"""Kinds of blocks that belong to a memory pool."""


@dataclass(frozen=True)
class HeapBlock:
    """One block.  ``alloc_stack`` and ``free_stack`` are None where ``--keep-stacktraces`` keeps none."""

    addr: int
    size: int
    kind: AllocKind = AllocKind.MALLOC
    alloc_stack: Stack | None = None
    free_stack: Stack | None = None
    freed: bool = False
    redzone: int = 0
    """Of a memory pool's chunk: bytes before and behind it that belong to it."""
    context: int = 0
    """Number of the recorded stack of its allocation: stacks that were met first have the smaller ones."""
    turn: int = 0
    """How many blocks malloc and its like gave before it."""

    @property
    def end(self) -> int:
        return self.addr + self.size

    def holds(self, other: HeapBlock) -> bool:
        """Whether the other block is a part of this one."""
        return self.size > other.size and self.addr <= other.addr and other.end <= self.end

    def distance(self, addr: int) -> int:
        """Bytes between the address and the block, 0 inside it (and at the start of an empty one)."""
        if addr < self.addr:
            return self.addr - addr
        if addr < self.end or addr == self.addr:
            return 0
        return addr - self.end + 1


@dataclass
class BlockMap:
    """Blocks in order of address, for lookups by address.  Blocks do not overlap, unless they are nested."""

    blocks: list[HeapBlock] = field(default_factory=list)

    @classmethod
    def nearest(
        cls, blocks: Sequence[HeapBlock], addr: int, distance: int, nested: int = 0
    ) -> HeapBlock | None:
        """As :meth:`near` of a map of these blocks, most often none or one."""
        if len(blocks) > 1:
            return cls.of(blocks).near(addr, distance, nested)
        return next((block for block in blocks if block.distance(addr) <= distance), None)

    @classmethod
    def of(cls, blocks: Iterable[HeapBlock]) -> BlockMap:
        return cls(sorted(blocks, key=lambda block: (block.addr, -block.size)))

    def __post_init__(self) -> None:
        self._starts = [block.addr for block in self.blocks]

    def near(self, addr: int, distance: int = 0, nested: int = 0) -> HeapBlock | None:
        """The nearest block not farther than ``distance`` from the address; of nested ones the inner.

        :param nested: as far from an inner block its own surroundings reach into the outer one.
        """
        at = bisect_right(self._starts, addr)
        best: HeapBlock | None = None
        # Nested blocks (metapools) make the owner of an address lie further back than the neighbour.
        for index in range(at, max(-1, at - 8), -1):
            if index >= len(self.blocks):
                continue
            block = self.blocks[index]
            found = block.distance(addr)
            if found <= distance and (best is None or found < best.distance(addr)):
                best = block
        if nested and best is not None and best.distance(addr) == 0:
            inner = [block for block in self.blocks if best.holds(block) and block.distance(addr) <= nested]
            return min(inner, key=lambda block: block.distance(addr), default=best)
        return best


@dataclass
class HeapStats:
    """The numbers of HEAP SUMMARY.  ``frees`` counts invalid frees too (docs/spec/output.md section 6)."""

    allocs: int = 0
    frees: int = 0
    bytes_allocated: int = 0
    bytes_in_use: int = 0
    blocks_in_use: int = 0
