"""Address → source lines with inlined calls, through symbolic's symcache.

Building a symcache takes 0.13 s for a libc, opening a stored one under a millisecond, so one that took
long is kept (``store.py``).
"""

from __future__ import annotations

import os
import time

from interpose.elf.errors import ElfError
from interpose.elf.store import WORTH_STORING_SECONDS, store, stored_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from interpose.elf.image import Image
    from interpose.elf.symcache import SymCache
else:
    from interpose.records import NamedTuple

READER_BYTES = 48 << 20  # its library, and what it takes beside five times the file


class SourceLine(NamedTuple):
    """One level of a lookup; `path` is cleaned (no `.` and `..` parts)."""

    function: str
    path: str | None
    line: int


class LineTable:
    """The source lines of one ELF file, read when first asked."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._load_base = image.load_base
        self._cache: SymCache | None = None
        self._tried = False

    def lookup(self, address: int) -> list[SourceLine]:
        """Levels of the link-time `address`, innermost first; empty when nothing is known."""
        if not self._tried:
            self._tried = True
            self._cache = self._open()
        if self._cache is None or address < self._load_base:
            return []
        found = self._cache.lookup(address - self._load_base)
        if len(found) == 1:
            function, path, line = found[0]
            return [SourceLine(function, path, line)]
        return [SourceLine(*level) for level in found]

    def _open(self) -> SymCache | None:
        self._require_memory()
        from interpose.elf.symcache import LATEST_VERSION, SymCache, SymCacheError

        stored = stored_name(self._image, f"v{LATEST_VERSION}.symcache")
        if stored is not None and os.path.exists(stored):
            try:
                cache = SymCache.open(stored)
                if cache.version == LATEST_VERSION:
                    return cache
            except (SymCacheError, OSError):
                pass
        began = time.monotonic()
        try:
            # Its bytes, not its name, by which there may be another file; nor a mapping, which would end us
            # with SIGBUS if the file got shorter.
            data = self._image.read(0, self._image.size, "the file")
            cache = SymCache.make(data)
        except (ElfError, SymCacheError, OSError, ValueError):
            return None
        if stored is not None and time.monotonic() - began >= WORTH_STORING_SECONDS:
            store(stored, cache.dump_into)
        return cache

    def _require_memory(self) -> None:
        """:class:`MemoryError` unless there is what the reader needs, about: it aborts where it gets none."""
        import mmap

        need = READER_BYTES + 5 * self._image.size
        try:
            mmap.mmap(-1, need, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
        except OSError:
            raise MemoryError from None
