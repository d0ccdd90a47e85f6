"""All lines of a file at once (lines.c), for whoever asks about every instruction of a program.

Paths are as the line table spells them. Reading the lines of a libc takes some 30 ms, opening stored ones
none.
"""

from __future__ import annotations

import os
import stat
import time

from interpose.elf.errors import ElfError
from interpose.elf.store import WORTH_STORING_SECONDS, store, stored_name
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from interpose.elf.image import Image

_KIND = "l1.lines"


class SourceLines:
    """The lines of an image, read when they are first asked for."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._raw: Any = None

    @property
    def raw(self) -> Any:
        """The table, as C takes it."""
        if self._raw is None:
            self._raw = ffi.new("struct ip_lines *")
            self._read()
        return self._raw

    def find(self, address: int) -> tuple[str, int] | None:
        """Path and line of a link-time address."""
        row = lib.ip_lines_find(self.raw, address)
        return (self.path(row.file), row.line) if row else None

    def path(self, file: int) -> str:
        """A file by the number that rows have."""
        return bytes(ffi.string(lib.ip_lines_path(self.raw, file))).decode("utf-8", "surrogateescape")

    def _read(self) -> None:
        path = stored_name(self._image, _KIND)
        if path is not None and self._open(path):
            return
        began = time.monotonic()
        try:
            sections, alive = self._sections()
        except ElfError:
            return
        self._raw = ffi.gc(self._raw, lib.ip_lines_free)
        if lib.ip_lines_read(sections, self._raw) != 0:
            raise MemoryError
        del alive
        if path is not None and time.monotonic() - began >= WORTH_STORING_SECONDS:
            whole = ffi.buffer(self._raw.whole, self._raw.whole_size)
            store(path, lambda stream: stream.write(whole))

    def _open(self, path: str) -> bool:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError):
            return False
        try:
            # Others could make it another table, or cut it off under our feet.
            status = os.fstat(handle)
            if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return False
            size = ffi.new("uint64_t *")
            whole = lib.ip_map_file(handle, size)
            return bool(whole) and bool(lib.ip_lines_open(whole, size[0], self._raw) == 0)
        finally:
            os.close(handle)

    def _sections(self) -> tuple[Any, list[Any]]:
        """What C reads the lines from, and what must live while it does."""
        image = self._image
        raw = ffi.new("struct ip_line_sections *")
        alive: list[Any] = []
        for field, name in (("line", ".debug_line"), ("line_str", ".debug_line_str"), ("str", ".debug_str")):
            kind = "uint8_t[]" if field == "line" else "char[]"
            data = ffi.from_buffer(kind, image.data_of(name))
            alive.append(data)
            setattr(raw, field, data)
            setattr(raw, f"{field}_size", len(data))
        ranges = ffi.new("uint64_t[]", [min(end, 2**64 - 1) for pair in image.text_ranges for end in pair])
        alive.append(ranges)
        raw.ranges, raw.n_ranges = ranges, len(ranges) // 2
        if lib.ip_lines_want_homes(raw):
            alive += self._set_homes(raw)
        return raw, alive

    def _set_homes(self, raw: Any) -> list[Any]:
        from interpose.elf.dwarf import DebugInfo

        text = b""
        offsets, places, known = [], [], {}
        for offset, home in sorted(DebugInfo(self._image).homes().items()):
            if home not in known:
                known[home] = len(text)
                text += home.encode("utf-8", "surrogateescape") + b"\0"
            offsets.append(offset)
            places.append(known[home])
        homes, from_, names = (
            ffi.new("uint64_t[]", offsets),
            ffi.new("uint32_t[]", places),
            ffi.new("char[]", text),
        )
        raw.homes, raw.home_from, raw.home_names, raw.n_homes = homes, from_, names, len(offsets)
        return [homes, from_, names]
