"""Address → symbol, with the choices of name that Valgrind makes.

The rules were found by behaviour: `valgrind --trace-symtab=yes` prints which name it prefers where
several share an address, and `v.info location` answers for any address.
"""

from __future__ import annotations

from bisect import bisect_right

from interpose.elf.headers import SHF_ALLOC
from interpose.elf.image import STT_COMMON, STT_FUNC, STT_GNU_IFUNC, STT_OBJECT, Image
from interpose.elf.symtab import Pieces, pieces, place_symbols

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NamedTuple
else:
    from interpose.records import NamedTuple

# Objects that lie in code are named too; untyped symbols never are (`--trace-symtab=yes` records none).
_CODE = frozenset((STT_FUNC, STT_GNU_IFUNC, STT_OBJECT))
_DATA = frozenset((STT_OBJECT, STT_COMMON))
DATA_SECTIONS = frozenset((".data", ".bss", ".rodata"))


class Place(NamedTuple):
    """A symbol and how far into it an address lies."""

    name: str
    offset: int


class SymbolMap:
    """Symbols as disjoint pieces."""

    def __init__(self, symbols: Iterable[tuple[int, int, str]]) -> None:
        """Of (value, size, name) in any order."""
        self._starts, self._ends, self._names = pieces(symbols)

    @classmethod
    def of(cls, found: Pieces) -> SymbolMap:
        """Of pieces."""
        made = cls(())
        made._starts, made._ends, made._names = found
        return made

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
    return SymbolMap.of(place_symbols(image, debug, _CODE, image.text_ranges))


def data_map(image: Image, debug: Image | None = None) -> SymbolMap:
    """Data symbols in the sections whose symbols Valgrind names."""
    ranges = [
        (s.addr, s.addr + s.size) for s in image.sections if s.flags & SHF_ALLOC and s.name in DATA_SECTIONS
    ]
    return SymbolMap.of(place_symbols(image, debug, _DATA, sorted(ranges)))
