"""Lookup of a code object's text symbols by pattern, fast enough for 50,000 symbols and 100 patterns."""

from __future__ import annotations

from bisect import bisect_left
from itertools import compress

from interpose.jit._native import ffi, lib
from interpose.redir.model import UNKNOWN, CodeObject, Symbol, SymbolColumns, is_unfit_for_hooks
from interpose.wildcards import compile_pattern, literal_prefix, longest_piece
from interpose.zenc import display_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from functools import cached_property
    from typing import Any, NamedTuple

    NameRank = tuple[int, int, int, str]
else:
    from interpose.plain import cached_property
    from interpose.records import NamedTuple


UNRANKED: NameRank = (0, 0, 0, "")

_UNSIZED = 1 << 64  # a symbol without a size is shown only where there is no other
_MANY = 10_000  # symbols, of which the tables take a megabyte and more


class Hit(NamedTuple):
    """A symbol that a pattern found, with its runtime address and the name reports print."""

    address: int
    symbol: Symbol

    @property
    def name(self) -> str:
        return shown_name(self.symbol.name)


def shown_name(name: str) -> str:
    """Return what reports print for a symbol: default versions (``@@``) and redirect prefixes are hidden."""
    if "@@" in name:
        name = name.partition("@@")[0]
    return display_name(name)


class _Named:
    """Finds names by what they are without their versions (nametable.h): of thousands few are wanted."""

    def __init__(self, joined: str, count: int) -> None:
        """``joined``: the names, each with a NUL before it and behind it."""
        self._text = ffi.from_buffer("char[]", joined.encode("utf-8", "surrogateescape"))
        self._table: Any = ffi.gc(ffi.new("struct ip_name_table *"), lib.ip_name_table_free)
        lib.ip_name_table_fill(self._text + 1, len(self._text) - 1, count, self._table)
        self._room: Any = ffi.new("uint32_t[]", 16)

    def find(self, bare: str) -> Sequence[int]:
        """The positions of a name, ascending."""
        wanted = bare.encode("utf-8", "surrogateescape")
        count = lib.ip_name_table_find(self._table, wanted, len(wanted), self._room, len(self._room))
        if count > len(self._room):
            self._room = ffi.new("uint32_t[]", count)
            lib.ip_name_table_find(self._table, wanted, len(wanted), self._room, count)
        return ffi.unpack(self._room, count) if count else ()


