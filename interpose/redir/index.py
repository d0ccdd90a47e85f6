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
    return display_name(name.partition("@@")[0])


class SymbolIndex:
    """The text symbols of one object. Tables are built on first use: most objects interest few rules.

    A pattern without ``@`` matches the bare name of a versioned symbol, one with ``@`` the name with its
    version.
    """

    def __init__(self, obj: CodeObject) -> None:
        self._obj = obj

    @cached_property
    def _text(self) -> list[Symbol]:
        obj = self._obj
        bias = obj.load_bias
        if len(obj.text_ranges) == 1:  # the usual case, without a call for each symbol
            ((start, end),) = obj.text_ranges
            return [s for s in obj.symbols if s.is_text and start <= s.address + bias < end]
        return [s for s in obj.symbols if s.is_text and obj.contains(s.address + bias)]

    @cached_property
    def _tables(self) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        bare: dict[str, list[int]] = {}
        versioned: dict[str, list[int]] = {}
        for position, symbol in enumerate(self._text):
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
        """Runtime addresses that are resolvers of indirect functions under at least one name."""
        bias = self._obj.load_bias
        return frozenset(s.address + bias for s in self._text if s.is_ifunc)

    @cached_property
    def _by_address(self) -> dict[int, Symbol]:
        bias = self._obj.load_bias
        first: dict[int, Symbol] = {}
        for symbol in self._text:
            first.setdefault(symbol.address + bias, symbol)
        return first

    def name_at(self, address: int) -> str:
        """Return the shown name of the first symbol that starts at ``address``, or ``???``."""
        symbol = self._by_address.get(address)
        return UNKNOWN if symbol is None else shown_name(symbol.name)

    def candidates(self, prefix: str) -> Iterator[Hit]:
        """Yield the text symbols whose names start with ``prefix``, in symbol order."""
        bias = self._obj.load_bias
        return (Hit(s.address + bias, s) for s in self._text if s.name.startswith(prefix))

    def find(self, pattern: str) -> list[Hit]:
        """Return the text symbols that match ``pattern``, in symbol order."""
        table = self._tables["@" in pattern]
        prefix = literal_prefix(pattern)
        if prefix == pattern:
            return self._hits(table.get(pattern, ()))
        names = self._sorted_names["@" in pattern]
        start = bisect_left(names, prefix)
        end = bisect_left(names, prefix + chr(sys.maxunicode), start)
        matching = filter(compile_pattern(pattern), names[start:end])
        return self._hits(sorted(position for name in matching for position in table[name]))

    def _hits(self, positions: Iterable[int]) -> list[Hit]:
        text, bias = self._text, self._obj.load_bias
        return [Hit(text[p].address + bias, text[p]) for p in positions]
