"""Entries of .debug_info, one at a time (DWARF 5, 2.1 to 2.3): attributes, references, children.

Who asks passes an offset that a quick look at all entries found (dies.c), or goes from there. Damaged data
raises what is in `cursor.DAMAGE`; loops that damaged references make are for the caller to bound.
"""

from __future__ import annotations

from interpose.elf.cursor import Cursor
from interpose.elf.dwarf import (
    AT_ABSTRACT_ORIGIN,
    AT_LINKAGE_NAME,
    AT_MIPS_LINKAGE_NAME,
    AT_NAME,
    AT_SPECIFICATION,
    Unit,
)
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from interpose.elf.dwarf import DebugInfo

AT_SIBLING = 0x01
F_REF_ADDR, F_REF_SUP4, F_REF_SIG8, F_REF_SUP8, F_GNU_REF_ALT = 0x10, 0x1C, 0x20, 0x24, 0x1F20
F_FLAG, F_FLAG_PRESENT = 0x0C, 0x19
_CONSTANT_FORMS = frozenset((0x05, 0x06, 0x07, 0x0B, 0x0D, 0x0F, 0x21))
_UNIT_REFERENCES = frozenset((0x11, 0x12, 0x13, 0x14, 0x15))
_NAMING = frozenset((0x02, 0x13, 0x17, 0x39))  # classes, structures, unions, namespaces
_LONGEST_CHAIN = 8
_DEEPEST = 64


class Die:
    """One debugging information entry."""

    __slots__ = ("_body", "attributes", "has_children", "offset", "tag", "unit")

    def __init__(self, unit: Unit, offset: int) -> None:
        cursor = Cursor(unit.info.section(".debug_info"), offset)
        abbreviation = unit.abbreviation(cursor.uleb())
        self.unit = unit
        self.offset = offset
        self.tag = abbreviation.tag
        self.has_children = abbreviation.children
        self.attributes = {
            attribute: unit.value(cursor, form, constant)
            for attribute, form, constant in abbreviation.attributes
        }
        self._body = cursor.position
        if cursor.position > unit.end:
            raise ValueError("entry runs past its unit")

    def constant(self, attribute: int) -> int | None:
        """The value of an attribute of class constant; unsigned where the form does not say."""
        form, raw = self.attributes.get(attribute, (0, None))
        return raw if form in _CONSTANT_FORMS and isinstance(raw, int) else None

    def expression(self, attribute: int) -> bytes | None:
        """The bytes of an attribute that is an expression."""
        raw = self.attributes.get(attribute, (0, None))[1]
        return raw if isinstance(raw, bytes) else None

    def flag(self, attribute: int) -> bool:
        form, raw = self.attributes.get(attribute, (0, None))
        return form == F_FLAG_PRESENT or (form == F_FLAG and bool(raw))

    def text(self, attribute: int) -> str | None:
        return self.unit.string(self.attributes.get(attribute))

    def reference(self, attribute: int) -> Die | None:
        """The entry that an attribute refers to."""
        form, raw = self.attributes.get(attribute, (0, None))
        if not isinstance(raw, int):
            return None
        info = self.unit.info
        if form in _UNIT_REFERENCES:
            return Die(self.unit, self.unit.offset + raw)
        if form == F_REF_ADDR:
            return die_at(info, raw)
        if form == F_REF_SIG8:
            return info.type_entry(raw)
        if form in (F_REF_SUP4, F_REF_SUP8, F_GNU_REF_ALT) and info.supplement is not None:
            return die_at(info.supplement, raw)
        return None

    def children(self) -> Iterator[Die]:
        """The entries below, without what is below them."""
        if not self.has_children:
            return
        position, end = self._body, self.unit.end
        while position < end:
            if self.unit.is_end_of_children(position):
                return
            child = Die(self.unit, position)
            yield child
            position = child.after()

    def after(self) -> int:
        """Where the next entry of the same parent is."""
        if not self.has_children:
            return self._body
        form, raw = self.attributes.get(AT_SIBLING, (0, None))
        if form in _UNIT_REFERENCES and isinstance(raw, int):
            sibling = self.unit.offset + raw
            if self._body < sibling <= self.unit.end:
                return sibling
        return self.unit.after_children(self._body)

    def origins(self) -> Iterator[Die]:
        """This entry, and those that it completes: its abstract instance, its declaration."""
        die: Die | None = self
        for _ in range(_LONGEST_CHAIN):
            if die is None:
                return
            yield die
            die = die.reference(AT_ABSTRACT_ORIGIN) or die.reference(AT_SPECIFICATION)

    def having(self, attribute: int) -> Die | None:
        """The first of the origins that has the attribute."""
        return next((die for die in self.origins() if attribute in die.attributes), None)

    @property
    def name(self) -> str | None:
        """DW_AT_name, of an origin if need be."""
        holder = self.having(AT_NAME)
        return holder.text(AT_NAME) if holder is not None else None

    @property
    def linkage_name(self) -> str | None:
        """The assembler's name, of an origin if need be; clang's `__tls_init` has no other."""
        for attribute in (AT_LINKAGE_NAME, AT_MIPS_LINKAGE_NAME):
            holder = self.having(attribute)
            if holder is not None:
                return holder.text(attribute)
        return None


def enclosing_names(die: Die) -> list[str]:
    """The names of the namespaces and classes that an entry is in, outermost first."""
    names: list[str] = []
    parent = die.unit.top
    for _ in range(_DEEPEST):
        for child in parent.children():
            if child.offset >= die.offset:
                return names
            if child.has_children and child.after() > die.offset:
                break
        else:
            return names
        if child.tag in _NAMING:
            names.append(child.name or "(anonymous namespace)")
        parent = child
    return names


def die_at(info: DebugInfo, offset: int) -> Die | None:
    """The entry at an offset of .debug_info."""
    unit = info.unit_around(offset)
    return Die(unit, offset) if unit is not None else None


def scan(info: DebugInfo, what: int, unit: Unit | None = None) -> list[tuple[int, int, int, int, int]]:
    """(offset, unit, low, high, what) of the entries of dies.h of one unit or of all. Raises `ElfError`."""
    entries, abbreviations = info.section(".debug_info"), info.section(".debug_abbrev")
    start, end = (unit.offset, unit.end) if unit is not None else (0, len(entries))
    out = ffi.gc(ffi.new("struct ip_dies *"), lib.ip_dies_free)
    raw, tables = ffi.from_buffer("uint8_t[]", entries), ffi.from_buffer("uint8_t[]", abbreviations)
    if lib.ip_dies_scan(raw, len(entries), tables, len(abbreviations), start, end, what, out) != 0:
        raise MemoryError
    if not out.n:
        return []
    import struct

    return list(struct.iter_unpack("<5Q", ffi.buffer(out.rows, out.n * ffi.sizeof("struct ip_die"))))
