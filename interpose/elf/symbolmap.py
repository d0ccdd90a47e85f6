"""Address → symbol, with the choices of name that Valgrind makes.

The rules were found by behaviour: `valgrind --trace-symtab=yes` prints which name it prefers where
several share an address, and `v.info location` answers for any address.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import NamedTuple

from interpose.elf.headers import SHF_ALLOC
from interpose.elf.image import STT_COMMON, STT_FUNC, STT_GNU_IFUNC, STT_OBJECT, Image
from interpose.elf.symtab import place_symbols

# Objects that lie in code are named too; untyped symbols never are (`--trace-symtab=yes` records none).
_CODE = frozenset((STT_FUNC, STT_GNU_IFUNC, STT_OBJECT))
_DATA = frozenset((STT_OBJECT, STT_COMMON))
DATA_SECTIONS = frozenset((".data", ".bss", ".rodata"))


class Place(NamedTuple):
    """A symbol and how far into it an address lies."""

    name: str
    offset: int


def preference(name: str) -> tuple[int, int, str]:
    """Sort key of the names of one address: the least is the one shown.

    Fewest characters before the version, then `@@` before `@` before no version, then ASCII order.
    """
    return (len(name.partition("@")[0]), -name.count("@"), name)


class SymbolMap:
    """The symbols of one image that lie in `ranges` and have a size, as disjoint pieces."""

    def __init__(self, symbols: Iterable[tuple[int, int, str]]) -> None:
        best: dict[tuple[int, int], str] = {}
        for value, size, name in symbols:
            other = best.setdefault((value, size), name)
            if other != name and preference(name) < preference(other):
                best[value, size] = name
        self._pieces: list[tuple[int, int, str]] = []
        rows = sorted([(value, value + size, name) for (value, size), name in best.items()])
        # Most symbols overlap no other: those are pieces already.
        first, cluster_end = 0, 0
        for position, (start, end, _) in enumerate(rows):
            if start >= cluster_end:
                self._lay_out(rows[first:position])
                first = position
            if end > cluster_end:
                cluster_end = end
        self._lay_out(rows[first:])
        self._starts = [start for start, _, _ in self._pieces]

    def _lay_out(self, heap: list[tuple[int, int, str]]) -> None:
        """Cut overlapping symbols into disjoint pieces.

        Observed with `v.info location` on hand-made overlaps: of two symbols that start together the longer
        one starts where the shorter ends; otherwise the earlier one ends where the later starts, and what
        it had behind the later one belongs to nobody. Offsets count from the start of the piece.
        """
        if len(heap) == 1:
            self._pieces += heap
            return
        while heap:  # sorted, which is a heap, too
            start, end, name = heappop(heap)
            while heap and heap[0][0] < end:
                other_start, other_end, other_name = heap[0]
                if other_start > start:
                    end = other_start
                    break
                heappop(heap)
                if other_end > end:
                    heappush(heap, (end, other_end, other_name))
                elif preference(other_name) < preference(name):
                    name = other_name
            self._pieces.append((start, end, name))

    def __len__(self) -> int:
        return len(self._pieces)

    def find(self, address: int) -> Place | None:
        """The symbol that covers the link-time `address`."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        start, end, name = self._pieces[index]
        return Place(name, address - start) if address < end else None

    def span(self, address: int) -> tuple[int, int] | None:
        """Start and end of the piece that covers the link-time `address`."""
        index = bisect_right(self._starts, address) - 1
        if index < 0 or address >= self._pieces[index][1]:
            return None
        return self._pieces[index][:2]


def code_map(image: Image, debug: Image | None = None) -> SymbolMap:
    """Function symbols in executable sections."""
    return SymbolMap(zip(*place_symbols(image, debug, _CODE, image.text_ranges), strict=True))


def data_map(image: Image, debug: Image | None = None) -> SymbolMap:
    """Data symbols in the sections whose symbols Valgrind names."""
    ranges = [
        (s.addr, s.addr + s.size) for s in image.sections if s.flags & SHF_ALLOC and s.name in DATA_SECTIONS
    ]
    return SymbolMap(zip(*place_symbols(image, debug, _DATA, sorted(ranges)), strict=True))
