"""An address space by fields."""

from __future__ import annotations

from dataclasses import dataclass, field

from interpose.report.places import Segment, StackPosition
from interpose.tools.memcheck.addrinfo import (
    ClientBlock,
    DataSymbol,
    Section,
    Variable,
)
from interpose.tools.memcheck.heap import REDZONE, BlockMap, HeapBlock


@dataclass
class Space:
    """Answers every question from a field, whatever the address (blocks: by address)."""

    live: list[HeapBlock] = field(default_factory=list)
    freed: list[HeapBlock] = field(default_factory=list)
    client: ClientBlock | None = None
    pool: HeapBlock | None = None
    metapool: HeapBlock | None = None
    variable: Variable | None = None
    symbol: DataSymbol | None = None
    static: Variable | None = None
    stack: StackPosition | None = None
    gap: tuple[int, int] | None = None
    section: Section | None = None
    below_stack: bool = False
    brk: tuple[int, int] | None = None
    segment: Segment | None = None
    redzone: int = REDZONE

    def client_block(self, addr: int) -> ClientBlock | None:
        return self.client

    def pool_block(self, addr: int) -> HeapBlock | None:
        return self.pool

    def live_block_near(self, addr: int, distance: int) -> HeapBlock | None:
        return BlockMap.of(self.live).near(addr, distance)

    def freed_block_near(self, addr: int, distance: int) -> HeapBlock | None:
        return BlockMap.of(self.freed).near(addr, distance)

    def metapool_block(self, addr: int) -> HeapBlock | None:
        return self.metapool

    def variable_at(self, addr: int, tid: int) -> Variable | None:
        return self.variable

    def static_local_at(self, addr: int) -> Variable | None:
        return self.static

    def data_symbol_at(self, addr: int) -> DataSymbol | None:
        return self.symbol

    def stack_of(self, addr: int, tid: int) -> StackPosition | None:
        return self.stack

    def unallocated(self, addr: int) -> tuple[int, int] | None:
        return self.gap

    def section_of(self, addr: int) -> Section | None:
        return self.section

    def is_just_below_stack(self, addr: int, tid: int) -> bool:
        return self.below_stack

    def brk_limit(self) -> tuple[int, int] | None:
        return self.brk

    def segment_of(self, addr: int) -> Segment | None:
        return self.segment
