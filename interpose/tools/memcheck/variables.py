"""The local variable at an address of a thread's stack (``--read-var-info=yes``)."""

from __future__ import annotations

from interpose.elf.cfi import RSP
from interpose.elf.unwind import Unwinder
from interpose.elf.variables import FrameState
from interpose.supervisor.stacktrace import by_dwarf_number, guest_pc

from .addrinfo import Variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from interpose.supervisor.main import Supervisor

    from .space import ThreadStack

_NOT_KEPT = frozenset((0, 1, 2, 4, 5, 8, 9, 10, 11))
"""DWARF numbers of the registers that a call may change (System V ABI, AMD64 supplement, figure 3.4)."""


def variable_at(
    supervisor: Supervisor, thread: ThreadStack, slots: Sequence[tuple[int, int]], addr: int
) -> Variable | None:
    """The variable of the innermost frame that has one there.

    ``slots`` are (address of the return address, return address) of its frames, innermost first. A frame's
    variables may lie in the frames around it: arguments on the stack, and what was passed by reference
    because it cannot be copied. So all frames are asked, up to the one that has the address.
    """
    client, symbolizer = supervisor.client, supervisor.symbolizer
    pc = guest_pc(thread.pc)
    known = _registers(supervisor, thread, slots)
    for number, (slot, ret) in enumerate(slots):
        cfa = slot + 8
        registers = next(known, {})
        found = symbolizer.variables_of(pc)
        if found is not None:
            variables, bias = found
            place = variables.local_at(FrameState(pc - bias, bias, registers, cfa, client.read), addr)
            if place is not None:
                return Variable(*place, number, thread.tid)
        if addr < cfa:
            return None
        pc = ret - 1
    return None


def _registers(
    supervisor: Supervisor, thread: ThreadStack, slots: Sequence[tuple[int, int]]
) -> Iterator[Mapping[int, int]]:
    """The registers of each frame, as far as call frame information leads along the same frames."""
    unwinder = Unwinder(supervisor.client.read, supervisor.symbolizer.frame_table)
    frames = unwinder.frames(guest_pc(thread.pc), by_dwarf_number(thread.registers), len(slots))
    for number, (_, registers, _) in enumerate(frames):
        if number and registers[RSP] != slots[number - 1][0] + 8:
            return
        if number:
            registers = {which: value for which, value in registers.items() if which not in _NOT_KEPT}
        yield registers
