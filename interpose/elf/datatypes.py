"""Types: their sizes, and what of a variable lies at an offset (DWARF 5, chapter 5)."""

from __future__ import annotations

from collections.abc import Callable

from interpose.elf.cursor import Cursor
from interpose.elf.dies import Die

TAG_ARRAY_TYPE, TAG_CLASS_TYPE, TAG_STRUCTURE_TYPE, TAG_UNION_TYPE = 0x01, 0x02, 0x13, 0x17
TAG_MEMBER, TAG_INHERITANCE, TAG_SUBRANGE_TYPE, TAG_ENUMERATION_TYPE = 0x0D, 0x1C, 0x21, 0x04
TAG_SUBROUTINE_TYPE, TAG_PTR_TO_MEMBER_TYPE = 0x15, 0x1F
_POINTERS = frozenset((0x0F, 0x10, 0x42))
_TRANSPARENT = frozenset((0x16, 0x26, 0x2D, 0x35, 0x37, 0x40, 0x43, 0x47, 0x4B))  # typedefs and qualifiers
AT_BYTE_SIZE, AT_BIT_OFFSET, AT_BIT_SIZE, AT_LANGUAGE = 0x0B, 0x0C, 0x0D, 0x13
AT_LOWER_BOUND, AT_UPPER_BOUND, AT_COUNT, AT_DATA_MEMBER_LOCATION = 0x22, 0x2F, 0x37, 0x38
AT_DECLARATION, AT_EXTERNAL, AT_TYPE, AT_BYTE_STRIDE, AT_SIGNATURE = 0x3C, 0x3F, 0x49, 0x51, 0x69
AT_DATA_BIT_OFFSET = 0x6B
_FORTRAN = frozenset((0x07, 0x08, 0x0E, 0x22, 0x23, 0x2D))
_FROM_ONE = _FORTRAN | {0x03, 0x05, 0x06, 0x09, 0x0A, 0x0D, 0x0F, 0x2E, 0x2F}
_DEEPEST = 40  # damaged types may contain themselves
_MOST_MEMBERS = 100000

Value = Callable[[Die, int], "int | None"]
"""The value of an attribute that may have to be computed, such as a bound of a variable length array."""


def constant(die: Die, attribute: int) -> int | None:
    """A :data:`Value` for those that need no program."""
    return die.constant(attribute)


def bare(die: Die | None) -> Die | None:
    """A type without its names and qualifiers."""
    for _ in range(_DEEPEST):
        if die is None:
            return None
        if AT_SIGNATURE in die.attributes and (whole := die.reference(AT_SIGNATURE)) is not None:
            die = whole
        elif die.tag in _TRANSPARENT:
            die = die.reference(AT_TYPE)
        else:
            return die
    return None


def size_of(die: Die | None, value: Value = constant, depth: int = 0) -> int | None:
    """Bytes that an object of a type takes, None: not known."""
    die = bare(die)
    if die is None or depth > _DEEPEST:
        return None
    size = value(die, AT_BYTE_SIZE)
    if size is not None:
        return size
    if die.tag in _POINTERS:
        return die.unit.address_size
    if die.tag == TAG_PTR_TO_MEMBER_TYPE:
        # A function's goes with what has to be added to `this` (Itanium C++ ABI, 2.3).
        target = bare(die.reference(AT_TYPE))
        is_function = target is not None and target.tag == TAG_SUBROUTINE_TYPE
        return die.unit.address_size * (2 if is_function else 1)
    if die.tag == TAG_ARRAY_TYPE:
        element = size_of(die.reference(AT_TYPE), value, depth + 1)
        counts = [count for _, count in _dimensions(die, value)]
        if element is None or not counts:
            return None
        for count in counts:
            if count is None:
                return None
            element *= count
        return element
    if die.tag in (TAG_ENUMERATION_TYPE, TAG_SUBRANGE_TYPE):
        return size_of(die.reference(AT_TYPE), value, depth + 1)
    return None


def part_at(die: Die | None, offset: int, value: Value = constant) -> tuple[str, int]:
    """What lies `offset` bytes into an object, as an expression behind its name, and the bytes into that.

    Where several members have a byte, in a union, it is the union itself.
    """
    path = ""
    for _ in range(_DEEPEST):
        die = bare(die)
        step = None
        if die is not None and die.tag == TAG_ARRAY_TYPE:
            step = _element_at(die, offset, value)
        elif die is not None and die.tag in (TAG_STRUCTURE_TYPE, TAG_CLASS_TYPE):
            step = _member_at(die, offset, value)
        if step is None:
            break
        text, die, offset = step
        path += text
    return path, offset