class TextIndex:
    """The text symbols of one file, by link-time address.

    Tables are built on first use: most objects interest few rules.
    """

    def __init__(self, symbols: SymbolColumns, ranges: tuple[tuple[int, int], ...]) -> None:
        self._symbols = symbols
        self._ranges = ranges
        self._found: dict[str, Sequence[int]] = {}
        self._by_prefix: dict[str, Sequence[int]] = {}

    @cached_property
    def text(self) -> SymbolColumns:
        symbols = self._symbols
        addresses, is_text = symbols.addresses, symbols.is_text
        if len(self._ranges) == 1:  # the usual case, without a call for each symbol
            ((start, end),) = self._ranges
            if addresses and all(is_text) and start <= min(addresses) and max(addresses) < end:
                return symbols
            wanted = [t and start <= a < end for t, a in zip(is_text, addresses, strict=True)]
        else:
            wanted = [
                t and any(lo <= a < hi for lo, hi in self._ranges)
                for t, a in zip(is_text, addresses, strict=True)
            ]
        return symbols if all(wanted) else SymbolColumns._make(tuple(compress(c, wanted)) for c in symbols)

    def symbol(self, position: int) -> Symbol:
        """The symbol at a position in ``text``."""
        return Symbol._make(column[position] for column in self.text)

    @cached_property
    def _joined(self) -> str:
        """All names, each with a NUL before it and behind it."""
        return "\0".join(("", *self.text.names, ""))

    @cached_property
    def _named(self) -> _Named:
        return _Named(self._joined, len(self.text.names))

    def release(self) -> None:
        """Let go of what is made again when it is needed, where that is much; what was found is known."""
        if len(self.text.names) > _MANY:
            for table in ("_named", "_joined", "name_by_address", "_positions"):
                self.__dict__.pop(table, None)

    @property
    def is_read(self) -> bool:
        """Whether :meth:`find` answers at once for a pattern without wildcards."""
        return "_named" in self.__dict__

    @cached_property
    def resolvers(self) -> frozenset[int]:
        """Addresses that are resolvers of indirect functions under at least one name."""
        return frozenset(compress(self.text.addresses, self.text.is_ifunc))

    @cached_property
    def unfit_for_hooks(self) -> frozenset[int]:
        """Addresses whose functions cannot be hooked, by any of their names."""
        pairs = zip(self.text.names, self.text.addresses, strict=True)
        return frozenset(address for name, address in pairs if is_unfit_for_hooks(name))

    @cached_property
    def name_by_address(self) -> dict[int, str]:
        """The name of the first symbol at each address."""
        return dict(zip(reversed(self.text.addresses), reversed(self.text.names), strict=True))

    @cached_property
    def _positions(self) -> dict[int, list[int]]:
        """The symbols at each address."""
        found: dict[int, list[int]] = {}
        for position, address in enumerate(self.text.addresses):
            found.setdefault(address, []).append(position)
        return found

    def rank(self, pattern: str, global_only: bool, address: int) -> NameRank:
        """How far the names at an address that match ``pattern`` are from the one that it is shown with.

        The order is that of symtab.c, which Valgrind keeps with redirections, too: the smallest symbol, the
        shortest name, the one with a version.
        """
        matching = self.find(pattern)
        ranks = []
        for position in self._positions.get(address, ()):
            place = bisect_left(matching, position)
            if place < len(matching) and matching[place] == position:
                name, _, size, is_global, *_ = self.symbol(position)
                if global_only and not is_global:
                    continue
                ranks.append((size or _UNSIZED, len(name.partition("@")[0]), -name.count("@"), name))
        return min(ranks, default=UNRANKED)

    def candidates(self, prefix: str) -> Sequence[int]:
        """Positions in ``text`` of the symbols whose names start with ``prefix``, in symbol order."""
        known = self._by_prefix.get(prefix)
        if known is None:
            known = self._by_prefix[prefix] = self._candidates(prefix)
        return known

    def _candidates(self, prefix: str) -> Sequence[int]:
        names = self.text.names
        if not prefix:
            return range(len(names))
        found = self._holding(f"\0{prefix}", 1)
        if found is None:
            return [position for position, name in enumerate(names) if name.startswith(prefix)]
        return found

    def _containing(self, piece: str) -> Sequence[int]:
        """Positions in ``text`` that include those of all symbols whose names contain ``piece``."""
        found = self._holding(piece, 0) if piece else None
        return range(len(self.text.names)) if found is None else found

    def _holding(self, wanted: str, ahead: int) -> list[int] | None:
        """Positions of the names that have ``wanted``, but for what is ``ahead`` of it; None if many do."""
        names, joined = self.text.names, self._joined
        if joined.count(wanted) > len(names) // 8:
            return None
        positions: list[int] = []
        end, position = 0, -1
        while (place := joined.find(wanted, end)) >= 0:
            start = joined.rfind("\0", 0, place + ahead) + 1
            end = joined.index("\0", start)
            position = names.index(joined[start:end], position + 1)
            positions.append(position)
        return positions

    def find(self, pattern: str) -> Sequence[int]:
        """Positions in ``text`` of the symbols that match ``pattern``, in symbol order.

        A pattern without ``@`` matches the bare name of a versioned symbol, one with ``@`` the name with its
        version.
        """
        known = self._found.get(pattern)
        if known is None:
            known = self._found[pattern] = self._find(pattern)
        return known

    def _find(self, pattern: str) -> Sequence[int]:
        prefix = literal_prefix(pattern)
        if prefix == pattern:
            bare, at, _ = pattern.partition("@")
            positions = self._named.find(bare)
            if at and positions:
                names = self.text.names
                return [position for position in positions if names[position] == pattern]
            return positions
        if pattern == f"{prefix}*":
            return self.candidates(prefix)
        piece = longest_piece(pattern.partition("@")[0])
        among = self.candidates(prefix) if piece == prefix else self._containing(piece)
        names, matches = self.text.names, compile_pattern(pattern)
        if "@" in pattern:
            return [p for p in among if matches(names[p])]
        return [p for p in among if matches(names[p].partition("@")[0])]

    def named(self, name: str) -> int | None:
        """Address of the first symbol of exactly that name."""
        names = self.text.names
        return next((self.text.addresses[p] for p in self.find(name) if names[p] == name), None)


