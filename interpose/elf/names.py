"""Whether a file's symbol tables can hold a name: a look at the string tables and the symbols as they are.

Most programs define nothing that redirects, and none of their symbols is wanted then. Looking for a few
bytes in the string tables takes a fraction of a millisecond where unpacking the symbol tables of a libc and
its debug file takes fifty. This module imports next to nothing for the same reason.
"""

from __future__ import annotations

import os
import struct

from interpose.elf.headers import (
    SHF_COMPRESSED,
    SHN_LORESERVE,
    SHT_DYNSYM,
    SHT_NOTE,
    SHT_STRTAB,
    SHT_SYMTAB,
    SYMBOL_BYTES,
    HeaderError,
    Headers,
    build_id,
    whole,
)
from interpose.elf.openfile import OpenFile
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEBUG_ROOT = "/usr/lib/debug"
LARGE = 1 << 18
"""From so many bytes on it is worth while to note once what short sequences the tables hold."""


class _SymbolTable:
    """Where a file has a table of symbols, and their names."""

    def __init__(self, file: OpenFile, offset: int, size: int, strings: bytes) -> None:
        self._place = file, offset, size
        self._strings = strings

    def may_define(self, joined: bytes, count: int) -> bool:
        """Whether a symbol that is defined has one of so many names, each of which ends with a NUL."""
        file, offset, size = self._place
        try:
            data = file.read(offset, size)
        except (OSError, OverflowError):
            return True
        if len(data) < size or size % SYMBOL_BYTES:
            return True
        table = ffi.new("struct ip_symtab *")
        table.symbols = symbols = ffi.from_buffer("uint8_t[]", data)
        table.count = len(symbols) // SYMBOL_BYTES
        table.strings = strings = ffi.from_buffer("char[]", self._strings)
        table.strings_size = len(strings)
        return bool(lib.ip_defines_one_of(table, joined, count))


class NameTables:
    """The string tables of one file and of whatever debug files may belong to it, read when first needed."""

    def __init__(self, path: str, file: OpenFile | None) -> None:
        """Without a file the answer is always that there may be such a name."""
        self.path = path
        self._file = file
        self._tables: list[bytes] | None = None
        self._symbols: list[_SymbolTable] = []
        self._grams: Any = None
        self._unsure = False
        self._answers: dict[tuple[bytes, ...], bool] = {}
        self._defines: dict[tuple[bytes, ...], bool] = {}

    def may_hold(self, *parts: bytes) -> bool:
        """False if no symbol's name contains one of ``parts``; true also where the file cannot tell."""
        answer = self._answers.get(parts)
        if answer is None:
            tables = self._taken()
            answer = self._unsure or any(
                part in table for part in parts if self._is_likely(part) for table in tables
            )
            self._answers[parts] = answer
        return answer

    def may_define(self, names: tuple[bytes, ...]) -> bool:
        """False if no symbol that is defined has one of ``names``, whatever its version; true also where the
        file cannot tell.

        Nearly every library's string tables hold the names of the allocation family, which it uses.
        """
        answer = self._defines.get(names)
        if answer is None:
            self._taken()
            joined = b"".join(name + b"\0" for name in names)
            answer = self._unsure or any(table.may_define(joined, len(names)) for table in self._symbols)
            self._defines[names] = answer
        return answer

    def _taken(self) -> list[bytes]:
        """The string tables, read if need be."""
        if self._tables is None:
            self._tables, self._symbols = [], []
            self._unsure = self._file is None or not self._read(self._file, debug=False)
            self._grams = _grams(self._tables)
        return self._tables

    def release(self) -> None:
        """Let go of the bytes; they are read again if need be."""
        self._tables = self._grams = None
        self._symbols = []

    def _is_likely(self, part: bytes) -> bool:
        """False if the tables are known not to hold ``part``."""
        return self._grams is None or bool(lib.ip_has_grams(self._grams, part, len(part)))

    def _read(self, file: OpenFile, *, debug: bool) -> bool:
        """Take the tables of a file; false if its section headers are missing or odd."""
        read = whole(file.read)
        assert self._tables is not None
        places: list[str] = []
        try:
            headers = Headers(read)
            if not headers.is_elf or not headers.is_x86_64 or not 0 < headers.shnum < SHN_LORESERVE:
                return False
            rows, names = headers.section_headers()
            strings: dict[int, bytes] = {}
            for place, (_, kind, flags, _, offset, size, *_) in enumerate(rows):
                if kind == SHT_STRTAB:
                    if flags & SHF_COMPRESSED:
                        return False
                    strings[place] = read(offset, size, "string table")
                elif kind == SHT_NOTE and not debug:
                    places += filter(os.path.exists, _build_id_places(read(offset, min(size, 4096), "notes")))
            self._tables += strings.values()
            self._symbols += [
                _SymbolTable(file, row[4], row[5], strings[row[6]])
                for row in rows
                if row[1] in (SHT_SYMTAB, SHT_DYNSYM)
            ]
            if not debug:
                places += self._linked_places(file, rows, names)
        except (OSError, struct.error, OverflowError, HeaderError, KeyError):
            return False
        # Whether it does belong is not looked into: more names only mean more work.
        return all(map(self._read_debug, places))

    def _read_debug(self, place: str) -> bool:
        try:
            return self._read(OpenFile(place), debug=True)
        except (OSError, ValueError):
            return False

    def _linked_places(self, file: OpenFile, rows: list[tuple[int, ...]], names: bytes) -> list[str]:
        """Where the file that .gnu_debuglink names is."""
        at = names.find(b".gnu_debuglink\0")
        row = next((row for row in rows if row[0] == at), None)
        if at < 0 or row is None:
            return []
        link = os.fsdecode(file.read(row[4], min(row[5], 4096)).partition(b"\0")[0])
        own = os.path.realpath(self.path)
        folder = os.path.dirname(own)
        places = [f"{folder}/{link}", f"{folder}/.debug/{link}", f"{DEBUG_ROOT}{folder}/{link}"]
        return [place for place in places if os.path.exists(place) and os.path.realpath(place) != own]


def _grams(tables: list[bytes]) -> Any:
    """What sequences of bytes these tables hold; None if to search them is faster."""
    if sum(map(len, tables)) < LARGE:
        return None
    words = ffi.new("uint64_t[]", lib.IP_GRAM_WORDS)
    for table in tables:
        lib.ip_note_grams(table, len(table), words)
    return words


def _build_id_places(notes: bytes) -> list[str]:
    found = build_id(notes)
    return [f"{DEBUG_ROOT}/.build-id/{found[:2]}/{found[2:]}.debug"] if found else []
