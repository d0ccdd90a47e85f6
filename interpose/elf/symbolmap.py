"""Address → symbol, with the choices of name that Valgrind makes.

The rules were found by behaviour: `valgrind --trace-symtab=yes` prints which name it prefers where
several share an address, and `v.info location` answers for any address.
"""

from __future__ import annotations

from interpose.elf.headers import SHF_ALLOC
from interpose.elf.image import STT_COMMON, STT_FUNC, STT_GNU_IFUNC, STT_OBJECT, Image
from interpose.elf.symtab import columns, pieces, place_symbols
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NamedTuple
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
    """Symbols as disjoint pieces, which stay in C: few names of a library are ever asked for."""

    def __init__(self, symbols: Iterable[tuple[int, int, str]]) -> None:
        """Of (value, size, name) in any order."""
        self.raw = pieces(symbols)
        self._names: dict[int, str] = {}

    @classmethod
    def of(cls, raw: Any) -> SymbolMap:
        """Of pieces as C has them (``struct ip_symbols``)."""
        made = cls.__new__(cls)
        made.raw = raw
        made._names = {}
        return made

    @property
    def columns(self) -> tuple[list[int], list[int], list[str]]:
        """Starts, ends and names of the pieces, by address."""
        return columns(self.raw)

    def __len__(self) -> int:
        return int(self.raw.count)

    def name(self, index: int) -> str:
        """The name of a piece."""
        name = self._names.get(index)
        if name is None:
            raw = self.raw
            read = bytes(ffi.string(raw.names + raw.name_from[index]))
            name = self._names[index] = read.decode("utf-8", "surrogateescape")
        return name

    def start(self, index: int) -> int:
        """Where a piece begins."""
        return int(self.raw.address[index])

    def find(self, address: int) -> Place | None:
        """The symbol that covers the link-time `address`."""
        index = self._at(address)
        return None if index < 0 else Place(self.name(index), address - self.raw.address[index])

    def span(self, address: int) -> tuple[int, int] | None:
        """Start and end of the piece that covers the link-time `address`."""
        index = self._at(address)
        if index < 0:
            return None
        start = self.raw.address[index]
        return start, start + self.raw.size[index]

    def _at(self, address: int) -> int:
        return int(lib.ip_symbol_at(self.raw, address)) if 0 <= address < 1 << 64 else -1

    def named(self, name: str, *, only_begins: bool = False) -> list[int]:
        """The pieces of exactly that name, or of names that begin so."""
        names = ffi.buffer(self.raw.names, self.raw.names_size)
        wanted = b"\0" + name.encode("utf-8", "surrogateescape") + (b"" if only_begins else b"\0")
        return _places(b"\0" + names[:], wanted)


def _places(names: bytes, wanted: bytes) -> list[int]:
    found: list[int] = []
    at, index, counted = names.find(wanted), 0, 0
    while at >= 0:
        index += names.count(b"\0", counted, at)
        found.append(index)
        counted, at = at, names.find(wanted, at + 1)
    return found


def code_map(image: Image, debug: Image | None = None) -> SymbolMap:
    """Function symbols in executable sections."""
    return SymbolMap.of(place_symbols(image, debug, _CODE, image.text_ranges))


def data_map(image: Image, debug: Image | None = None) -> SymbolMap:
    """Data symbols in the sections whose symbols Valgrind names."""
    ranges = [
        (s.addr, s.addr + s.size) for s in image.sections if s.flags & SHF_ALLOC and s.name in DATA_SECTIONS
    ]
    return SymbolMap.of(place_symbols(image, debug, _DATA, sorted(ranges)))