class SymbolIndex:
    """The text symbols of one mapped object, by runtime address."""

    def __init__(self, obj: CodeObject) -> None:
        self._obj = obj
        self._bias = obj.load_bias

    @cached_property
    def _index(self) -> TextIndex:
        ranges = tuple((start - self._bias, end - self._bias) for start, end in self._obj.text_ranges)
        known = self._obj.table.indexes
        found = known.get(ranges)
        if found is None:
            found = known[ranges] = TextIndex(self._obj.table.columns, ranges)
        return found

    def release(self) -> None:
        """No rule is looked for at the moment."""
        index = self.__dict__.get("_index")
        if index is not None:
            index.release()

    @property
    def is_read(self) -> bool:
        """Whether a name without wildcards is found, or not, at once."""
        index = self.__dict__.get("_index")
        return index is not None and index.is_read

    def is_resolver(self, address: int) -> bool:
        """Whether a runtime address is the resolver of an indirect function."""
        return address - self._bias in self._index.resolvers

    def unfit_for_hooks(self) -> set[int]:
        """Runtime addresses of functions that cannot be hooked."""
        return {address + self._bias for address in self._index.unfit_for_hooks}

    def resolvers_among(self, addresses: Sequence[int]) -> list[int]:
        """Those that are resolvers of indirect functions, in the same order."""
        resolvers, bias = self._index.resolvers, self._bias
        return [address for address in addresses if address - bias in resolvers] if resolvers else []

    def name_at(self, address: int) -> str:
        """Return the shown name of the first symbol that starts at ``address``, or ``???``."""
        name = self._index.name_by_address.get(address - self._bias)
        return UNKNOWN if name is None else shown_name(name)

    def candidates(self, prefix: str) -> list[Hit]:
        """The text symbols whose names start with ``prefix``, in symbol order."""
        return self._hits(self._index.candidates(prefix))

    def _hits(self, positions: Iterable[int]) -> list[Hit]:
        symbols = map(self._index.symbol, positions)
        return [Hit(symbol.address + self._bias, symbol) for symbol in symbols]

    def named(self, name: str) -> int | None:
        """Address of the first text symbol of exactly that name."""
        address = self._index.named(name)
        return None if address is None else address + self._bias

    def find(self, pattern: str) -> list[Hit]:
        """Return the text symbols that match ``pattern``, in symbol order."""
        return self._hits(self._index.find(pattern))

    def has(self, pattern: str) -> bool:
        """Whether a text symbol matches ``pattern``."""
        return bool(self._index.find(pattern))

    def rank(self, pattern: str, global_only: bool, address: int) -> NameRank:
        """Which of several patterns has the better name for a function; the least is best."""
        return self._index.rank(pattern, global_only, address - self._bias)

    def claimed(self, pattern: str, global_only: bool) -> dict[int, str]:
        """The addresses of the text symbols that match ``pattern``, each with its first name as shown."""
        positions, text, bias = self._index.find(pattern), self._index.text, self._bias
        names, addresses = text.names, text.addresses
        if global_only:
            positions = [position for position in positions if text.is_global[position]]
        return {
            addresses[p] + bias: shown_name(name) if "@" in name or name[:1] == "_" else name
            for p in reversed(positions)
            for name in (names[p],)
        }
