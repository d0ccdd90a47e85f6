"""What code addresses of a log mean, by the symbols of the files that it names."""

from __future__ import annotations

import os
import posixpath
from bisect import bisect_right
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from interpose.elf.errors import ElfError
from interpose.elf.image import PF_X
from interpose.elf.symbolizer import Symbolizer
from interpose.formats.datagrind.bulk import Trace
from interpose.formats.datagrind.records import TextAvma

MOST_OBJECTS = 4096
_PAGE = 4095


class Level(NamedTuple):
    """One function of a code address; inlined ones come first."""

    ip: int
    function: str | None
    path: str | None
    line: int | None
    object: str | None

    def place(self) -> str:
        """`function (file:line)`, as far as it is known."""
        name = self.function or f"0x{self.ip:x}"
        if self.path and self.line:
            return f"{name} ({posixpath.basename(self.path)}:{self.line})"
        return f"{name} (in {self.object})" if self.object else name


def without_parameters(name: str) -> str:
    """`ns::Box<int>::get(int) const` -> `ns::Box<int>::get`."""
    text = name.removesuffix(" const")
    if not text.endswith(")"):
        return name
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += (text[index] == ")") - (text[index] == "(")
        if depth == 0:
            head = text[:index]
            is_name = head.endswith("::") or head.rpartition("::")[2] in ("", "operator")
            return name if is_name else head
    return name


class Symbols:
    """The objects of a log."""

    def __init__(self, trace: Trace) -> None:
        self._symbolizer = Symbolizer()
        self._unreadable: list[tuple[int, str]] = []
        for mark in islice(trace.texts(), MOST_OBJECTS):
            if isinstance(mark.record, TextAvma):
                self._add(mark.record.address, os.fsdecode(mark.record.path))
        self._unreadable.sort()

    def _add(self, avma: int, path: str) -> None:
        if not os.path.isfile(path) or not self._map(avma, path):
            self._unreadable.append((avma, path))

    def _map(self, avma: int, path: str) -> bool:
        """Lay an object out so that its .text is there; whether that worked."""
        file = self._symbolizer.object_at(path)
        try:
            image = file.image
            text = image.section_named(".text") if image is not None else None
        except ElfError:
            return False
        if image is None or text is None:
            return False
        bias = avma - text.addr
        segments = [s for s in image.load_segments if s.filesz and bias + (s.vaddr & ~_PAGE) >= 0]
        # Code wins where segments share a page.
        for segment in sorted(segments, key=lambda s: bool(s.flags & PF_X)):
            start = segment.vaddr & ~_PAGE
            size = (segment.vaddr + segment.filesz - start + _PAGE) & ~_PAGE
            self._symbolizer.add_mapping(file, bias + start, size, segment.offset & ~_PAGE)
        return True

    def levels(self, ip: int) -> list[Level]:
        """The functions of a code address, innermost first."""
        found = self._symbolizer.lookup(ip)
        if len(found) == 1 and found[0].obj is None:
            return [Level(ip, None, None, None, self._object(ip))]
        levels = []
        for frame in found:
            path = posixpath.join(frame.dir or "", frame.file) if frame.file is not None else None
            levels.append(Level(ip, frame.demangled, path, frame.line, frame.obj))
        return levels

    def _object(self, ip: int) -> str | None:
        """Of those that cannot be read, the last that begins before."""
        index = bisect_right(self._unreadable, (ip, "\U0010ffff")) - 1
        return self._unreadable[index][1] if index >= 0 else None

    def data(self, address: int) -> str | None:
        """The variable that an address is in."""
        place = self._symbolizer.describe_data(address)
        if place is None:
            return None
        return f"{place.name}+{place.offset}" if place.offset else place.name

    def stack(self, ips: Iterable[int]) -> list[Level]:
        """The functions of a call stack; all but the innermost address are those of calls, or just behind."""
        return [level for n, ip in enumerate(ips) for level in self.levels(ip - 1 if n and ip else ip)]
