"""Location lists: which expression says where something is, by program counter (DWARF 5, 2.6.2, 7.7.3)."""

from __future__ import annotations

from interpose.elf.cursor import Cursor
from interpose.elf.dwarf import F_ADDRX, F_LOCLISTX, F_SEC_OFFSET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interpose.elf.dies import Die
    from interpose.elf.dwarf import Unit

    Ranges = Iterator[tuple[int, int, bytes]]

_F_DATA4, _F_DATA8 = 0x06, 0x07
_EVERYWHERE = (0, 1 << 64)


def expression_at(die: Die, attribute: int, pc: int) -> bytes | None:
    """The expression that an attribute has at the link-time `pc`. Raises what is in `cursor.DAMAGE`."""
    form, raw = die.attributes.get(attribute, (0, None))
    if isinstance(raw, bytes):
        return raw
    unit = die.unit
    is_list = form in (F_SEC_OFFSET, F_LOCLISTX) or (unit.version < 4 and form in (_F_DATA4, _F_DATA8))
    if not is_list or not isinstance(raw, int):
        return None
    if unit.version >= 5:
        found = _of_version_5(unit, form, raw)
    else:
        found = _before_version_5(unit, raw) if unit.info.skeleton is None else _split_before_5(unit, raw)
    return next((expression for start, end, expression in found if start <= pc < end), None)


def _of_version_5(unit: Unit, form: int, offset: int) -> Ranges:
    data = unit.info.section(".debug_loclists")
    if form == F_LOCLISTX:
        table = unit.loclists_base
        offset = table + Cursor(data, table + offset * unit.offset_size).fixed(unit.offset_size)
    cursor = Cursor(data, offset)
    return _entries(unit, cursor, cursor.uleb, cursor.uleb)


def _entries(unit: Unit, cursor: Cursor, number: Callable[[], int], length: Callable[[], int]) -> Ranges:
    """Entries that begin with their kind.

    :param number: reads an offset or a range's length.
    :param length: reads that of an expression.
    """
    base, size = unit.base_address, unit.address_size

    def indexed() -> int:
        return unit.address_of((F_ADDRX, cursor.uleb())) or 0

    while kind := cursor.fixed(1):
        if kind == 1:
            base = indexed()
            continue
        if kind == 6:
            base = cursor.fixed(size)
            continue
        if kind == 9:  # GNU: view numbers of the next entry
            cursor.uleb(), cursor.uleb()
            continue
        if kind == 2:
            start, end = indexed(), indexed()
        elif kind == 3:
            start = indexed()
            end = start + number()
        elif kind == 4:
            start, end = base + number(), base + number()
        elif kind == 5:
            start, end = _EVERYWHERE
        elif kind == 7:
            start, end = cursor.fixed(size), cursor.fixed(size)
        elif kind == 8:
            start = cursor.fixed(size)
            end = start + number()
        else:
            raise ValueError("unknown location list entry")
        yield start, end, cursor.block(length())


def _before_version_5(unit: Unit, offset: int) -> Ranges:
    cursor = Cursor(unit.info.section(".debug_loc"), offset)
    base, size = unit.base_address, unit.address_size
    largest = (1 << 8 * size) - 1
    while True:
        start, end = cursor.fixed(size), cursor.fixed(size)
        if start == 0 and end == 0:
            return
        if start == largest:
            base = end
        else:
            yield base + start, base + end, cursor.block(cursor.fixed(2))


def _split_before_5(unit: Unit, offset: int) -> Ranges:
    """Location lists of GNU's .dwo files, which have kinds 1 to 4."""
    cursor = Cursor(unit.info.section(".debug_loc"), offset)
    return _entries(unit, cursor, lambda: cursor.fixed(4), lambda: cursor.fixed(2))
