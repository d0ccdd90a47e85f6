"""Stack traces from registers and memory, by call frame information.

For programs whose call stack the runtime does not keep. Source: DWARF 5, section 6.4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from interpose.elf.cfi import RBP, RSP, FrameTable, Row
from interpose.elf.cursor import DAMAGE
from interpose.elf.expressions import MASK, Machine, NoAnswerError, ReadMemory, evaluate

FindTable = Callable[[int], "tuple[FrameTable, int] | None"]
"""Frame table and load bias for a runtime code address; None where no object is mapped."""


_PIECE = 512  # of a stack
_DEEPEST = 20_000
"""Frames that are looked at for as many as are wanted where recursion is merged."""


def drop_cycle(ips: list[int], longest: int) -> None:
    """Where the last frame is the same as one of up to ``longest`` before, take the turn between them off.

    The first is no return address, and is never the same.
    """
    for length in range(1, min(longest, len(ips) - 2) + 1):
        if ips[-1] == ips[-1 - length]:
            del ips[-length:]
            return


class Unwinder:
    """Walks the frames of a stopped thread."""

    def __init__(self, read: ReadMemory, find: FindTable) -> None:
        self._read = read
        self._find = find
        self._held = b""
        self._held_at = 0

    def trace(
        self, pc: int, registers: Mapping[int, int], limit: int, *, returns: bool = False, merge: int = 0
    ) -> list[int]:
        """The program counter, then return addresses, at most ``limit`` in all.

        ``registers`` are by DWARF number. With ``returns``, ``pc`` is a return address itself. A frame that a
        signal interrupted stands with its program counter plus one, so that "return address less one" holds
        for every entry but the first. Cycles of up to ``merge`` frames are one.
        """
        found: list[int] = []
        for at, _, is_exact in self.frames(pc, registers, _DEEPEST if merge else limit, returns=returns):
            found.append((at + 1) & MASK if is_exact and found else at)
            drop_cycle(found, merge)
            if len(found) >= limit:
                break
        return found

    def frames(
        self, pc: int, registers: Mapping[int, int], limit: int, *, returns: bool = False
    ) -> Iterator[tuple[int, dict[int, int], bool]]:
        """(program counter, registers, exact) of at most ``limit`` frames, innermost first.

        Exact is the address of an instruction that was interrupted, not that of one after a call.
        """
        registers = dict(registers)
        exact = not returns
        self._held = b""  # the thread may have run
        for _ in range(limit):
            yield pc, registers, exact
            try:
                pc, registers, exact = self._caller(pc if exact else pc - 1, registers, exact)
            except (NoAnswerError, *DAMAGE):
                return
            if pc == 0:
                return

    def _word(self, address: int) -> int:
        """Those of one frame lie side by side, the next frame's often behind them; each read is a call."""
        address &= MASK
        at = address - self._held_at
        if not 0 <= at <= len(self._held) - 8:
            data = self._read(address, _PIECE) or self._read(address, 8)
            if data is None:
                raise NoAnswerError
            self._held, self._held_at, at = data, address, 0
        return int.from_bytes(self._held[at : at + 8], "little")

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
            raise NoAnswerError  # no progress: damaged, or another stack
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
        raise NoAnswerError

    def _cfa(self, row: Row, registers: Mapping[int, int]) -> int:
        if isinstance(row.cfa, bytes):
            return evaluate(row.cfa, Machine(self._read, registers), [])
        register, offset = row.cfa
        if register not in registers:
            raise NoAnswerError
        return (registers[register] + offset) & MASK

    def _value(self, kind: str, value: int | bytes, cfa: int, registers: Mapping[int, int]) -> int:
        if kind == "register" and isinstance(value, int):
            if value not in registers:
                raise NoAnswerError
            return registers[value]
        if isinstance(value, bytes):
            found = evaluate(value, Machine(self._read, registers), [cfa])
            return self._word(found) if kind == "expression" else found
        return self._word(cfa + value) if kind == "offset" else (cfa + value) & MASK
