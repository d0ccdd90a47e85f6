"""Split DWARF: units whose entries are in a .dwo file or in a .dwp package.

DWARF 5, 7.3.2 and 7.3.5; before that GNU's (gcc.gnu.org/wiki/DebugFission, DebugFissionDWP). What a unit in
the program itself, a skeleton, says of addresses holds for the split one.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress

from interpose.elf.cursor import DAMAGE
from interpose.elf.dwarf import DebugInfo, Unit
from interpose.elf.errors import ElfError
from interpose.elf.image import Image

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Contributions = dict[str, tuple[int, int]]

_OF_THE_PROGRAM = frozenset((".debug_addr", ".debug_ranges"))
_COLUMNS_5 = {
    1: ".debug_info",
    3: ".debug_abbrev",
    4: ".debug_line",
    5: ".debug_loclists",
    6: ".debug_str_offsets",
    8: ".debug_rnglists",
}
_COLUMNS_2 = {
    1: ".debug_info",
    3: ".debug_abbrev",
    4: ".debug_line",
    5: ".debug_loc",
    6: ".debug_str_offsets",
}


class SplitInfo(DebugInfo):
    """The sections of a .dwo file, or those parts of a package's that belong to one unit."""

    def __init__(self, image: Image, skeleton: Unit, parts: Contributions | None = None) -> None:
        super().__init__(image)
        self.skeleton = skeleton
        self._parts = parts or {}

    def section(self, name: str) -> bytes:
        if name in _OF_THE_PROGRAM:
            assert self.skeleton is not None
            return self.skeleton.info.section(name)
        if name not in self._sections:
            data = self._image.data_of(f"{name}.dwo")
            if name in self._parts:
                offset, size = self._parts[name]
                data = data[offset : offset + size]
            self._sections[name] = data
        return self._sections[name]


class Package:
    """A .dwp file."""

    def __init__(self, path: str) -> None:
        self._image: Image | None = None
        self._rows: dict[int, Contributions] = {}
        with suppress(*DAMAGE):
            self._image = Image.open(path)
            self._rows = dict(_index(self._image.data_of(".debug_cu_index")))

    def unit(self, skeleton: Unit) -> Unit | None:
        """The unit that belongs to a skeleton."""
        parts = self._rows.get(skeleton.dwo_id or 0)
        if self._image is None or parts is None:
            return None
        return _matching(SplitInfo(self._image, skeleton, parts))


def split_unit(skeleton: Unit) -> Unit | None:
    """The unit with the entries of a skeleton, None: it is not there any more."""
    package = skeleton.info.package
    found = package.unit(skeleton) if package is not None else None
    if found is not None:
        return found
    name = skeleton.dwo_name or ""
    beside = os.path.dirname(skeleton.info.path)
    places = [os.path.join(skeleton.comp_dir or "", name)]
    places += [os.path.join(beside, part) for part in (name, os.path.basename(name))]
    for place in dict.fromkeys(places):
        try:
            found = _matching(SplitInfo(Image.open(place), skeleton))
        except ElfError:
            continue
        if found is not None:
            return found
    return None


def _matching(info: SplitInfo) -> Unit | None:
    assert info.skeleton is not None
    wanted = info.skeleton.dwo_id
    return next(
        (unit for unit in info.units() if unit.dwo_id == wanted and unit.type_signature is None), None
    )


def _index(data: bytes) -> Iterator[tuple[int, Contributions]]:
    """(id, parts of the sections) of each unit of a package."""
    if len(data) < 16:
        return
    version, columns, units, slots = struct.unpack_from("<IIII", data)
    names = _COLUMNS_2 if version == 2 else _COLUMNS_5 if version & 0xFFFF == 5 else {}
    if not names or columns > 16 or slots * 12 > len(data):
        return
    hashes = struct.unpack_from(f"<{slots}Q", data, 16)
    rows = struct.unpack_from(f"<{slots}I", data, 16 + 8 * slots)
    table = 16 + 12 * slots
    kinds = struct.unpack_from(f"<{columns}I", data, table)
    for identity, row in zip(hashes, rows, strict=True):
        if not 1 <= row <= units:
            continue
        offsets = struct.unpack_from(f"<{columns}I", data, table + 4 * columns * row)
        sizes = struct.unpack_from(f"<{columns}I", data, table + 4 * columns * (units + row))
        parts = zip(kinds, offsets, sizes, strict=True)
        yield identity, {names[kind]: (offset, size) for kind, offset, size in parts if kind in names}
