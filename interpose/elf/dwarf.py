"""The facts of DWARF that a symcache drops: source directories, plain names, lines outside functions.

A symcache (see `lines`) answers address → file, line, inlined calls. It cleans paths (`./csu/../csu/x.c`
becomes `csu/x.c`) and names an inlined C++ function by its linkage name; Valgrind prints the directory as
the line table has it and DW_AT_name. Both are read here, from the one compilation unit that holds the
address, when somebody asks. Section numbers are those of the DWARF 5 standard (7.5 units and forms,
6.1.2 address ranges). Damaged data yields no answer, never an exception.
"""

from __future__ import annotations

import os
import posixpath
import struct
from bisect import bisect_right
from contextlib import suppress
from functools import cached_property

from interpose.elf.cursor import DAMAGE, Cursor
from interpose.elf.errors import ElfError
from interpose.elf.image import Image
from interpose.elf.linetable import OFFSET_SIZED, LineProgram
from interpose.elf.store import kept_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import NamedTuple

    from interpose.elf.dies import Die
    from interpose.elf.split import Package
else:
    from interpose.records import NamedTuple

TAG_COMPILE_UNIT, TAG_SUBPROGRAM, TAG_PARTIAL_UNIT, TAG_SKELETON_UNIT = 0x11, 0x2E, 0x3C, 0x4A
AT_NAME, AT_STMT_LIST, AT_LOW_PC, AT_HIGH_PC, AT_COMP_DIR = 0x03, 0x10, 0x11, 0x12, 0x1B
AT_ABSTRACT_ORIGIN, AT_SPECIFICATION, AT_RANGES, AT_LINKAGE_NAME = 0x31, 0x47, 0x55, 0x6E
AT_DECLARATION = 0x3C
AT_STR_OFFSETS_BASE, AT_ADDR_BASE, AT_RNGLISTS_BASE, AT_LOCLISTS_BASE = 0x72, 0x73, 0x74, 0x8C
AT_MIPS_LINKAGE_NAME = 0x2007
AT_DWO_NAME, AT_GNU_DWO_NAME, AT_GNU_DWO_ID = 0x76, 0x2130, 0x2131
AT_GNU_RANGES_BASE, AT_GNU_ADDR_BASE = 0x2132, 0x2133

# Forms by the shape of their encoding (DWARF 5, 7.5.5 and 7.5.6).
_FIXED = {
    0x0B: 1,
    0x0C: 1,
    0x11: 1,
    0x25: 1,
    0x29: 1,
    0x05: 2,
    0x12: 2,
    0x26: 2,
    0x2A: 2,
    0x27: 3,
    0x2B: 3,
    0x06: 4,
    0x13: 4,
    0x28: 4,
    0x2C: 4,
    0x1C: 4,
    0x07: 8,
    0x14: 8,
    0x20: 8,
    0x24: 8,
    0x1E: 16,
    0x19: 0,
    0x21: 0,
}
_ULEB = frozenset((0x0D, 0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23, 0x1F01, 0x1F02))
F_ADDR, F_BLOCK2, F_BLOCK4, F_STRING, F_BLOCK, F_BLOCK1, F_SDATA = 0x01, 0x03, 0x04, 0x08, 0x09, 0x0A, 0x0D
F_STRP, F_REF_ADDR, F_INDIRECT, F_SEC_OFFSET, F_EXPRLOC = 0x0E, 0x10, 0x16, 0x17, 0x18
F_LINE_STRP, F_IMPLICIT_CONST, F_LOCLISTX, F_RNGLISTX = 0x1F, 0x21, 0x22, 0x23
F_ADDRX, F_STRP_SUP, F_GNU_REF_ALT, F_GNU_STRP_ALT = 0x1B, 0x1D, 0x1F20, 0x1F21
_UNIT_REFS = frozenset((0x11, 0x12, 0x13, 0x14, 0x15))
_STRX = frozenset((0x1A, 0x25, 0x26, 0x27, 0x28, 0x1F02))
_ADDRX = frozenset((0x1B, 0x29, 0x2A, 0x2B, 0x2C, 0x1F01))


