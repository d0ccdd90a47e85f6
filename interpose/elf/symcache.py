"""symbolic's symcaches by its C library alone: source lines with inlined calls of a file's addresses.

Its Python package loads fifty modules to do the same, 25 ms, which each program with one report would wait
for, and each forked child that leaks.  Names and meaning of the functions are those of its C interface.
"""

from __future__ import annotations

import os
import sys

from interpose.errors import InterposeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any, BinaryIO


class SymCacheError(Exception):
    """The library has refused; its words."""


def _spec() -> ModuleSpec | None:
    for finder in sys.meta_path:
        found = finder.find_spec("symbolic", None)
        if found is not None:
            return found
    return None


def _library() -> tuple[Any, Any]:
    """The package's cffi face.  Its ``__init__``, which imports everything, need not run for that."""
    name = "symbolic"
    if name in sys.modules:
        from symbolic._lowlevel import ffi, lib

        return ffi, lib
    spec = _spec()
    if spec is None or spec.submodule_search_locations is None:
        text = "source lines need the package 'symbolic', which is not installed (pip install symbolic)"
        raise InterposeError(text)
    package = type(sys)(name)
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules[name] = package
    try:
        from symbolic._lowlevel import ffi, lib
    finally:
        del sys.modules[name]  # whoever imports it gets the whole package
    return ffi, lib


ffi, lib = _library()


def _call(function: Any, *arguments: Any) -> Any:
    lib.symbolic_err_clear()
    result = function(*arguments)
    if lib.symbolic_err_get_last_code():
        raise SymCacheError(_taken(lib.symbolic_err_get_last_message()))
    return result


def _text(string: Any) -> str:
    """A ``SymbolicStr`` that somebody else releases."""
    return ffi.unpack(string.data, string.len).decode("utf-8", "replace") if string.len else ""


def _taken(string: Any) -> str:
    """A ``SymbolicStr`` that was made for us."""
    try:
        return _text(string)
    finally:
        if string.owned:
            lib.symbolic_str_free(ffi.addressof(string))


_lookup = lib.symbolic_symcache_lookup

LATEST_VERSION: int = _call(lib.symbolic_symcache_latest_version)
"""Of the format that this library writes."""


class SymCache:
    """The source lines of one file.

    :ivar version: of the format.
    """

    def __init__(self, handle: Any) -> None:
        self._handle = ffi.gc(handle, lib.symbolic_symcache_free)
        self.version: int = _call(lib.symbolic_symcache_get_version, handle)

    @classmethod
    def open(cls, path: str) -> SymCache:
        """One that was stored.

        :raises SymCacheError: it is none.
        """
        return cls(_call(lib.symbolic_symcache_open, os.fsencode(path)))

    @classmethod
    def make(cls, data: bytes) -> SymCache:
        """That of an ELF file, given its bytes.

        :raises SymCacheError: the file cannot be read.
        """
        archive = ffi.gc(_call(lib.symbolic_archive_from_bytes, data, len(data)), lib.symbolic_archive_free)
        found = _call(lib.symbolic_archive_get_object, archive, 0)
        if found == ffi.NULL:
            raise SymCacheError("no object")
        elf = ffi.gc(found, lib.symbolic_object_free)
        try:
            return cls(_call(lib.symbolic_symcache_from_object, elf))
        finally:
            ffi.release(elf)
            ffi.release(archive)

    def dump_into(self, file: BinaryIO) -> None:
        """Write it to where :meth:`open` will find it."""
        size = _call(lib.symbolic_symcache_get_size, self._handle)
        file.write(ffi.buffer(_call(lib.symbolic_symcache_get_bytes, self._handle), size))

    def lookup(self, address: int) -> list[tuple[str, str | None, int]]:
        """Function, path and line of the link-time `address`, innermost of inlined calls first."""
        result = _lookup(self._handle, address)
        if not result.len:  # nothing is known there, or it could not be looked up
            result = _call(_lookup, self._handle, address)
        try:
            return [
                (_text(one.symbol), _taken(one.full_path) or None, one.line)
                for one in (ffi.unpack(result.items, result.len) if result.len else ())
            ]
        finally:
            lib.symbolic_lookup_result_free(ffi.addressof(result))
