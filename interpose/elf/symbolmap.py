"""Address → symbol, with the choices of name that Valgrind makes.

The rules were found by behaviour: `valgrind --trace-symtab=yes` prints which name it prefers where
several share an address, and `v.info location` answers for any address.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from itertools import accumulate, pairwise
from operator import add, le
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
        rows = sorted(symbols)
        self._lay_out(*map(list, zip(*rows, strict=True)) if rows else ([], [], []))

    @classmethod
    def ascending(cls, values: list[int], sizes: list[int], names: list[str]) -> SymbolMap:
        """The same of symbols by value and size, in columns, which are taken."""
        found = cls(())
        found._lay_out(values, sizes, names)
        return found

    def _lay_out(self, starts: list[int], sizes: list[int], names: list[str]) -> None:
        """Make disjoint pieces; most symbols overlap no other and are pieces already."""
        ends = list(map(add, starts, sizes))
        self._starts, self._ends, self._names = starts, ends, names
        apart = list(map(le, accumulate(ends, max), starts[1:]))
        if all(apart):
            return
        self._starts, self._ends, self._names = [], [], []
        # Clusters of symbols that overlap, from where one begins that lies apart to where the next one does.
        bounds = [0, *(number for number, is_apart in enumerate(apart, 1) if is_apart), len(starts)]
        for first, after in pairwise(bounds):
            if after - first == 1:
                self._add(starts[first], ends[first], names[first])
            else:
                part = slice(first, after)
                self._cut(zip(starts[part], ends[part], names[part], strict=True))

    def _add(self, start: int, end: int, name: str) -> None:
        self._starts.append(start)
        self._ends.append(end)
        self._names.append(name)

    def _cut(self, rows: Iterable[tuple[int, int, str]]) -> None:
        """Cut overlapping symbols into disjoint pieces.

        Observed with `v.info location` on hand-made overlaps: of two symbols that start together the longer
        one starts where the shorter ends; otherwise the earlier one ends where the later starts, and what
        it had behind the later one belongs to nobody. Offsets count from the start of the piece.
        """
        best: dict[tuple[int, int], str] = {}
        for start, end, name in rows:
            other = best.setdefault((start, end), name)
            if preference(name) < preference(other):
                best[start, end] = name
        heap = [(start, end, name) for (start, end), name in best.items()]
        heapify(heap)
        while heap:
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
            self._add(start, end, name)

    @property
    def columns(self) -> tuple[list[int], list[int], list[str]]:
        """Starts, ends and names of the pieces, by address."""
        return self._starts, self._ends, self._names

    def __len__(self) -> int:
        return len(self._starts)

    def find(self, address: int) -> Place | None:
        """The symbol that covers the link-time `address`."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        is_inside = address < self._ends[index]
        return Place(self._names[index], address - self._starts[index]) if is_inside else None

    def span(self, address: int) -> tuple[int, int] | None:
        """Start and end of the piece that covers the link-time `address`."""
        index = bisect_right(self._starts, address) - 1
        if index < 0 or address >= self._ends[index]:
            return None
        return self._starts[index], self._ends[index]


def code_map(image: Image, debug: Image | None = None) -> SymbolMap:
    """Function symbols in executable sections."""
    return SymbolMap.ascending(*place_symbols(image, debug, _CODE, image.text_ranges))


def data_map(image: Image, debug: Image | None = None) -> SymbolMap:
    """Data symbols in the sections whose symbols Valgrind names."""
    ranges = [
        (s.addr, s.addr + s.size) for s in image.sections if s.flags & SHF_ALLOC and s.name in DATA_SECTIONS
    ]
    return SymbolMap.ascending(*place_symbols(image, debug, _DATA, sorted(ranges)))