class Abbreviation(NamedTuple):
    """One abbreviation; attributes are (attribute, form, implicit constant), `fixed_size` may be unknown."""

    tag: int
    children: bool
    attributes: tuple[tuple[int, int, int], ...]
    fixed_size: int | None


_Ranges = tuple[list[int], list[tuple[int, int, int]]]
"""Starts, in order, and for each (start, end, offset of the unit), at link-time addresses."""


def _sorted(ranges: Iterable[tuple[int, int, int]]) -> _Ranges:
    rows = sorted(ranges)
    return [start for start, _, _ in rows], rows


class DebugInfo:
    """The DWARF sections of an image that is, or belongs to, a mapped object."""

    skeleton: Unit | None = None
    """The unit in the program that the entries of a split one are of."""

    def __init__(self, image: Image, extra_paths: tuple[str, ...] = ()) -> None:
        """`extra_paths` are further roots of debug files."""
        self._image = image
        self._extra_paths = extra_paths
        self._sections: dict[str, bytes] = {}
        self._abbreviations: dict[int, dict[int, Abbreviation]] = {}
        self._units: dict[int, Unit | None] = {}

    def section(self, name: str) -> bytes:
        if name not in self._sections:
            self._sections[name] = self._image.data_of(name)
        return self._sections[name]

    def text(self, section: str, offset: int) -> str:
        return Cursor(self.section(section), offset).string()

    def unit_at(self, address: int) -> Unit | None:
        """The compilation unit that holds the link-time `address`."""
        unit = self._unit_in(self._listed_ranges, address)
        return unit if unit is not None else self._unit_in(self._other_ranges, address)

    def _unit_in(self, table: _Ranges, address: int) -> Unit | None:
        starts, ranges = table
        index = bisect_right(starts, address) - 1
        # A range may lie inside another one (hot and cold parts), so look a little further back.
        for start, end, offset in reversed(ranges[max(0, index - 3) : index + 1]):
            if start <= address < end:
                return self.unit(offset)
        return None

    def unit(self, offset: int) -> Unit | None:
        """The unit whose header is at `offset` in .debug_info."""
        if offset not in self._units:
            try:
                self._units[offset] = Unit(self, offset)
            except DAMAGE:
                self._units[offset] = None
        return self._units[offset]

    def units(self) -> Iterator[Unit]:
        """All units, in file order."""
        try:
            offset, size = 0, len(self.section(".debug_info"))
        except ElfError:
            return
        while offset < size:
            unit = self.unit(offset)
            if unit is None:
                return
            yield unit
            offset = unit.end

    def unit_around(self, offset: int) -> Unit | None:
        """The unit that an offset of .debug_info lies in."""
        index = bisect_right(self._unit_offsets, offset) - 1
        unit = self.unit(self._unit_offsets[index]) if index >= 0 else None
        return unit if unit is not None and offset < unit.end else None

    @cached_property
    def _unit_offsets(self) -> list[int]:
        """Where the headers of the units are; the units themselves are read when they are needed."""
        found: list[int] = []
        with suppress(*DAMAGE):
            cursor = Cursor(self.section(".debug_info"), 0)
            while cursor.position < len(cursor.data):
                found.append(cursor.position)
                length, _ = cursor.initial_length()
                cursor.position += length
        return found

    @property
    def path(self) -> str:
        return self._image.path

    @cached_property
    def supplement(self) -> DebugInfo | None:
        """What dwz moved into a file of its own because several files have it."""
        from interpose.elf.debugfile import find_supplement

        image = find_supplement(self._image, self._extra_paths)
        return DebugInfo(image) if image is not None else None

    @cached_property
    def package(self) -> Package | None:
        """The .dwp file beside this one."""
        from interpose.elf.split import Package

        path = f"{self._image.path}.dwp"
        return Package(path) if os.path.exists(path) else None

    @cached_property
    def is_in_several_files(self) -> bool:
        """Whether entries of this file refer to entries of others."""
        image = self._image
        if (
            image.section_named(".gnu_debugaltlink") is not None
            or image.section_named(".debug_sup") is not None
        ):
            return True
        # The addresses of split units are there; a unit that has none is never asked for.
        if image.section_named(".debug_addr") is None:
            return False
        return kept_answer(image, "s1.split", self._names_split_files)

    def _names_split_files(self) -> bool:
        with suppress(ElfError):
            return any(b".dwo\0" in self.section(name) for name in (".debug_str", ".debug_line_str"))
        return False

    @property
    def is_whole(self) -> bool:
        """Whether the units fill their section; what is damaged within them shows when it is asked for."""
        with suppress(*DAMAGE):
            cursor = Cursor(self.section(".debug_info"), 0)
            while cursor.position < len(cursor.data):
                length, _ = cursor.initial_length()
                following = cursor.position + length
                if not 2 <= cursor.fixed(2) <= 5:
                    return False
                cursor.position = following
            return cursor.position == len(cursor.data)
        return False

    has_type_units_only = False

    def type_entry(self, signature: int) -> Die | None:
        """The type of a type unit."""
        from interpose.elf.dies import Die

        unit = self._type_units.get(signature)
        return Die(unit, unit.offset + unit.type_offset) if unit is not None else None

    @cached_property
    def _type_units(self) -> dict[int, Unit]:
        units = [unit for unit in self.units() if unit.type_signature is not None]
        units += _OldTypes(self).units()
        return {unit.type_signature: unit for unit in units if unit.type_signature is not None}

    def homes(self) -> dict[int, str]:
        """Compilation directories by the offset of the line number program."""
        found: dict[int, str] = {}
        for unit in self.units():
            if unit.line_program_offset is not None and unit.comp_dir:
                found.setdefault(unit.line_program_offset, unit.comp_dir)
        return found

    @cached_property
    def _listed_ranges(self) -> _Ranges:
        return _sorted(self._ranges_of_aranges())

    @cached_property
    def _other_ranges(self) -> _Ranges:
        """Of units that .debug_aranges does not list: clang makes none, gcc and assemblers do."""
        listed = {offset for _, _, offset in self._listed_ranges[1]}
        others = (self.unit(offset) for offset in self._unit_offsets if offset not in listed)
        return _sorted(
            (start, end, unit.offset)
            for unit in others
            if unit is not None
            for start, end in unit.ranges()
            if end > start
        )

    def _ranges_of_aranges(self) -> list[tuple[int, int, int]]:
        ranges: list[tuple[int, int, int]] = []
        with suppress(*DAMAGE):
            data = self.section(".debug_aranges")
            cursor = Cursor(data, 0)
            while cursor.position < len(data):
                start = cursor.position
                length, offset_size = cursor.initial_length()
                end = cursor.position + length
                cursor.fixed(2)
                unit = cursor.fixed(offset_size)
                if cursor.fixed(1) != 8 or cursor.fixed(1) != 0:
                    cursor.position = end
                    continue
                first = start + (cursor.position - start + 15 & ~15)
                body = data[first:end]
                for low, size in struct.iter_unpack("<QQ", body[: len(body) & ~15]):
                    if size:
                        ranges.append((low, low + size, unit))
                cursor.position = end
        return ranges

    def abbreviations(self, offset: int, address_size: int, offset_size: int) -> dict[int, Abbreviation]:
        """The abbreviation table at `offset` (7.5.3)."""
        key = offset << 8 | address_size << 4 | offset_size
        if key in self._abbreviations:
            return self._abbreviations[key]
        cursor = Cursor(self.section(".debug_abbrev"), offset)
        table: dict[int, Abbreviation] = {}
        while code := cursor.uleb():
            tag, children = cursor.uleb(), bool(cursor.fixed(1))
            attributes: list[tuple[int, int, int]] = []
            total: int | None = 0
            while True:
                attribute, form = cursor.uleb(), cursor.uleb()
                constant = cursor.sleb() if form == F_IMPLICIT_CONST else 0
                if attribute == 0 and form == 0:
                    break
                size = (
                    address_size
                    if form == F_ADDR
                    else offset_size
                    if form in OFFSET_SIZED
                    else _FIXED.get(form)
                )
                total = None if total is None or size is None else total + size
                attributes.append((attribute, form, constant))
            table[code] = Abbreviation(tag, children, tuple(attributes), total)
        self._abbreviations[key] = table
        return table


