"""Which variable an address is in, by the debug information of one file.

Global variables come from one quick look at all entries (dies.c), made when the first is asked for. Locals
are read from the one compilation unit that has the code of their frame. What an optimiser left out of memory
is in no variable.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from contextlib import suppress
from functools import cached_property

from interpose.elf.cursor import DAMAGE
from interpose.elf.datatypes import AT_TYPE, Value, constant, part_at, size_of
from interpose.elf.demangle import demangle, is_mangled
from interpose.elf.dies import Die, enclosing_names, scan
from interpose.elf.dwarf import (
    AT_NAME,
    AT_SPECIFICATION,
    F_ADDRX,
    DebugInfo,
    Unit,
)
from interpose.elf.expressions import Machine, NoAnswerError, Piece, evaluate, locate
from interpose.elf.functions import Functions, blocks_at
from interpose.elf.loclists import expression_at
from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import NamedTuple

    from interpose.elf.expressions import ReadMemory
else:
    from interpose.records import NamedTuple

TAG_FORMAL_PARAMETER, TAG_VARIABLE = 0x05, 0x34
_PACK = 0x4108
AT_LOCATION, AT_DECL_FILE, AT_DECL_LINE, AT_FRAME_BASE = 0x02, 0x3A, 0x3B, 0x40
_WITHOUT_ANSWER = (NoAnswerError, *DAMAGE)
_NAMELESS = "<anon_var>"
_LOOK_BACK = 8
_CACHED_SCOPES = 1000


class VariablePlace(NamedTuple):
    """The variable that an address is in."""

    name: str
    """With its namespace, as the language writes it."""
    offset: int
    """Bytes into the variable, or into the part of it."""
    part: str
    """What of the variable: ``[5].bong``; empty for all of it."""
    file: str | None
    line: int | None


class FrameState(NamedTuple):
    """A frame of a stopped thread."""

    pc: int
    """Link-time address of the instruction, for callers one within the call."""
    bias: int
    registers: Mapping[int, int]
    """Those known, by DWARF number."""
    cfa: int
    """What RSP was before the call that made the frame."""
    read: ReadMemory


class _Scope(NamedTuple):
    """A function and what is declared where the program is, innermost block first."""

    function: Die
    variables: Sequence[Die]


class Variables:
    """The variables of one file."""

    def __init__(self, info: DebugInfo, functions: Functions) -> None:
        self._info = info
        self._functions = functions
        self._scopes: dict[int, _Scope | None] = {}

    # -- variables with addresses -----------------------------------------------------------------

    def global_at(self, address: int) -> VariablePlace | None:
        """The global or static variable, outside of functions, at a link-time address."""
        return self._at(self._globals, address)

    def static_local_at(self, address: int) -> VariablePlace | None:
        """The same for static variables of functions."""
        return self._at(self._static_locals, address)

    @staticmethod
    def _at(table: tuple[list[int], list[tuple[int, Unit, int]]], address: int) -> VariablePlace | None:
        starts, rows = table
        index = bisect_right(starts, address)
        for start, unit, offset in reversed(rows[max(0, index - _LOOK_BACK) : index]):
            try:
                place = _place(Die(unit, offset), address - start, 0, constant)
            except DAMAGE:
                continue
            if place is not None:
                return place
        return None

    @property
    def _globals(self) -> tuple[list[int], list[tuple[int, Unit, int]]]:
        return self._tables[0]

    @property
    def _static_locals(self) -> tuple[list[int], list[tuple[int, Unit, int]]]:
        return self._tables[1]

    @cached_property
    def _tables(self) -> list[tuple[list[int], list[tuple[int, Unit, int]]]]:
        rows: tuple[list[tuple[int, Unit, int]], list[tuple[int, Unit, int]]] = ([], [])
        for unit, offset, low, what in self._entries():
            address: int | None = low
            if what & lib.IP_DIE_INDEXED:
                try:
                    address = unit.address_of((F_ADDRX, low))
                except DAMAGE:
                    continue
            if address:
                rows[bool(what & lib.IP_DIE_LOCAL)].append((address, unit, offset))
        for table in rows:
            table.sort(key=lambda row: (row[0], row[2]))
        return [([row[0] for row in table], table) for table in rows]

    def _entries(self) -> Iterator[tuple[Unit, int, int, int]]:
        """(unit, offset of the entry, low, what) of the variables with addresses, as dies.h has them."""
        info = self._info
        with suppress(*DAMAGE):
            for offset, start, low, _, what in scan(info, lib.IP_DIE_VARIABLE):
                unit = info.unit(start)
                if unit is not None:
                    yield unit, offset, low, what
        if not info.is_in_several_files:
            return
        for skeleton in info.units():
            unit = skeleton.full
            if unit is not skeleton:
                with suppress(*DAMAGE):
                    for offset, _, low, _, what in scan(unit.info, lib.IP_DIE_VARIABLE, unit):
                        yield unit, offset, low, what

    # -- variables of a frame ---------------------------------------------------------------------

    def local_at(self, frame: FrameState, address: int) -> VariablePlace | None:
        """The innermost variable of a frame at a runtime address."""
        scope = self._scope(frame.pc)
        if scope is None:
            return None
        machine = _FrameMachine(frame, scope.function)
        for variable in scope.variables:
            try:
                place = self._in(variable, machine, frame, address)
            except _WITHOUT_ANSWER:
                continue
            if place is not None:
                return place
        return None

    @staticmethod
    def _in(variable: Die, machine: _FrameMachine, frame: FrameState, address: int) -> VariablePlace | None:
        machine.unit = variable.unit
        expression = expression_at(variable, AT_LOCATION, frame.pc)
        if not expression:
            return None
        before = 0
        pieces: list[Piece] = locate(expression, machine)
        for start, size in pieces:
            if start is not None and start <= address and (not size or address < start + size):
                return _place(variable, address - start, before, machine.value)
            before += size
        return None

    def _scope(self, pc: int) -> _Scope | None:
        if pc not in self._scopes:
            if len(self._scopes) >= _CACHED_SCOPES:
                self._scopes.clear()
            try:
                self._scopes[pc] = self._read_scope(pc)
            except DAMAGE:
                self._scopes[pc] = None
        return self._scopes[pc]

    def _read_scope(self, pc: int) -> _Scope | None:
        unit = self._info.unit_at(pc)
        if unit is None:
            return None
        function = self._functions.at(unit.full, pc)
        return _Scope(function, list(_visible(function, pc))) if function is not None else None


def _visible(function: Die, pc: int) -> Iterator[Die]:
    """The variables of the innermost block that has the code, then those of the blocks around it."""
    for _, entries in reversed(list(blocks_at(function, pc))):
        for entry in entries:
            if entry.tag in (TAG_VARIABLE, TAG_FORMAL_PARAMETER):
                yield entry
            elif entry.tag == _PACK:
                for number, die in enumerate(entry.children()):
                    yield _Packed(die, entry, number)


class _Packed(Die):
    """A parameter of a pack, which has name and declaration for all of them."""

    __slots__ = ("_name",)

    def __init__(self, parameter: Die, pack: Die, number: int) -> None:
        super().__init__(parameter.unit, parameter.offset)
        named = pack.having(AT_NAME) or pack
        for attribute in (AT_DECL_FILE, AT_DECL_LINE):
            if attribute in named.attributes:
                self.attributes.setdefault(attribute, named.attributes[attribute])
        name = named.text(AT_NAME)
        self._name = f"{name}#{number}" if name is not None else None

    @property
    def name(self) -> str | None:
        return self._name or super().name


class _FrameMachine(Machine):
    """What the expressions of a frame's variables refer to."""

    def __init__(self, frame: FrameState, function: Die) -> None:
        super().__init__(frame.read, frame.registers)
        self._frame = frame
        self._function = function
        self.unit = function.unit

    def link_address(self, address: int) -> int:
        return address + self._frame.bias

    def indexed_address(self, index: int) -> int:
        return (self.unit.address_of((F_ADDRX, index)) or 0) + self._frame.bias

    def cfa(self) -> int:
        return self._frame.cfa

    def frame_base(self) -> int:
        return self._frame_base

    @cached_property
    def _frame_base(self) -> int:
        expression = expression_at(self._function, AT_FRAME_BASE, self._frame.pc)
        if not expression or 0x91 in expression[:1]:
            raise NoAnswerError
        if 0x50 <= expression[0] <= 0x6F and len(expression) == 1:
            return self.register(expression[0] - 0x50)
        return evaluate(expression, _WithoutFrameBase(self._frame, self._function), [])

    def value(self, die: Die, attribute: int) -> int | None:
        """A bound of an array: a constant, an expression, or what another variable holds."""
        number = die.constant(attribute)
        if number is not None or attribute not in die.attributes:
            return number
        expression = die.expression(attribute)
        try:
            if expression:
                return evaluate(expression, self, [])
            holder = die.reference(attribute)
            return self._content(holder) if holder is not None else None
        except NoAnswerError:
            return None

    def _content(self, variable: Die) -> int | None:
        number = variable.constant(0x1C)
        if number is not None:
            return number
        expression = expression_at(variable, AT_LOCATION, self._frame.pc)
        if not expression:
            return None
        if 0x50 <= expression[0] <= 0x6F and len(expression) == 1:
            return self.register(expression[0] - 0x50)
        if expression[-1:] == b"\x9f":
            return evaluate(expression, self, [])
        size = size_of(_type_of(variable)) or 8
        pieces = locate(expression, self)
        if len(pieces) != 1 or pieces[0].address is None or not 1 <= size <= 8:
            return None
        return self.word(pieces[0].address, size)


