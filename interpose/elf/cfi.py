"""Call frame information: how to find a function's caller from its registers (.eh_frame).

Sources: DWARF 5, section 6.4 and 7.24; LSB Core, "Exception Frames" (augmentations, pointer encodings,
.eh_frame_hdr); register numbers: System V ABI, AMD64 supplement, figure 3.36.
"""

from __future__ import annotations

from bisect import bisect_right

from interpose.elf.cursor import DAMAGE, Cursor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from interpose.elf.image import Image
else:
    from interpose.records import NamedTuple

RSP, RBP, RETURN = 7, 6, 16
_MASK = (1 << 64) - 1
_OMIT = 0xFF
_FORMATS = {0x02: (2, False), 0x03: (4, False), 0x04: (8, False)}
_FORMATS |= {0x0A: (2, True), 0x0B: (4, True), 0x0C: (8, True), 0x00: (8, False)}

Rules = dict[int, "tuple[str, int | bytes]"]
"""Register number to rule, see :class:`Row`."""


def _pointer(cursor: Cursor, encoding: int, section: int, base: int = 0) -> int:
    """An encoded pointer; ``section`` is the address of the cursor's data, ``base`` that of "datarel"."""
    here = section + cursor.position
    kind = encoding & 0x0F
    if kind == 0x01:
        value = cursor.uleb()
    elif kind == 0x09:
        value = cursor.sleb()
    else:
        size, signed = _FORMATS[kind]
        value = cursor.signed(size) if signed else cursor.fixed(size)
    relative = encoding & 0x70
    if value and relative == 0x10:
        value += here
    elif value and relative == 0x30:
        value += base
    return value & _MASK


class _Cie(NamedTuple):
    code_align: int
    data_align: int
    return_register: int
    pointer_encoding: int
    has_augmentation: bool
    is_signal: bool
    program: bytes


class Row:
    """The rules that hold at an address.

    ``cfa`` is (register, offset) or an expression; a register's rule is one of ``("offset", n)``,
    ``("val_offset", n)``, ``("register", r)``, ``("expression", bytes)``, ``("val_expression", bytes)``,
    ``("undefined", 0)``.
    """

    def __init__(
        self,
        cfa: tuple[int, int] | bytes = (RSP, 8),
        rules: Rules | None = None,
        return_register: int = RETURN,
        is_signal: bool = False,
    ) -> None:
        self.cfa = cfa
        self.rules: Rules = {} if rules is None else rules
        self.return_register = return_register
        self.is_signal = is_signal

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


class FrameTable:
    """The call frame information of one image; addresses are link-time."""

    def __init__(self, image: Image) -> None:
        section = image.section_named(".eh_frame")
        self._data = image.section_data(section) if section is not None else b""
        self._address = section.addr if section is not None else 0
        self._cies: dict[int, _Cie] = {}
        self.starts, self._entries = self._index(image)

    def _index(self, image: Image) -> tuple[list[int], list[int]]:
        """Start of each function, ascending, and the offset of its entry in .eh_frame."""
        try:
            found = self._read_header(image)
        except DAMAGE:
            found = None
        if found is None:
            try:
                found = self._scan()
            except DAMAGE:
                found = []
        found.sort()
        return [start for start, _ in found], [entry for _, entry in found]

    def _read_header(self, image: Image) -> list[tuple[int, int]] | None:
        section = image.section_named(".eh_frame_hdr")
        if section is None:
            return None
        cursor = Cursor(image.section_data(section), 0)
        version, frame_encoding, count_encoding, table_encoding = (cursor.fixed(1) for _ in range(4))
        if version != 1 or _OMIT in (count_encoding, table_encoding):
            return None
        if frame_encoding != _OMIT:
            _pointer(cursor, frame_encoding, section.addr, section.addr)
        count = _pointer(cursor, count_encoding, section.addr, section.addr)
        if count > len(cursor.data):
            return None
        pairs = []
        for _ in range(count):
            start = _pointer(cursor, table_encoding, section.addr, section.addr)
            entry = _pointer(cursor, table_encoding, section.addr, section.addr)
            pairs.append((start, entry - self._address))
        return pairs

    def _scan(self) -> list[tuple[int, int]]:
        cursor = Cursor(self._data, 0)
        found = []
        while cursor.position + 4 <= len(self._data):
            entry = cursor.position
            length, _size = cursor.initial_length()
            if length == 0:
                break
            end = cursor.position + length
            if cursor.fixed(4) != 0:
                found.append((self._read_entry(entry)[1], entry))
            cursor.position = end
        return found

    def _cie(self, offset: int) -> _Cie:
        known = self._cies.get(offset)
        if known is not None:
            return known
        cursor = Cursor(self._data, offset)
        length, _ = cursor.initial_length()
        end = cursor.position + length
        if cursor.fixed(4) != 0:
            raise ValueError("not a CIE")
        version = cursor.fixed(1)
        augmentation = cursor.string()
        if "eh" in augmentation:
            raise ValueError("a form of GCC 2")
        code_align, data_align = cursor.uleb(), cursor.sleb()
        return_register = cursor.fixed(1) if version == 1 else cursor.uleb()
        encoding, is_signal = 0, False
        has_augmentation = augmentation.startswith("z")
        if has_augmentation:
            size = cursor.uleb()
            body = cursor.position + size
            for letter in augmentation[1:]:
                if letter == "R":
                    encoding = cursor.fixed(1)
                elif letter == "L":
                    cursor.fixed(1)
                elif letter == "P":
                    _pointer(cursor, cursor.fixed(1), self._address)
                elif letter == "S":
                    is_signal = True
            cursor.position = body
        program = self._data[cursor.position : end]
        cie = _Cie(code_align, data_align, return_register, encoding, has_augmentation, is_signal, program)
        self._cies[offset] = cie
        return cie

    def _read_entry(self, offset: int) -> tuple[_Cie, int, int, bytes]:
        cursor = Cursor(self._data, offset)
        length, _ = cursor.initial_length()
        end = cursor.position + length
        here = cursor.position
        cie = self._cie(here - cursor.fixed(4))
        start = _pointer(cursor, cie.pointer_encoding, self._address)
        size = _pointer(cursor, cie.pointer_encoding & 0x0F, self._address)
        if cie.has_augmentation:
            cursor.position += cursor.uleb()
        return cie, start, size, self._data[cursor.position : end]

    def row(self, address: int) -> Row | None:
        """The rules at a link-time address, or None where nothing is said about it."""
        at = bisect_right(self.starts, address) - 1
        if at < 0:
            return None
        try:
            cie, start, size, program = self._read_entry(self._entries[at])
            if not start <= address < start + size:
                return None
            initial = Row(return_register=cie.return_register, is_signal=cie.is_signal)
            _execute(cie, cie.program, start, _MASK, initial, {})
            row = Row(initial.cfa, dict(initial.rules), cie.return_register, cie.is_signal)
            _execute(cie, program, start, address, row, initial.rules)
        except DAMAGE:
            return None
        return row