# -- arrays -----------------------------------------------------------------------------------------


def _dimensions(die: Die, value: Value) -> list[tuple[int, int | None]]:
    """(lowest index, count) of each dimension, outermost first."""
    found: list[tuple[int, int | None]] = []
    for child in die.children():
        if child.tag == TAG_ENUMERATION_TYPE:
            found.append((0, None))
        if child.tag != TAG_SUBRANGE_TYPE:
            continue
        lower = value(child, AT_LOWER_BOUND)
        if lower is None:
            lower = 1 if die.unit.top.constant(AT_LANGUAGE) in _FROM_ONE else 0
        count = value(child, AT_COUNT)
        upper = value(child, AT_UPPER_BOUND) if count is None else None
        if upper is not None:
            # An unsigned form cannot say -1: an array without elements.
            count = 0 if upper in (0xFF, 0xFFFF, 0xFFFFFFFF, (1 << 64) - 1) else max(upper - lower + 1, 0)
        found.append((lower, count))
    return found


def _element_at(die: Die, offset: int, value: Value) -> tuple[str, Die | None, int] | None:
    element = die.reference(AT_TYPE)
    size = die.constant(AT_BYTE_STRIDE) or size_of(element, value)
    dimensions = _dimensions(die, value)
    if not size or not dimensions:
        return None
    index, rest = divmod(offset, size)
    # The last index varies fastest, in Fortran the first.
    is_fortran = die.unit.top.constant(AT_LANGUAGE) in _FORTRAN
    indices: list[int] = []
    order = dimensions if is_fortran else dimensions[::-1]
    for number, (lower, count) in enumerate(order):
        if number < len(order) - 1:
            if not count:
                return None
            index, here = divmod(index, count)
        else:
            here = index
            if count is not None and here >= count:
                return None
        indices.append(here + lower)
    if not is_fortran:
        indices.reverse()
    if is_fortran:
        return f"({','.join(map(str, indices))})", element, rest
    return "".join(f"[{index}]" for index in indices), element, rest


# -- classes ----------------------------------------------------------------------------------------


def _member_at(die: Die, offset: int, value: Value) -> tuple[str, Die | None, int] | None:
    base = None
    for number, child in enumerate(die.children()):
        if number > _MOST_MEMBERS:
            raise ValueError("a type with too many members")
        if child.tag not in (TAG_MEMBER, TAG_INHERITANCE):
            continue
        if child.flag(AT_DECLARATION) or child.flag(AT_EXTERNAL):
            continue  # static
        if AT_BIT_SIZE in child.attributes:
            span = _bits(child, value)
            if span is not None and span[0] // 8 <= offset <= (span[1] - 1) // 8:
                return f".{child.name or _NAMELESS}", None, offset - span[0] // 8
            continue
        start = _start(child)
        kind = child.reference(AT_TYPE)
        size = size_of(kind, value) if start is not None else None
        if start is None or size is None or not start <= offset < start + size:
            continue
        if child.tag == TAG_MEMBER:
            return f".{child.name or _NAMELESS}", kind, offset - start
        base = "", kind, offset - start  # an empty one takes no room of its own: members come first
    return base


_NAMELESS = "<anon_field>"


def _start(member: Die) -> int | None:
    """Offset of a member or base class, None where it is computed."""
    raw = member.attributes.get(AT_DATA_MEMBER_LOCATION, (0, 0))[1]
    if not isinstance(raw, bytes):
        return raw if isinstance(raw, int) else None
    cursor = Cursor(raw, 0)  # as DWARF 2 says it: plus a constant
    if cursor.fixed(1) not in (0x23, 0x10):
        return None
    start = cursor.uleb()
    return start if cursor.position == len(raw) else None


def _bits(member: Die, value: Value) -> tuple[int, int] | None:
    """[first, end) of the bits of a bit field, counted from the lowest bit of the first byte."""
    size = member.constant(AT_BIT_SIZE)
    if not size:
        return None
    first = member.constant(AT_DATA_BIT_OFFSET)
    if first is not None:
        return first, first + size
    # Before DWARF 4: within a unit of storage, counted from its highest bit.
    start = _start(member)
    storage = member.constant(AT_BYTE_SIZE) or size_of(member.reference(AT_TYPE), value)
    high = member.constant(AT_BIT_OFFSET)
    if start is None:
        return None
    if high is None or storage is None:
        return start * 8, start * 8 + size
    if high >> 31:  # negative, in a form without a sign
        high -= 1 << (32 if high < 1 << 32 else 64)
    first = start * 8 + storage * 8 - high - size
    return first, first + size