class _WithoutFrameBase(_FrameMachine):
    """For the expression of the frame base itself."""

    def frame_base(self) -> int:
        raise NoAnswerError


def _type_of(variable: Die) -> Die | None:
    holder = variable.having(AT_TYPE)
    return holder.reference(AT_TYPE) if holder is not None else None


def _place(variable: Die, offset: int, before: int, value: Value) -> VariablePlace | None:
    """What of a variable is `offset` bytes into one that begins `before` bytes into it."""
    offset += before
    kind = _type_of(variable)
    size = size_of(kind, value)
    if size is None or not 0 <= offset < size:
        return None
    part, rest = part_at(kind, offset, value)
    name = _name_of(variable) or _NAMELESS
    declared = variable.having(AT_DECL_LINE)
    if declared is None:
        return VariablePlace(name, rest, part, None, None)
    number = declared.constant(AT_DECL_FILE)
    path = declared.unit.file_path(number)
    place = declared.unit.place_of(path) if path is not None else None
    file = place[1] if place is not None else None
    return VariablePlace(name, rest, part, file, declared.constant(AT_DECL_LINE))


def _name_of(variable: Die) -> str | None:
    """The name with the namespaces and classes it is in, which a mangled one tells."""
    linkage, name = variable.linkage_name, variable.name
    if linkage and is_mangled(linkage):
        whole = demangle(linkage)
        if name is None or _is_last_of(name, whole):
            return whole
        # clang's members of an anonymous union, each a variable, have all the first one's linkage name
        return "::".join((*enclosing_names(variable), name))
    declaration = variable.reference(AT_SPECIFICATION)
    if declaration is None or name is None:
        return name
    return "::".join((*enclosing_names(declaration), name))


def _is_last_of(name: str, whole: str) -> bool:
    """Whether a demangled name, but for arguments of a template and ABI tags, ends with this name."""
    return re.search(rf"(^|::){re.escape(name.partition('<')[0])}($|[<\[])", whole) is not None
