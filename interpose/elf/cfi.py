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
_MOST_ROWS = 4096  # that are known, of one image: programs ask for traces in the same places
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
        self._rows: dict[int, Row | None] = {}
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
        """The rules at a link-time address, or None where nothing is said about it.  Not to be changed."""
        if address in self._rows:
            return self._rows[address]
        if len(self._rows) >= _MOST_ROWS:
            self._rows.clear()
        row = self._rows[address] = self._read_row(address)
        return row

    def _read_row(self, address: int) -> Row | None:
        at = bisect_right(self.starts, address) - 1
        if at < 0:
            return None
        try:
            cie, start, size, program = self._read_entry(self._entries[at])
            if not start <= address < start + size:
                return None
            initial = Row(return_register=cie.return_register, is_signal=cie.is_signal)
            _Machine(cie, cie.program, initial, {}).run(start, _MASK)
            row = Row(initial.cfa, dict(initial.rules), cie.return_register, cie.is_signal)
            _Machine(cie, program, row, initial.rules).run(start, address)
        except DAMAGE:
            return None
        return row


class _Machine:
    """Runs call frame instructions (6.4.2), which change a row."""

    def __init__(self, cie: _Cie, program: bytes, row: Row, initial: Rules) -> None:
        self._cie = cie
        self._program = program
        self._cursor = Cursor(program, 0)
        self._row = row
        self._initial = initial
        self._saved: list[tuple[tuple[int, int] | bytes, Rules]] = []

    def run(self, location: int, until: int) -> None:
        """Up to the address ``until``."""
        cursor = self._cursor
        while cursor.position < len(self._program):
            opcode = cursor.fixed(1)
            high, low = opcode & 0xC0, opcode & 0x3F
            if high == 0x40 or 0x02 <= opcode <= 0x04:  # advance_loc
                delta = low if high == 0x40 else cursor.fixed(1 << (opcode - 2))
                location += delta * self._cie.code_align
                if location > until:
                    return
            elif high == 0x80:  # offset
                self._row.rules[low] = ("offset", cursor.uleb() * self._cie.data_align)
            elif high == 0xC0:  # restore
                self._restore(low)
            elif opcode == 0x0A:  # remember_state
                self._saved.append((self._row.cfa, dict(self._row.rules)))
            elif opcode == 0x0B:  # restore_state
                self._row.cfa, self._row.rules = self._saved.pop()
            elif opcode == 0x2E:  # GNU_args_size
                cursor.uleb()
            elif 0x0C <= opcode <= 0x0F or opcode in (0x12, 0x13):
                self._row.cfa = self._cfa(opcode)
            elif opcode:  # else nop
                self._rule(opcode, cursor.uleb())

    def _cfa(self, opcode: int) -> tuple[int, int] | bytes:
        cursor = self._cursor
        if opcode == 0x0C:  # def_cfa
            return cursor.uleb(), cursor.uleb()
        if opcode == 0x12:  # def_cfa_sf
            return cursor.uleb(), cursor.sleb() * self._cie.data_align
        if opcode == 0x0F:  # def_cfa_expression
            return self._block()
        before = self._row.cfa
        if isinstance(before, bytes):
            raise ValueError("an expression has no register")
        if opcode == 0x0D:  # def_cfa_register
            return cursor.uleb(), before[1]
        if opcode == 0x0E:  # def_cfa_offset
            return before[0], cursor.uleb()
        return before[0], cursor.sleb() * self._cie.data_align  # def_cfa_offset_sf

    def _rule(self, opcode: int, register: int) -> None:
        cursor, rules, scale = self._cursor, self._row.rules, self._cie.data_align
        if opcode == 0x05:  # offset_extended
            rules[register] = ("offset", cursor.uleb() * scale)
        elif opcode == 0x06:  # restore_extended
            self._restore(register)
        elif opcode == 0x07:  # undefined
            rules[register] = ("undefined", 0)
        elif opcode == 0x08:  # same_value
            rules.pop(register, None)
        elif opcode == 0x09:  # register
            rules[register] = ("register", cursor.uleb())
        elif opcode == 0x10:  # expression
            rules[register] = ("expression", self._block())
        elif opcode == 0x11:  # offset_extended_sf
            rules[register] = ("offset", cursor.sleb() * scale)
        elif opcode == 0x14:  # val_offset
            rules[register] = ("val_offset", cursor.uleb() * scale)
        elif opcode == 0x15:  # val_offset_sf
            rules[register] = ("val_offset", cursor.sleb() * scale)
        elif opcode == 0x16:  # val_expression
            rules[register] = ("val_expression", self._block())
        else:  # set_loc among them, which compilers for x86-64 do not use
            raise ValueError(f"unknown call frame instruction {opcode:#x}")

    def _restore(self, register: int) -> None:
        if register in self._initial:
            self._row.rules[register] = self._initial[register]
        else:
            self._row.rules.pop(register, None)

    def _block(self) -> bytes:
        size = self._cursor.uleb()
        self._cursor.position += size
        return self._program[self._cursor.position - size : self._cursor.position]
