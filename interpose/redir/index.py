"""Lookup of a code object's text symbols by pattern, fast enough for 50,000 symbols and 100 patterns."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from interpose.redir.model import UNKNOWN, CodeObject, Symbol
from interpose.redir.patterns import compile_pattern, literal_prefix
from interpose.zenc import display_name


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


class TextIndex:
    """The text symbols of one file, by link-time address.

    Tables are built on first use: most objects interest few rules.
    """

    def __init__(self, symbols: Iterable[Symbol], ranges: tuple[tuple[int, int], ...]) -> None:
        self._symbols = symbols
        self._ranges = ranges
        self._found: dict[str, tuple[int, ...]] = {}
        self._by_prefix: dict[str, tuple[Symbol, ...]] = {}

    @cached_property
    def text(self) -> list[Symbol]:
        if len(self._ranges) == 1:  # the usual case, without a call for each symbol
            ((start, end),) = self._ranges
            return [s for s in self._symbols if s.is_text and start <= s.address < end]
        return [
            s for s in self._symbols if s.is_text and any(lo <= s.address < hi for lo, hi in self._ranges)
        ]

    @cached_property
    def _tables(self) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        bare: dict[str, list[int]] = {}
        versioned: dict[str, list[int]] = {}
        for position, symbol in enumerate(self.text):
            name = symbol.name
            if "@" in name:
                versioned.setdefault(name, []).append(position)
                name = name[: name.index("@")]
            bare.setdefault(name, []).append(position)
        return bare, versioned

    @cached_property
    def _sorted_names(self) -> tuple[list[str], list[str]]:
        bare, versioned = self._tables
        return sorted(bare), sorted(versioned)

    @cached_property
    def resolvers(self) -> frozenset[int]:
        """Addresses that are resolvers of indirect functions under at least one name."""
        return frozenset(s.address for s in self.text if s.is_ifunc)

    @cached_property
    def by_address(self) -> dict[int, Symbol]:
        """The first symbol at each address."""
        first: dict[int, Symbol] = {}
        for symbol in self.text:
            first.setdefault(symbol.address, symbol)
        return first

    def candidates(self, prefix: str) -> tuple[Symbol, ...]:
        """The symbols whose names start with ``prefix``, in symbol order."""
        known = self._by_prefix.get(prefix)
        if known is None:
            known = self._by_prefix[prefix] = tuple(s for s in self.text if s.name.startswith(prefix))
        return known

    def find(self, pattern: str) -> tuple[int, ...]:
        """Positions in ``text`` of the symbols that match ``pattern``, in symbol order."""
        known = self._found.get(pattern)
        if known is None:
            known = self._found[pattern] = tuple(self._find(pattern))
        return known

    def named(self, name: str) -> int | None:
        """Address of the first symbol of exactly that name."""
        table = self._tables["@" in name]
        return next((self.text[p].address for p in table.get(name, ()) if self.text[p].name == name), None)

    def _find(self, pattern: str) -> Iterable[int]:
        table = self._tables["@" in pattern]
        prefix = literal_prefix(pattern)
        if prefix == pattern:
            return table.get(pattern, ())
        names = self._sorted_names["@" in pattern]
        start = bisect_left(names, prefix)
        end = bisect_left(names, prefix + chr(sys.maxunicode), start)
        matching = filter(compile_pattern(pattern), names[start:end])
        return sorted(position for name in matching for position in table[name])


class SymbolIndex:
    """The text symbols of one mapped object.

    A pattern without ``@`` matches the bare name of a versioned symbol, one with ``@`` the name with its
    version.
    """

    def __init__(self, obj: CodeObject) -> None:
        self._obj = obj
        self._bias = obj.load_bias

    @cached_property
    def _index(self) -> TextIndex:
        ranges = tuple((start - self._bias, end - self._bias) for start, end in self._obj.text_ranges)
        known = self._obj.table.indexes
        found = known.get(ranges)
        if found is None:
            found = known[ranges] = TextIndex(self._obj.symbols, ranges)
        return found

    def is_resolver(self, address: int) -> bool:
        """Whether a runtime address is the resolver of an indirect function."""
        return address - self._bias in self._index.resolvers

    def name_at(self, address: int) -> str:
        """Return the shown name of the first symbol that starts at ``address``, or ``???``."""
        symbol = self._index.by_address.get(address - self._bias)
        return UNKNOWN if symbol is None else shown_name(symbol.name)

    def candidates(self, prefix: str) -> Iterator[Hit]:
        """Yield the text symbols whose names start with ``prefix``, in symbol order."""
        return (Hit(s.address + self._bias, s) for s in self._index.candidates(prefix))

    def named(self, name: str) -> int | None:
        """Address of the first text symbol of exactly that name."""
        address = self._index.named(name)
        return None if address is None else address + self._bias

    def find(self, pattern: str) -> list[Hit]:
        """Return the text symbols that match ``pattern``, in symbol order."""
        text, bias = self._index.text, self._bias
        return [Hit(text[p].address + bias, text[p]) for p in self._index.find(pattern)]