class _OldTypes(DebugInfo):
    """The type units of DWARF 4, which have a section of their own."""

    has_type_units_only = True

    def __init__(self, info: DebugInfo) -> None:
        super().__init__(info._image)
        self._info = info

    def section(self, name: str) -> bytes:
        return self._info.section(".debug_types" if name == ".debug_info" else name)

    def type_entry(self, signature: int) -> Die | None:
        return self._info.type_entry(signature)


class Unit:
    """One unit of .debug_info: its header and the attributes of its first entry."""

    def __init__(self, info: DebugInfo, offset: int) -> None:
        self.info = info
        self.offset = offset
        cursor = Cursor(info.section(".debug_info"), offset)
        length, self.offset_size = cursor.initial_length()
        self.end = cursor.position + length
        if self.end <= offset or self.end > len(cursor.data):
            raise ValueError("unit runs past its section")
        self.version = cursor.fixed(2)
        if not 2 <= self.version <= 5:
            raise ValueError("unknown DWARF version")
        self._dwo_id: int | None = None
        self.type_signature: int | None = None
        self.type_offset = 0
        if self.version >= 5:
            kind, self.address_size = cursor.fixed(1), cursor.fixed(1)
            abbreviations = cursor.fixed(self.offset_size)
            if kind in (4, 5):
                self._dwo_id = cursor.fixed(8)
        else:
            abbreviations, self.address_size = cursor.fixed(self.offset_size), cursor.fixed(1)
            kind = 2 if info.has_type_units_only else 1
        if kind in (2, 6):
            self.type_signature, self.type_offset = cursor.fixed(8), cursor.fixed(self.offset_size)
        self._abbreviations = info.abbreviations(abbreviations, self.address_size, self.offset_size)
        self._skippers: dict[int, Callable[[Cursor], None]] = {}
        self._first = cursor.position
        self._top = self._entry(Cursor(cursor.data, self._first))

    # -- attributes ---------------------------------------------------------------------------

    def _entry(self, cursor: Cursor) -> dict[int, tuple[int, int | str | bytes]]:
        """Attribute → (form, raw value) of the entry at the cursor."""
        abbreviation = self._abbreviations[cursor.uleb()]
        return {a: self.value(cursor, form, constant) for a, form, constant in abbreviation.attributes}

    def value(self, cursor: Cursor, form: int, constant: int) -> tuple[int, int | str | bytes]:
        """(form, raw value) of the attribute at the cursor."""
        while form == F_INDIRECT:
            form = cursor.uleb()
        if form == F_IMPLICIT_CONST:
            return form, constant
        size = self._size(form)
        if size is not None:
            return form, cursor.fixed(size)
        if form == F_SDATA:
            return form, cursor.sleb()
        if form in _ULEB:
            return form, cursor.uleb()
        if form == F_STRING:
            return form, cursor.string()
        length = {F_BLOCK1: 1, F_BLOCK2: 2, F_BLOCK4: 4}.get(form)
        if length is None and form not in (F_BLOCK, F_EXPRLOC):
            raise ValueError("unknown form")
        return form, cursor.block(cursor.fixed(length) if length is not None else cursor.uleb())

    def _size(self, form: int) -> int | None:
        if form == F_ADDR:
            return self.address_size
        if form == F_REF_ADDR:
            return self.address_size if self.version == 2 else self.offset_size
        return self.offset_size if form in OFFSET_SIZED else _FIXED.get(form)

    def string(self, value: tuple[int, int | str | bytes] | None) -> str | None:
        """The text of a (form, raw value) of class string."""
        if value is None:
            return None
        form, raw = value
        if isinstance(raw, str):
            return raw
        if isinstance(raw, bytes):
            return None
        if form == F_STRP:
            return self.info.text(".debug_str", raw)
        if form == F_LINE_STRP:
            return self.info.text(".debug_line_str", raw)
        if form in (F_STRP_SUP, F_GNU_STRP_ALT):
            supplement = self.info.supplement
            return supplement.text(".debug_str", raw) if supplement is not None else None
        if form in _STRX:
            base = self._number(AT_STR_OFFSETS_BASE)
            if base is None:
                base = 0 if self.version < 5 else 2 * self.offset_size
            cursor = Cursor(self.info.section(".debug_str_offsets"), base + raw * self.offset_size)
            return self.info.text(".debug_str", cursor.fixed(self.offset_size))
        return None

    def _number(self, attribute: int) -> int | None:
        value = self._top.get(attribute, (0, None))[1]
        return value if isinstance(value, int) else None

    def _address(self, form: int, raw: int) -> int:
        if form not in _ADDRX:
            return raw
        owner = self.info.skeleton or self
        base = owner._number(AT_ADDR_BASE)
        if base is None:
            base = owner._number(AT_GNU_ADDR_BASE)
        if base is None:
            base = 0 if self.version < 5 else 8
        cursor = Cursor(self.info.section(".debug_addr"), base + raw * self.address_size)
        return cursor.fixed(self.address_size)

    @cached_property
    def comp_dir(self) -> str | None:
        """DW_AT_comp_dir."""
        try:
            found = self.string(self._top.get(AT_COMP_DIR))
        except DAMAGE:
            return None
        return self.info.skeleton.comp_dir if found is None and self.info.skeleton is not None else found

    # -- split units (7.3.2) ------------------------------------------------------------------

    @property
    def dwo_name(self) -> str | None:
        """Where the entries of a skeleton are; None for other units."""
        return self.string(self._top.get(AT_DWO_NAME) or self._top.get(AT_GNU_DWO_NAME))

    @property
    def dwo_id(self) -> int | None:
        """What a skeleton and its split unit have in common."""
        return self._number(AT_GNU_DWO_ID) if self._dwo_id is None else self._dwo_id

    @cached_property
    def full(self) -> Unit:
        """The unit that has the entries: this one, or the split one that it stands for, if that is there."""
        from interpose.elf.split import split_unit

        try:
            if self.dwo_name is None or self.info.skeleton is not None:
                return self
        except DAMAGE:
            return self
        return split_unit(self) or self

    # -- other entries ------------------------------------------------------------------------

    def abbreviation(self, code: int) -> Abbreviation:
        return self._abbreviations[code]

    @property
    def top(self) -> Die:
        """The unit's own entry."""
        from interpose.elf.dies import Die

        return Die(self, self._first)

    def is_end_of_children(self, position: int) -> bool:
        return self.info.section(".debug_info")[position] == 0

    def after_children(self, position: int) -> int:
        """The position behind the entries from `position` on up to the end of their parent's children."""
        cursor = Cursor(self.info.section(".debug_info"), position)
        depth = 1
        while depth:
            if cursor.position >= self.end:
                raise ValueError("entries run past their unit")
            code = cursor.uleb()
            if code == 0:
                depth -= 1
                continue
            abbreviation = self._abbreviations[code]
            if abbreviation.fixed_size is not None:
                cursor.position += abbreviation.fixed_size
            else:
                skip = self._skippers.get(code)
                if skip is None:
                    skip = self._skippers[code] = self._skipper(abbreviation)
                skip(cursor)
            depth += abbreviation.children
        return cursor.position

    def address_of(self, value: tuple[int, int | str | bytes] | None) -> int | None:
        """The link-time address that an attribute of class address is."""
        return self._address(value[0], value[1]) if value is not None and isinstance(value[1], int) else None

    # -- address ranges (2.17) ----------------------------------------------------------------

    def ranges(self) -> list[tuple[int, int]]:
        """[start, end) of the unit's code."""
        try:
            return self.ranges_of(self._top)
        except DAMAGE:
            return []

    @property
    def base_address(self) -> int:
        """What the range and location lists of the unit count from."""
        if self.info.skeleton is not None:
            return self.info.skeleton.base_address
        return self.address_of(self._top.get(AT_LOW_PC)) or 0

    @property
    def loclists_base(self) -> int:
        """Where the table of the unit's location lists is."""
        return self._number(AT_LOCLISTS_BASE) or 8 + self.offset_size

    def ranges_of(self, attributes: dict[int, tuple[int, int | str | bytes]]) -> list[tuple[int, int]]:
        """[start, end) of the code of an entry of this unit."""
        form, high = attributes.get(AT_HIGH_PC, (0, None))
        if isinstance(high, int):
            low = self.address_of(attributes.get(AT_LOW_PC)) or 0
            end = self._address(form, high)
            return [(low, end if form == F_ADDR or form in _ADDRX else low + end)]
        form, offset = attributes.get(AT_RANGES, (0, None))
        if not isinstance(offset, int):
            low_pc = self.address_of(attributes.get(AT_LOW_PC))
            return [] if low_pc is None else [(low_pc, low_pc + 1)]
        if self.version >= 5:
            return list(self._range_list(form, offset, self.base_address))
        return list(self._old_ranges(offset, self.base_address))

    def _old_ranges(self, offset: int, base: int) -> Iterator[tuple[int, int]]:
        if self.info.skeleton is not None:
            offset += self.info.skeleton._number(AT_GNU_RANGES_BASE) or 0
        cursor = Cursor(self.info.section(".debug_ranges"), offset)
        largest = (1 << 8 * self.address_size) - 1
        while True:
            low, high = cursor.fixed(self.address_size), cursor.fixed(self.address_size)
            if low == 0 and high == 0:
                return
            if low == largest:
                base = high
            else:
                yield base + low, base + high

    def _range_list(self, form: int, offset: int, base: int) -> Iterator[tuple[int, int]]:
        data = self.info.section(".debug_rnglists")
        if form == F_RNGLISTX:
            table = self._number(AT_RNGLISTS_BASE) or 8 + self.offset_size
            offset = table + Cursor(data, table + offset * self.offset_size).fixed(self.offset_size)
        cursor = Cursor(data, offset)
        size = self.address_size
        while kind := cursor.fixed(1):
            if kind == 1:
                base = self._address(0x1B, cursor.uleb())
            elif kind == 2:
                yield self._address(0x1B, cursor.uleb()), self._address(0x1B, cursor.uleb())
            elif kind == 3:
                low = self._address(0x1B, cursor.uleb())
                yield low, low + cursor.uleb()
            elif kind == 4:
                yield base + cursor.uleb(), base + cursor.uleb()
            elif kind == 5:
                base = cursor.fixed(size)
            elif kind == 6:
                yield cursor.fixed(size), cursor.fixed(size)
            elif kind == 7:
                low = cursor.fixed(size)
                yield low, low + cursor.uleb()
            else:
                raise ValueError("unknown range list entry")

    # -- source files and lines ---------------------------------------------------------------

    @property
    def line_program_offset(self) -> int | None:
        """DW_AT_stmt_list; a split unit has a table of files only, which need not say where it is."""
        return self._number(AT_STMT_LIST) if self.info.skeleton is None else self._number(AT_STMT_LIST) or 0

    @cached_property
    def _line_program(self) -> LineProgram | None:
        skeleton = self.info.skeleton
        try:
            if skeleton is not None and not self.info.section(".debug_line"):
                return skeleton._line_program  # clang's have no table of their own
            offset = self.line_program_offset
            return LineProgram(self, offset) if offset is not None else None
        except DAMAGE:
            return None

    @cached_property
    def _places(self) -> dict[str, tuple[str, str]]:
        found: dict[str, tuple[str, str]] = {}
        for directory, name in self._line_program.files if self._line_program is not None else ():
            full = posixpath.join(directory, name)
            place = posixpath.split(full) if name.startswith("/") else (directory, name)
            found.setdefault(posixpath.normpath(full), place)
        return found

    def file_path(self, number: int | None) -> str | None:
        """The normalised path of a source file by the number that entries have."""
        files = self._line_program.files if self._line_program is not None else []
        if number is None or not 0 <= number < len(files) or not files[number][1]:
            return None
        return posixpath.normpath(posixpath.join(*files[number]))

    def place_of(self, cleaned_path: str) -> tuple[str, str] | None:
        """Directory and name, as the line table has them, of the file whose normalised path is given.

        clang's names may have directories of their own: a relative path is one name to it.
        """
        return self._places.get(posixpath.normpath(cleaned_path))

    def line_at(self, address: int) -> tuple[str, int] | None:
        """Normalised path and line of the link-time `address`, from the line table alone."""
        found = self._line_program.find(address) if self._line_program is not None else None
        if found is None:
            return None
        directory, name, line = found
        return posixpath.normpath(posixpath.join(directory, name)), line

    # -- names --------------------------------------------------------------------------------

    def plain_name(self, linkage_name: str) -> str | None:
        """DW_AT_name of the function with that linkage name, if this unit has it.

        C has linkage names too, where a declaration gives an assembler name (`__GI_` aliases of glibc). A
        function that is defined by that very name goes before: gcc declares `__builtin_strcpy` with the
        linkage name `strcpy` where the C library's inline strcpy calls it.
        """
        return self._names.get(linkage_name)

    @cached_property
    def _names(self) -> dict[str, str]:
        """Linkage name → DW_AT_name, over all subprograms; other entries are stepped over."""
        names: dict[str, str] = {}
        pending: list[tuple[str, int]] = []
        by_offset: dict[int, str] = {}
        with suppress(*DAMAGE):
            self._collect_names(names, pending, by_offset)
        for linkage, target in pending:
            if target in by_offset:
                names.setdefault(linkage, by_offset[target])
        return names

    def _collect_names(
        self, names: dict[str, str], pending: list[tuple[str, int]], by_offset: dict[int, str]
    ) -> None:
        cursor = Cursor(self.info.section(".debug_info"), self._first)
        while cursor.position < self.end:
            offset = cursor.position
            code = cursor.uleb()
            if code == 0:
                continue
            abbreviation = self._abbreviations[code]
            if abbreviation.tag != TAG_SUBPROGRAM:
                if abbreviation.fixed_size is not None:
                    cursor.position += abbreviation.fixed_size
                    continue
                skip = self._skippers.get(code)
                if skip is None:
                    skip = self._skippers[code] = self._skipper(abbreviation)
                skip(cursor)
                continue
            entry = {a: self.value(cursor, form, constant) for a, form, constant in abbreviation.attributes}
            name = self.string(entry.get(AT_NAME))
            linkage = self.string(entry.get(AT_LINKAGE_NAME) or entry.get(AT_MIPS_LINKAGE_NAME))
            if name is not None:
                by_offset[offset] = name
                if linkage is not None:
                    names.setdefault(linkage, name)
                elif AT_DECLARATION not in entry:
                    names[name] = name
                continue
            form, target = entry.get(AT_SPECIFICATION) or entry.get(AT_ABSTRACT_ORIGIN) or (0, None)
            if isinstance(target, int):
                target += self.offset if form in _UNIT_REFS else 0
                if target in by_offset:
                    by_offset[offset] = by_offset[target]
                if linkage is not None:
                    pending.append((linkage, target))

    def _skipper(self, abbreviation: Abbreviation) -> Callable[[Cursor], None]:
        """A function that steps over the attributes of one kind of entry."""
        steps: list[int] = []  # >= 0: that many bytes; -1: LEB128; -2: LEB128 length and block; else a form
        for _, form, _ in abbreviation.attributes:
            size = self._size(form)
            if size is not None and steps and steps[-1] >= 0:
                steps[-1] += size
            elif size is not None:
                steps.append(size)
            elif form in _ULEB:
                steps.append(-1)
            else:
                steps.append(-2 if form in (F_BLOCK, F_EXPRLOC) else -0x10000 - form)

        def skip(cursor: Cursor) -> None:
            data, position = cursor.data, cursor.position
            for step in steps:
                if step >= 0:
                    position += step
                elif step == -1:
                    while data[position] & 0x80:
                        position += 1
                    position += 1
                else:
                    cursor.position = position
                    if step == -2:
                        position = cursor.uleb()
                        position += cursor.position
                    else:
                        self.value(cursor, -0x10000 - step, 0)
                        position = cursor.position
            cursor.position = position

        return skip
