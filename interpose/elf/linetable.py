"""One line number program: its files, and the lines of addresses (DWARF 5, 6.2)."""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from functools import cached_property

from interpose.elf.cursor import DAMAGE, Cursor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from interpose.elf.dwarf import Unit
else:
    from interpose.records import NamedTuple

LNCT_PATH, LNCT_DIRECTORY_INDEX = 1, 2
LNS_COPY, LNS_ADVANCE_PC, LNS_ADVANCE_LINE, LNS_SET_FILE = 1, 2, 3, 4
LNS_CONST_ADD_PC, LNS_FIXED_ADVANCE_PC = 8, 9
# DW_FORM_ of offsets into sections: as wide as those of the unit or table that they are in.
OFFSET_SIZED = frozenset((0x0E, 0x17, 0x1D, 0x1F, 0x10, 0x1F20, 0x1F21))
LNE_END_SEQUENCE, LNE_SET_ADDRESS = 1, 2


class _Row(NamedTuple):
    address: int
    end: int
    file: int
    line: int


class LineProgram:
    """The line number program of a unit."""

    def __init__(self, unit: Unit, offset: int) -> None:
        self._unit = unit
        cursor = Cursor(unit.info.section(".debug_line"), offset)
        length, self._offset_size = cursor.initial_length()
        self._end = min(cursor.position + length, len(cursor.data))
        self._version = cursor.fixed(2)
        if not 2 <= self._version <= 5:
            raise ValueError("unknown line table version")
        if self._version >= 5:
            cursor.fixed(2)
        header = cursor.fixed(self._offset_size)
        self._start = cursor.position + header
        self._step = cursor.fixed(1)
        if self._version >= 4:
            cursor.fixed(1)
        cursor.fixed(1)
        self._line_base = cursor.signed(1)
        self._line_range = cursor.fixed(1)
        self._opcode_base = cursor.fixed(1)
        self._operands = [cursor.fixed(1) for _ in range(1, self._opcode_base)]
        self.files = self._read_files(cursor)

    def _read_files(self, cursor: Cursor) -> list[tuple[str, str]]:
        """(directory, name) of each file, by file number."""
        home = self._unit.comp_dir or ""
        if self._version >= 5:
            places = [self._below(home, str(row.get(LNCT_PATH, ""))) for row in self._entries(cursor)]
            files = [
                (int(row.get(LNCT_DIRECTORY_INDEX, 0)), str(row.get(LNCT_PATH, "")))
                for row in self._entries(cursor)
            ]
            return [(places[index] if index < len(places) else home, name) for index, name in files]
        places = [home]
        while name := cursor.string():
            places.append(self._below(home, name))
        known = [(home, "")]  # file numbers start at 1 before version 5
        while name := cursor.string():
            index, _, _ = cursor.uleb(), cursor.uleb(), cursor.uleb()
            known.append((places[index] if index < len(places) else home, name))
        return known

    @staticmethod
    def _below(home: str, directory: str) -> str:
        # Valgrind joins without cleaning, directory 0 of version 5 (the compilation directory itself) like
        # any other: where that is the relative `./stdlib`, it shows `./stdlib/./stdlib`.
        return directory if directory.startswith("/") or not home else f"{home}/{directory}"

    def _entries(self, cursor: Cursor) -> list[dict[int, int | str]]:
        """One of the two entry tables of a version 5 header (6.2.4.1)."""
        formats = [(cursor.uleb(), cursor.uleb()) for _ in range(cursor.fixed(1))]
        rows: list[dict[int, int | str]] = []
        for _ in range(cursor.uleb() if formats else 0):
            row: dict[int, int | str] = {}
            for content, form in formats:
                value = self._value(cursor, form)
                resolved = self._unit.string(value) if content == LNCT_PATH else value[1]
                if resolved is not None and not isinstance(resolved, bytes):
                    row[content] = resolved
            rows.append(row)
            if len(rows) > len(cursor.data):
                raise ValueError("entry table is longer than its section")
        return rows

    def _value(self, cursor: Cursor, form: int) -> tuple[int, int | str | bytes]:
        # Offsets are as wide as the table's: GNU as writes 32-bit tables for GCC's 64-bit units.
        if form in OFFSET_SIZED:
            return form, cursor.fixed(self._offset_size)
        return self._unit.value(cursor, form, 0)

    def find(self, address: int) -> tuple[str, str, int] | None:
        """(directory, file name, line) of the link-time `address`; line 0: of no line in particular."""
        starts, rows = self._rows
        index = bisect_right(starts, address) - 1
        if index < 0:
            return None
        row = rows[index]
        if address >= row.end or row.file >= len(self.files):
            return None
        return *self.files[row.file], row.line

    @cached_property
    def _rows(self) -> tuple[list[int], list[_Row]]:
        rows: list[_Row] = []
        with suppress(*DAMAGE):
            self._run(rows)
        rows.sort()
        return [row.address for row in rows], rows

    def _run(self, rows: list[_Row]) -> None:
        """The state machine of 6.2.5; a row ends where the next one of its sequence starts."""
        cursor = Cursor(self._unit.info.section(".debug_line"), self._start)
        address, file, line = 0, 1, 1
        previous: tuple[int, int, int] | None = None

        def emit() -> None:
            nonlocal previous
            if previous is not None and address > previous[0]:
                rows.append(_Row(previous[0], address, previous[1], previous[2]))
            previous = (address, file, line)

        while cursor.position < self._end:
            opcode = cursor.fixed(1)
            if opcode >= self._opcode_base:
                advance, delta = divmod(opcode - self._opcode_base, self._line_range or 1)
                address += advance * self._step
                line += self._line_base + delta
                emit()
            elif opcode == 0:
                size = cursor.uleb()
                following = cursor.position + size
                extended = cursor.fixed(1) if size else 0
                if extended == LNE_END_SEQUENCE:
                    emit()
                    address, file, line, previous = 0, 1, 1, None
                elif extended == LNE_SET_ADDRESS:
                    address = cursor.fixed(size - 1)
                cursor.position = following
            elif opcode == LNS_COPY:
                emit()
            elif opcode == LNS_ADVANCE_PC:
                address += cursor.uleb() * self._step
            elif opcode == LNS_ADVANCE_LINE:
                line += cursor.sleb()
            elif opcode == LNS_SET_FILE:
                file = cursor.uleb()
            elif opcode == LNS_CONST_ADD_PC:
                address += (255 - self._opcode_base) // (self._line_range or 1) * self._step
            elif opcode == LNS_FIXED_ADVANCE_PC:
                address += cursor.fixed(2)
            else:
                for _ in range(self._operands[opcode - 1]):
                    cursor.uleb()
