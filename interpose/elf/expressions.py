"""DWARF expressions and location descriptions (DWARF 5, 2.5 and 2.6): where in memory something is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from interpose.elf.cursor import Cursor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from interpose.records import NamedTuple

MASK = (1 << 64) - 1
_MOST_STEPS = 10000  # expressions may branch back

ReadMemory = Callable[[int, int], "bytes | None"]


class NoAnswerError(Exception):
    """What an expression asks for is not known."""


class Machine:
    """What expressions refer to. Each part that is not known stays as it is here."""

    def __init__(self, read: ReadMemory, registers: Mapping[int, int]) -> None:
        """`registers` are by DWARF number."""
        self._read = read
        self.registers = registers

    def word(self, address: int, size: int = 8) -> int:
        data = self._read(address & MASK, size)
        if data is None:
            raise NoAnswerError
        return int.from_bytes(data, "little")

    def register(self, number: int) -> int:
        if number not in self.registers:
            raise NoAnswerError
        return self.registers[number]

    def link_address(self, address: int) -> int:
        """Where a link-time address is now."""
        raise NoAnswerError

    def indexed_address(self, index: int) -> int:
        """The same for an entry of .debug_addr."""
        raise NoAnswerError

    def frame_base(self) -> int:
        raise NoAnswerError

    def cfa(self) -> int:
        raise NoAnswerError

    def entry_value(self, expression: bytes) -> int:
        """What the expression gave when the function was called."""
        raise NoAnswerError


class Piece(NamedTuple):
    """A part of what is described: its size, 0: all of it, and where it is, None: not in memory."""

    address: int | None
    size: int


def evaluate(expression: bytes, machine: Machine, stack: list[int]) -> int:
    """The value of an expression. Raises :class:`NoAnswerError` and what is in `cursor.DAMAGE`."""
    run = _Run(expression, machine, stack)
    run.until_composed()
    if run.kind not in ("memory", "value") or run.cursor.position < len(expression):
        raise NoAnswerError
    return stack[-1]


def locate(expression: bytes, machine: Machine) -> list[Piece]:
    """The pieces of an object, in the order of its bytes; empty: it has no place."""
    run = _Run(expression, machine, [])
    pieces: list[Piece] = []
    while run.cursor.position < len(expression):
        run.until_composed()
        address = run.stack[-1] if run.kind == "memory" and run.stack else None
        if run.cursor.position >= len(expression):
            if not pieces and address is not None:
                return [Piece(address, 0)]
            break
        opcode = run.cursor.fixed(1)
        bits = run.cursor.uleb() * (8 if opcode == 0x93 else 1)
        if opcode == 0x9D:
            run.cursor.uleb()
        if bits % 8 or not bits:
            break  # parts of bytes are in registers
        pieces.append(Piece(address, bits // 8))
        run.stack.clear()
    return pieces if any(piece.address is not None for piece in pieces) else []


class _Run:
    """One expression under way."""

    def __init__(self, expression: bytes, machine: Machine, stack: list[int]) -> None:
        self.cursor = Cursor(expression, 0)
        self.machine = machine
        self.stack = stack
        self.kind = "memory"
        """What the description up to here is: ``memory``, ``register``, ``value``, ``nothing``."""
        self._steps = 0

    def until_composed(self) -> None:
        """Go on up to the end or a piece."""
        cursor = self.cursor
        self.kind = "memory"
        is_empty = True
        while cursor.position < len(cursor.data) and cursor.data[cursor.position] not in (0x93, 0x9D):
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise NoAnswerError
            is_empty = False
            self._step(cursor.fixed(1))
        if is_empty:
            self.kind = "nothing"

    def _step(self, opcode: int) -> None:
        cursor, stack, machine = self.cursor, self.stack, self.machine
        if 0x30 <= opcode <= 0x4F:  # lit
            stack.append(opcode - 0x30)
        elif 0x50 <= opcode <= 0x6F:  # reg
            self.kind = "register"
            stack.append(machine.registers.get(opcode - 0x50, 0))
        elif 0x70 <= opcode <= 0x8F:  # breg
            stack.append((machine.register(opcode - 0x70) + cursor.sleb()) & MASK)
        elif opcode == 0x91:  # fbreg
            stack.append((machine.frame_base() + cursor.sleb()) & MASK)
        elif 0x08 <= opcode <= 0x0F:  # const1u ... const8s
            size = 1 << ((opcode - 0x08) >> 1)
            stack.append((cursor.signed(size) if opcode & 1 else cursor.fixed(size)) & MASK)
        elif opcode in _BINARY:
            right = stack.pop()
            stack.append(_BINARY[opcode](stack.pop(), right) & MASK)
        elif opcode in _PLAIN:
            _PLAIN[opcode](self)
        else:
            raise ValueError(f"unknown operation {opcode:#x}")

    # -- operations of their own ------------------------------------------------------------------

    def address(self) -> None:
        self.stack.append(self.machine.link_address(self.cursor.fixed(8)))

    def indexed_address(self) -> None:
        self.stack.append(self.machine.indexed_address(self.cursor.uleb()))

    def unsigned(self) -> None:
        self.stack.append(self.cursor.uleb() & MASK)

    def signed(self) -> None:
        self.stack.append(self.cursor.sleb() & MASK)

    def dereference(self) -> None:
        self.stack.append(self.machine.word(self.stack.pop()))

    def dereference_size(self) -> None:
        size = self.cursor.fixed(1)
        if not 1 <= size <= 8:
            raise ValueError("size of what is read")
        self.stack.append(self.machine.word(self.stack.pop(), size))

    def duplicate(self) -> None:
        self.stack.append(self.stack[-1])

    def drop(self) -> None:
        self.stack.pop()

    def over(self) -> None:
        self.stack.append(self.stack[-2])

    def pick(self) -> None:
        self.stack.append(self.stack[-1 - self.cursor.fixed(1)])

    def swap(self) -> None:
        self.stack[-1], self.stack[-2] = self.stack[-2], self.stack[-1]

    def rotate(self) -> None:
        self.stack[-3:] = [self.stack[-1], self.stack[-3], self.stack[-2]]

    def absolute(self) -> None:
        self.stack.append(abs(_signed(self.stack.pop())) & MASK)

    def negate(self) -> None:
        self.stack.append(-self.stack.pop() & MASK)

    def complement(self) -> None:
        self.stack.append(~self.stack.pop() & MASK)

    def plus_constant(self) -> None:
        self.stack.append((self.stack.pop() + self.cursor.uleb()) & MASK)

    def register_plus(self) -> None:
        register = self.cursor.uleb()
        self.stack.append((self.machine.register(register) + self.cursor.sleb()) & MASK)

    def register(self) -> None:
        self.kind = "register"
        self.stack.append(self.machine.registers.get(self.cursor.uleb(), 0))

    def skip(self) -> None:
        distance = self.cursor.signed(2)
        self.cursor.position += distance
        if self.cursor.position < 0:
            raise ValueError("branch out of the expression")

    def branch(self) -> None:
        distance = self.cursor.signed(2)
        if self.stack.pop():
            self.cursor.position += distance
            if self.cursor.position < 0:
                raise ValueError("branch out of the expression")

    def nothing(self) -> None:
        pass

    def frame_address(self) -> None:
        self.stack.append(self.machine.cfa())

    def implicit_value(self) -> None:
        self.cursor.block(self.cursor.uleb())
        self.stack.append(0)
        self.kind = "implicit"

    def stack_value(self) -> None:
        self.kind = "value"

    def entry_value(self) -> None:
        self.stack.append(self.machine.entry_value(self.cursor.block(self.cursor.uleb())))

    def unknown(self) -> None:
        raise NoAnswerError

    def convert(self) -> None:
        self.cursor.uleb()  # between integers, as compilers do it here, the low bits stay


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _quotient(a: int, b: int) -> int:
    a, b = _signed(a), _signed(b)
    if b == 0:
        raise NoAnswerError
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    if b == 0:
        raise NoAnswerError
    return a % b


_BINARY: dict[int, Callable[[int, int], int]] = {
    0x1A: lambda a, b: a & b,
    0x1B: _quotient,
    0x1C: lambda a, b: a - b,
    0x1D: _remainder,
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

_PLAIN: dict[int, Callable[[_Run], None]] = {
    0x03: _Run.address,
    0x06: _Run.dereference,
    0x10: _Run.unsigned,
    0x11: _Run.signed,
    0x12: _Run.duplicate,
    0x13: _Run.drop,
    0x14: _Run.over,
    0x15: _Run.pick,
    0x16: _Run.swap,
    0x17: _Run.rotate,
    0x19: _Run.absolute,
    0x1F: _Run.negate,
    0x20: _Run.complement,
    0x23: _Run.plus_constant,
    0x28: _Run.branch,
    0x2F: _Run.skip,
    0x90: _Run.register,
    0x92: _Run.register_plus,
    0x94: _Run.dereference_size,
    0x96: _Run.nothing,
    0x9B: _Run.unknown,  # form_tls_address
    0x9C: _Run.frame_address,
    0x9E: _Run.implicit_value,
    0x9F: _Run.stack_value,
    0xA0: _Run.unknown,  # implicit_pointer
    0xA1: _Run.indexed_address,
    0xA3: _Run.entry_value,
    0xA8: _Run.convert,
    0xA9: _Run.convert,
    0xE0: _Run.unknown,  # GNU_push_tls_address
    0xF0: _Run.nothing,  # GNU_uninit
    0xF2: _Run.unknown,  # GNU_implicit_pointer
    0xF3: _Run.entry_value,
    0xF7: _Run.convert,
    0xF9: _Run.convert,
    0xFB: _Run.indexed_address,
}
