"""Stack traces from registers and memory, by call frame information.

For programs whose call stack the runtime does not keep. Sources: DWARF 5, sections 2.5 and 6.4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from interpose.elf.cfi import RBP, RSP, FrameTable, Row
from interpose.elf.cursor import DAMAGE, Cursor

_MASK = (1 << 64) - 1

ReadMemory = Callable[[int, int], "bytes | None"]
FindTable = Callable[[int], "tuple[FrameTable, int] | None"]
"""Frame table and load bias for a runtime code address; None where no object is mapped."""


class _NoAnswer(Exception):
    """The stack cannot be followed."""


class Unwinder:
    """Walks the frames of a stopped thread."""

    def __init__(self, read: ReadMemory, find: FindTable) -> None:
        self._read = read
        self._find = find

    def trace(self, pc: int, registers: Mapping[int, int], limit: int) -> list[int]:
        """The program counter, then return addresses, at most ``limit`` in all.

        ``registers`` are by DWARF number. A frame that a signal interrupted stands with its program counter
        plus one, so that "return address less one" holds for every entry but the first.
        """
        found = [pc]
        registers = dict(registers)
        exact = True  # the address of an instruction that was interrupted, not one after a call
        while len(found) < limit:
            try:
                pc, registers, is_signal = self._caller(pc if exact else pc - 1, registers, exact)
            except (_NoAnswer, *DAMAGE):
                break
            if pc == 0:
                break
            exact = is_signal
            found.append((pc + 1) & _MASK if is_signal else pc)
        return found

    def _word(self, address: int, size: int = 8) -> int:
        data = self._read(address & _MASK, size)
        if data is None:
            raise _NoAnswer
        return int.from_bytes(data, "little")

    def _caller(
        self, pc: int, registers: dict[int, int], innermost: bool
    ) -> tuple[int, dict[int, int], bool]:
        entry = self._find(pc)
        row = entry[0].row(pc - entry[1]) if entry is not None else None
        if row is None:
            return self._without_table(registers, innermost)
        cfa = self._cfa(row, registers)
        rules = row.rules
        outer = dict(registers)
        outer[RSP] = cfa
        for register, (kind, value) in rules.items():
            outer.pop(register, None)
            if kind != "undefined":
                outer[register] = self._value(kind, value, cfa, registers)
        if row.return_register not in rules or row.return_register not in outer:
            return 0, outer, False  # the outermost frame says so
        if cfa <= registers[RSP] and not row.is_signal:
            raise _NoAnswer  # no progress: damaged, or another stack
        return outer.pop(row.return_register), outer, row.is_signal

    def _without_table(self, registers: dict[int, int], innermost: bool) -> tuple[int, dict[int, int], bool]:
        """Code that says nothing of itself: it may keep a frame pointer, or have just been called."""
        stack, frame = registers[RSP], registers.get(RBP, 0)
        outer = dict(registers)
        if stack <= frame < stack + (1 << 24):
            pc = self._word(frame + 8)
            if self._find(pc - 1) is not None:
                outer[RBP], outer[RSP] = self._word(frame), frame + 16
                return pc, outer, False
        if innermost:
            pc = self._word(stack)
            if self._find(pc - 1) is not None:
                outer[RSP] = stack + 8
                return pc, outer, False
        raise _NoAnswer

    def _cfa(self, row: Row, registers: Mapping[int, int]) -> int:
        if isinstance(row.cfa, bytes):
            return self._evaluate(row.cfa, registers, [])
        register, offset = row.cfa
        if register not in registers:
            raise _NoAnswer
        return (registers[register] + offset) & _MASK

    def _value(self, kind: str, value: int | bytes, cfa: int, registers: Mapping[int, int]) -> int:
        if kind == "register" and isinstance(value, int):
            if value not in registers:
                raise _NoAnswer
            return registers[value]
        if isinstance(value, bytes):
            found = self._evaluate(value, registers, [cfa])
            return self._word(found) if kind == "expression" else found
        return self._word(cfa + value) if kind == "offset" else (cfa + value) & _MASK

    def _evaluate(self, expression: bytes, registers: Mapping[int, int], stack: list[int]) -> int:
        """A DWARF expression (2.5), as far as unwinding tables use it."""
        cursor = Cursor(expression, 0)
        while cursor.position < len(expression):
            opcode = cursor.fixed(1)
            if 0x30 <= opcode <= 0x4F:  # lit
                stack.append(opcode - 0x30)
            elif 0x70 <= opcode <= 0x8F:  # breg
                stack.append((registers[opcode - 0x70] + cursor.sleb()) & _MASK)
            elif opcode == 0x92:  # bregx
                register = cursor.uleb()
                stack.append((registers[register] + cursor.sleb()) & _MASK)
            elif 0x08 <= opcode <= 0x0F:  # const1u ... const8s
                size = 1 << ((opcode - 0x08) >> 1)
                stack.append((cursor.signed(size) if opcode & 1 else cursor.fixed(size)) & _MASK)
            elif opcode == 0x10:  # constu
                stack.append(cursor.uleb() & _MASK)
            elif opcode == 0x11:  # consts
                stack.append(cursor.sleb() & _MASK)
            elif opcode == 0x06:  # deref
                stack.append(self._word(stack.pop()))
            elif opcode == 0x94:  # deref_size
                stack.append(self._word(stack.pop(), cursor.fixed(1)))
            elif opcode == 0x12:  # dup
                stack.append(stack[-1])
            elif opcode == 0x13:  # drop
                stack.pop()
            elif opcode == 0x14:  # over
                stack.append(stack[-2])
            elif opcode == 0x16:  # swap
                stack[-1], stack[-2] = stack[-2], stack[-1]
            elif opcode == 0x1F:  # neg
                stack.append(-stack.pop() & _MASK)
            elif opcode == 0x20:  # not
                stack.append(~stack.pop() & _MASK)
            elif opcode == 0x23:  # plus_uconst
                stack.append((stack.pop() + cursor.uleb()) & _MASK)
            elif opcode in _BINARY:
                right = stack.pop()
                stack.append(_BINARY[opcode](stack.pop(), right) & _MASK)
            elif opcode == 0x96:  # nop
                pass
            else:
                raise ValueError(f"unknown operation {opcode:#x}")
        return stack[-1]


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


_BINARY: dict[int, Callable[[int, int], int]] = {
    0x1A: lambda a, b: a & b,
    0x1C: lambda a, b: a - b,
    0x1E: lambda a, b: a * b,
    0x21: lambda a, b: a | b,
    0x22: lambda a, b: a + b,
    0x24: lambda a, b: a << b if b < 64 else 0,
    0x25: lambda a, b: a >> b if b < 64 else 0,
    0x26: lambda a, b: _signed(a) >> min(b, 63),
    0x27: lambda a, b: a ^ b,
    0x29: lambda a, b: a == b,
    0x2A: lambda a, b: _signed(a) >= _signed(b),
    0x2B: lambda a, b: _signed(a) > _signed(b),
    0x2C: lambda a, b: _signed(a) <= _signed(b),
    0x2D: lambda a, b: _signed(a) < _signed(b),
    0x2E: lambda a, b: a != b,
}
