"""What code addresses of a log mean, by the symbols of the files that it names."""

from __future__ import annotations

import os
import posixpath
from bisect import bisect_right
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from interpose.elf.errors import ElfError
from interpose.elf.headers import PF_X
from interpose.elf.symbolizer import ObjectFile, Symbolizer
from interpose.formats.datagrind.bulk import Mark, Trace
from interpose.formats.datagrind.records import TextAvma

MOST_OBJECTS = 4096
MOST_EPOCHS = 256
"""How often objects may take the place of others; what comes then is believed to have been there before."""
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


class _Epoch:
    """The objects that were there from a record of the log on, until the next one of these."""

    def __init__(self, offset: int = 0, begin: int = 0, objects: Iterable[_Object] = ()) -> None:
        self.offset = offset
        self.begin = begin
        self.objects = list(objects)
        self.gone: list[_Object] = []
        """Those that were there just before."""
        self._symbolizer: Symbolizer | None = None

    @property
    def symbolizer(self) -> Symbolizer:
        """Made when it is asked for the first time."""
        if self._symbolizer is None:
            self._symbolizer = Symbolizer()
            for one in self.objects:
                for piece in one.pieces:
                    assert one.file is not None
                    self._symbolizer.add_mapping(one.file, *piece)
        return self._symbolizer

    def unreadable(self, ip: int) -> str | None:
        """Of the objects that cannot be read, the last that begins before an address."""
        before = [one for one in self.objects if not one.pieces and one.avma <= ip]
        return max(before, key=lambda one: (one.avma, one.path)).path if before else None


class _Object(NamedTuple):
    """An object of a log where it was."""

    avma: int
    path: str
    file: ObjectFile | None
    pieces: tuple[tuple[int, int, int], ...]
    """Address, size and offset of what was mapped; none of a file that cannot be read."""

    def meets(self, other: _Object) -> bool:
        """Whether they cannot be there at one time."""
        if not self.pieces or not other.pieces:
            return self.avma == other.avma
        return any(a < c + d and c < a + b for a, b, _ in self.pieces for c, d, _ in other.pieces)

    def holds(self, ip: int) -> bool:
        return any(start <= ip < start + size for start, size, _ in self.pieces)


class Symbols:
    """The objects of a log.

    It does not say when one goes: it is there until another takes its place. What is asked for is what was
    there at an instruction count.
    """

    def __init__(self, trace: Trace) -> None:
        self._files: dict[str, ObjectFile] = {}
        self._opener = Symbolizer()
        self._epochs = [_Epoch()]
        for mark in islice(trace.texts(), MOST_OBJECTS):
            if isinstance(mark.record, TextAvma):
                self._add(mark, mark.record.address, os.fsdecode(mark.record.path))

    def _add(self, mark: Mark, avma: int, path: str) -> None:
        epoch = self._epochs[-1]
        if any((one.avma, one.path) == (avma, path) for one in epoch.objects):
            return
        new = self._object(avma, path)
        gone = [one for one in epoch.objects if one.meets(new)]
        if gone and len(self._epochs) < MOST_EPOCHS:
            epoch = _Epoch(mark.offset, mark.begin, epoch.objects)
            epoch.gone = gone
            self._epochs.append(epoch)
        epoch.objects = [one for one in epoch.objects if one not in gone]
        epoch.objects.append(new)

    def _object(self, avma: int, path: str) -> _Object:
        nothing = _Object(avma, path, None, ())
        if not os.path.isfile(path):
            return nothing
        if path not in self._files:
            self._files[path] = self._opener.object_at(path)
        file = self._files[path]
        try:
            image = file.image
            text = image.section_named(".text") if image is not None else None
        except ElfError:
            return nothing
        if image is None or text is None:
            return nothing
        bias = avma - text.addr
        segments = [s for s in image.load_segments if s.filesz and bias + (s.vaddr & ~_PAGE) >= 0]
        pieces = []
        # Code wins where segments share a page.
        for segment in sorted(segments, key=lambda s: bool(s.flags & PF_X)):
            start = segment.vaddr & ~_PAGE
            size = (segment.vaddr + segment.filesz - start + _PAGE) & ~_PAGE
            pieces.append((bias + start, size, segment.offset & ~_PAGE))
        return _Object(avma, path, file, tuple(pieces))

    # ---- Times ----

    def changes(self) -> list[tuple[int, int]]:
        """Where other objects took the place of some: offset in the file, instruction count."""
        return [(epoch.offset, epoch.begin) for epoch in self._epochs[1:]]

    def changed(self, number: int, ip: int) -> bool:
        """Whether a code address means something else than before, from a change on."""
        epoch = self._epochs[number + 1]
        new = epoch.objects[-1]
        return not all(one.pieces for one in (new, *epoch.gone)) or any(
            one.holds(ip) for one in (new, *epoch.gone)
        )

    def _at(self, instr: int) -> _Epoch:
        return self._epochs[bisect_right(self._epochs, instr, key=_begin) - 1]

    # ---- Names ----

    def levels(self, ip: int, instr: int = 0) -> list[Level]:
        """The functions of a code address, innermost first."""
        epoch = self._at(instr)
        found = epoch.symbolizer.lookup(ip)
        if len(found) == 1 and found[0].obj is None:
            return [Level(ip, None, None, None, epoch.unreadable(ip))]
        levels = []
        for frame in found:
            path = posixpath.join(frame.dir or "", frame.file) if frame.file is not None else None
            levels.append(Level(ip, frame.demangled, path, frame.line, frame.obj))
        return levels

    def data(self, address: int, instr: int = 0) -> str | None:
        """The variable that an address is in."""
        place = self._at(instr).symbolizer.describe_data(address)
        if place is None:
            return None
        return f"{place.name}+{place.offset}" if place.offset else place.name

    def stack(self, ips: Iterable[int], instr: int = 0) -> list[Level]:
        """The functions of a call stack; all but the innermost address are those of calls, or just behind."""
        return [level for n, ip in enumerate(ips) for level in self.levels(ip - 1 if n and ip else ip, instr)]


def _begin(epoch: _Epoch) -> int:
    return epoch.begin
