"""Symbols of an image in columns, read in bulk by the extension (symtab.c)."""

from __future__ import annotations

from _operator import add

from interpose.elf.errors import ElfError
from interpose.elf.headers import SHT_DYNSYM, SHT_SYMTAB, SYMBOL_BYTES
from interpose.elf.image import Image
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NamedTuple
else:
    from interpose.records import NamedTuple


class FunctionSymbols(NamedTuple):
    """What the redirection core asks of code symbols; addresses are link-time, flags 0 or 1."""

    names: list[str]
    addresses: memoryview
    sizes: memoryview
    is_global: bytes
    is_ifunc: bytes
    is_text: bytes


class _Table:
    """A symbol table as the extension takes it; what that points into lives as long."""

    def __init__(self, image: Image, kind: int) -> None:
        table, strings = image.symbol_table(kind)
        self.count = len(table) // SYMBOL_BYTES
        self.raw = raw = ffi.new("struct ip_symtab *")
        raw.count = self.count
        raw.is_dynamic = kind == SHT_DYNSYM
        raw.symbols = table = ffi.from_buffer("uint8_t[]", table)
        raw.strings = strings_at = ffi.from_buffer("char[]", strings)
        raw.strings_size = len(strings)
        self._alive: list[Any] = [table, strings_at]
        misnamed = lib.ip_symtab_misnamed(raw)
        if misnamed:
            raise ElfError(image.path, f"name of symbol {misnamed} lies outside its string table")
        versions = image.version_indices(max(self.count - 1, 0)) if kind == SHT_DYNSYM else None
        if versions is not None:
            self._set_versions(versions, image.version_names())

    def _set_versions(self, indices: bytes, names: dict[int, str]) -> None:
        count = max(names, default=-1) + 1
        places = [-1] * count
        text = b""
        for index, name in names.items():
            places[index] = len(text)
            text += name.encode("utf-8", "surrogateescape") + b"\0"
        self.raw.versions = indices_at = ffi.from_buffer("uint8_t[]", indices)
        self.raw.version_names = names_at = ffi.from_buffer("char[]", text)
        self.raw.version_name_from = places_at = ffi.new("int32_t[]", places)
        self.raw.version_count = count
        self._alive += [indices_at, names_at, places_at]


def _tables(image: Image, debug: Image | None) -> tuple[_Table, _Table]:
    """The full table, that of the debug file if it has one, and the dynamic table."""
    full = _Table(debug, SHT_SYMTAB) if debug is not None else None
    if full is None or full.count < 2:
        full = _Table(image, SHT_SYMTAB)
    if full.count < 2:
        full = _of_mini_debug(image) or full
    return full, _Table(image, SHT_DYNSYM)


def _of_mini_debug(image: Image) -> _Table | None:
    """The table in .gnu_debugdata; damage there costs only what it has."""
    try:
        return _Table(image.mini_debug, SHT_SYMTAB) if image.mini_debug is not None else None
    except ElfError:
        return None


def _flat(ranges: list[tuple[int, int]]) -> Any:
    ends = [min(address, 2**64 - 1) for pair in ranges for address in pair]
    return ffi.new("uint64_t[]", ends)


def _numbers(column: Any, count: int) -> memoryview:
    """A copy of unsigned 64-bit numbers, eight bytes each: as a list of integers it would take 40."""
    return memoryview(ffi.buffer(column, 8 * count)[:]).cast("Q")


def _names(found: Any) -> list[str]:
    names = ffi.buffer(found.names, found.names_size)[:].decode("utf-8", "surrogateescape").split("\0")
    names.pop()
    return names


def function_symbols(image: Image, debug: Image | None = None, *, objects: bool = False) -> FunctionSymbols:
    """Code symbols for the redirection core, from the full symbol table and the dynamic one, by address.

    A name with a version is given with its suffix, and once more without it when it is the default
    version, or the only version of that name: what `dlsym(name)` would find. Symbols without size or
    type are left out, as Valgrind's symbol reader does (seen with --trace-symtab=yes).

    Linking makes a hidden symbol local (gABI, "Symbol Visibility"). In a program it counts as global all
    the same: one file's functions call another's by that name, as they would if it were not hidden.

    :param objects: whether data symbols in code count, too, as they do for Valgrind: functions in assembly
        may be marked so. They may as well be tables, which nobody runs.
    """
    full, dynamic = _tables(image, debug)
    ranges = image.text_ranges
    found = ffi.new("struct ip_symbols *")
    lib.ip_function_symbols(
        full.raw, dynamic.raw, _flat(ranges), len(ranges), image.is_executable, objects, found
    )
    try:
        count = found.count
        return FunctionSymbols(
            _names(found),
            _numbers(found.address, count),
            _numbers(found.size, count),
            *(ffi.buffer(flags, count)[:] for flags in (found.is_global, found.is_ifunc, found.is_text)),
        )
    finally:
        lib.ip_symbols_free(found)


def place_symbols(
    image: Image, debug: Image | None, types: frozenset[int], ranges: list[tuple[int, int]]
) -> Any:
    """The symbols of these types that lie in `ranges`, as disjoint pieces by address (``struct ip_symbols``).

    The name of a dynamic symbol counts without its version here: Valgrind reads .dynsym that way.
    """
    full, dynamic = _tables(image, debug)
    found = ffi.gc(ffi.new("struct ip_symbols *"), lib.ip_symbols_free)
    mask = sum(1 << kind for kind in types)
    lib.ip_place_symbols(full.raw, dynamic.raw, _flat(ranges), len(ranges), mask, found)
    return found


def pieces(symbols: Iterable[tuple[int, int, str]]) -> Any:
    """The same of any (value, size, name)."""
    rows = list(symbols)
    found = ffi.gc(ffi.new("struct ip_symbols *"), lib.ip_symbols_free)
    names = b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for _, _, name in rows)
    values, sizes = ([row[place] for row in rows] for place in (0, 1))
    lib.ip_pieces(len(rows), ffi.new("uint64_t[]", values), ffi.new("uint64_t[]", sizes), names, found)
    return found


def columns(found: Any) -> tuple[list[int], list[int], list[str]]:
    """Starts, ends and names of pieces."""
    starts = _numbers(found.address, found.count).tolist()
    return starts, list(map(add, starts, _numbers(found.size, found.count))), _names(found)