def _execute(cie: _Cie, program: bytes, location: int, until: int, row: Row, initial: Rules) -> None:
    """Run call frame instructions (6.4.2) up to the address ``until``."""
    cursor = Cursor(program, 0)
    saved: list[tuple[tuple[int, int] | bytes, Rules]] = []

    def block() -> bytes:
        size = cursor.uleb()
        cursor.position += size
        return program[cursor.position - size : cursor.position]

    def restore(register: int) -> None:
        if register in initial:
            row.rules[register] = initial[register]
        else:
            row.rules.pop(register, None)

    def register_of_cfa() -> tuple[int, int]:
        if isinstance(row.cfa, bytes):
            raise ValueError("an expression has no register")
        return row.cfa

    while cursor.position < len(program):
        opcode = cursor.fixed(1)
        high, low = opcode & 0xC0, opcode & 0x3F
        if high == 0x40 or 0x02 <= opcode <= 0x04 or opcode == 0x01:
            if opcode == 0x01:
                raise ValueError("set_loc is not used here")
            delta = low if high == 0x40 else cursor.fixed(1 << (opcode - 2))
            location += delta * cie.code_align
            if location > until:
                return
        elif high == 0x80:
            row.rules[low] = ("offset", cursor.uleb() * cie.data_align)
        elif high == 0xC0:
            restore(low)
        elif opcode == 0x00:  # nop
            pass
        elif opcode == 0x05:  # offset_extended
            register = cursor.uleb()
            row.rules[register] = ("offset", cursor.uleb() * cie.data_align)
        elif opcode == 0x06:  # restore_extended
            restore(cursor.uleb())
        elif opcode == 0x07:  # undefined
            row.rules[cursor.uleb()] = ("undefined", 0)
        elif opcode == 0x08:  # same_value
            row.rules.pop(cursor.uleb(), None)
        elif opcode == 0x09:  # register
            register = cursor.uleb()
            row.rules[register] = ("register", cursor.uleb())
        elif opcode == 0x0A:  # remember_state
            saved.append((row.cfa, dict(row.rules)))
        elif opcode == 0x0B:  # restore_state
            row.cfa, row.rules = saved.pop()
        elif opcode == 0x0C:  # def_cfa
            register = cursor.uleb()
            row.cfa = (register, cursor.uleb())
        elif opcode == 0x0D:  # def_cfa_register
            row.cfa = (cursor.uleb(), register_of_cfa()[1])
        elif opcode == 0x0E:  # def_cfa_offset
            row.cfa = (register_of_cfa()[0], cursor.uleb())
        elif opcode == 0x0F:  # def_cfa_expression
            row.cfa = block()
        elif opcode in (0x10, 0x16):  # expression, val_expression
            register = cursor.uleb()
            row.rules[register] = ("expression" if opcode == 0x10 else "val_expression", block())
        elif opcode == 0x11:  # offset_extended_sf
            register = cursor.uleb()
            row.rules[register] = ("offset", cursor.sleb() * cie.data_align)
        elif opcode == 0x12:  # def_cfa_sf
            register = cursor.uleb()
            row.cfa = (register, cursor.sleb() * cie.data_align)
        elif opcode == 0x13:  # def_cfa_offset_sf
            row.cfa = (register_of_cfa()[0], cursor.sleb() * cie.data_align)
        elif opcode in (0x14, 0x15):  # val_offset, val_offset_sf
            register = cursor.uleb()
            value = cursor.uleb() if opcode == 0x14 else cursor.sleb()
            row.rules[register] = ("val_offset", value * cie.data_align)
        elif opcode == 0x2E:  # GNU_args_size
            cursor.uleb()
        else:
            raise ValueError(f"unknown call frame instruction {opcode:#x}")
