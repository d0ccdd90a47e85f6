"""The objects of a process, for the redirection core: what its dynamic linker has loaded, in that order."""

from __future__ import annotations

import os

from interpose import paths
from interpose.elf.errors import ElfError
from interpose.elf.headers import PF_X
from interpose.elf.image import Image
from interpose.elf.symtab import function_symbols
from interpose.jit._native import ffi, lib
from interpose.native.markers import markers
from interpose.procmaps import regions
from interpose.redir import CodeObject, SymbolColumns, SymbolTable
from interpose.supervisor.files import Files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NamedTuple

    from interpose.elf.symbolizer import ObjectFile
    from interpose.native.wire import Linked
    from interpose.options.parse import Config
    from interpose.procmaps import Region
else:
    from interpose.records import NamedTuple

_PAGE = 0xFFF
_DELETED = " (deleted)"


class Loaded:
    """One object of one process."""

    __slots__ = ("file", "linked", "markers", "obj")

    def __init__(self, linked: Linked, obj: CodeObject, file: ObjectFile) -> None:
        self.linked = linked
        self.obj = obj
        self.file = file
        image = file.image
        self.markers = (
            [] if image is None else [(linked.bias + at, kind) for at, kind in _markers(file, image)]
        )

    @property
    def first_constructor(self) -> int:
        """The address of the function that the dynamic linker calls first; 0 if that is not known."""
        image = self.file.image
        first = None if image is None else image.initialiser
        return 0 if first is None else self.linked.bias + first


_known_markers: dict[int, tuple[ObjectFile, list[tuple[int, int]]]] = {}


def _markers(file: ObjectFile, image: Image) -> list[tuple[int, int]]:
    """Those of a file, looked for once."""
    known = _known_markers.get(id(file))
    if known is None:
        known = _known_markers[id(file)] = (file, markers(image))
    return known[1]


JUMP, SHORT_JUMP = 5, 2
"""Bytes of the jump that a function begins with when it is bound, and of one to a cave."""
_MOST_CAVES = 32


class Room(NamedTuple):
    """Where a function's jump has room.

    :ivar size: first bytes of the function that may be overwritten, at most IP_MOST_ROOM.
    :ivar cave: where there is padding in reach for the jump, if the function has no room for it; else 0.
    """

    size: int
    cave: int


NO_ROOM = Room(0, 0)


def rooms(loaded: Loaded, addresses: Iterable[int]) -> dict[int, Room]:
    """The room of some functions of an object."""
    file, bias = loaded.file, loaded.linked.bias
    image = file.image
    _, known, taken = _known_rooms.setdefault(id(file), (file, {}, set()))
    wanted = sorted({address - bias for address in addresses} - known.keys())
    if wanted and image is not None:
        columns = loaded.obj.table.columns
        starts = sorted({a for a, is_text in zip(columns.addresses, columns.is_text, strict=True) if is_text})
        for header in image.load_segments:
            end = header.vaddr + header.filesz
            here = [address for address in wanted if header.vaddr <= address < end]
            if not here or not header.flags & PF_X:
                continue
            code = image.read(header.offset, header.filesz, "code")
            inside = [address for address in starts if header.vaddr <= address < end]
            found = ffi.new("uint8_t[]", len(here))
            lib.ip_rooms(code, len(code), header.vaddr, inside, len(inside), here, len(here), found)
            for address, size in zip(here, bytes(ffi.buffer(found)), strict=True):
                cave = 0
                if SHORT_JUMP <= size < JUMP:
                    caves = ffi.new("uint64_t[]", _MOST_CAVES)
                    place = (code, len(code), header.vaddr, inside, len(inside))
                    count = lib.ip_caves(*place, address, caves, _MOST_CAVES)
                    cave = next((each for each in caves[0:count] if each not in taken), 0)
                    taken.add(cave)
                known[address] = Room(size, cave)
    return {address: _moved(known.get(address - bias, NO_ROOM), bias) for address in addresses}


def _moved(room: Room, bias: int) -> Room:
    return Room(room.size, room.cave + bias if room.cave else 0)


_known_rooms: dict[int, tuple[ObjectFile, dict[int, Room], set[int]]] = {}


class Reader:
    """Makes objects; what was read of a file serves all processes."""

    def __init__(self, config: Config) -> None:
        from interpose.elf.symbolizer import ObjectFile, Symbolizer

        core = config.core
        extra = () if core.extra_debuginfo_path is None else (core.extra_debuginfo_path,)
        self._extra = bool(extra)
        self._files = Files()
        self._own = os.path.realpath(paths.product(paths.NATIVE))
        symbolizer = Symbolizer(extra_debuginfo_path=extra, allow_mismatched=core.allow_mismatched_debuginfo)
        self._make = symbolizer.object_file
        self._type = ObjectFile

    def read(self, pid: int, linked: Iterable[Linked]) -> list[Loaded]:
        """The objects that have a file; not our own part. Raises OSError if the process is gone."""
        mapped = [region for region in regions(pid) if region.name.startswith(b"/")]
        found = []
        for each in linked:
            place = next((m for m in mapped if m.start <= each.dynamic < m.end), None)
            loaded = None if place is None else self._load(pid, each, place)
            if loaded is not None:
                found.append(loaded)
        return found

    def _load(self, pid: int, linked: Linked, place: Region) -> Loaded | None:
        path = os.fsdecode(place.name).removesuffix(_DELETED)
        if os.path.realpath(path) == self._own:
            return None
        through = place.link(pid)
        try:
            known = self._files.get(path) if os.stat(path).st_ino == place.inode else None
        except OSError:
            known = None
        if known is None:
            try:
                status = os.stat(through)
            except OSError:
                return None
            known = self._files.get(path, (status.st_dev, status.st_ino), [through])
        file = known.object_file(self._make)
        image = file.image
        if image is None:
            return None
        try:
            soname = image.soname
        except ElfError:
            return None
        text = [
            ((linked.bias + h.vaddr) & ~_PAGE, (linked.bias + h.vaddr + h.memsz + _PAGE) & ~_PAGE)
            for h in image.load_segments
            if h.flags & PF_X
        ]
        if file.redirection is None:
            file.redirection = SymbolTable(lambda: _symbols(file))
        names = None if self._extra else known.names
        obj = CodeObject(path, text, file.redirection, soname, linked.bias, names)
        return Loaded(linked, obj, file)


def _symbols(file: ObjectFile) -> SymbolColumns:
    if file.image is None:
        return SymbolColumns()
    try:
        return SymbolColumns(*function_symbols(file.image, file.installed_debug_image))
    except ElfError:
        return SymbolColumns()
