"""Raw stack traces of a thread that waits for an answer, where the runtime keeps no call stack."""

from __future__ import annotations

from interpose.elf.unwind import Unwinder
from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from interpose.supervisor.main import Supervisor

# System V ABI, AMD64 supplement, figure 3.36: DWARF's numbers are not those of the encoding below 8.
_BY_DWARF_NUMBER = (
    lib.IP_RAX, lib.IP_RDX, lib.IP_RCX, lib.IP_RBX, lib.IP_RSI, lib.IP_RDI, lib.IP_RBP, lib.IP_RSP,
    *range(8, 16),
)  # fmt: skip


def guest_pc(key: int) -> int:
    """The pc in a key.  What a program jumped to may be no address of user space; then it is no key."""
    foreign = key >> 47 & 0x1FFF
    if not foreign:
        return key & lib.IP_KEY_PC
    return key & ~lib.IP_KEY_NONE if foreign == lib.IP_KEY_NONE >> 47 else key


def by_dwarf_number(gpr: Sequence[int]) -> dict[int, int]:
    """General registers as debug information numbers them."""
    return {number: gpr[which] for number, which in enumerate(_BY_DWARF_NUMBER)}


def unwind(supervisor: Supervisor, slot: Any) -> list[int]:
    """The thread's program counter, then return addresses, from its registers and memory."""
    state = supervisor.client.read_struct("struct tstate", slot.tstate)
    return [] if state is None else unwind_state(supervisor, state)


def unwind_state(supervisor: Supervisor, state: Any) -> list[int]:
    """The same from a copy of a thread's state (``struct tstate``)."""
    registers = by_dwarf_number(state.gpr)
    unwinder = Unwinder(supervisor.client.read, supervisor.symbolizer.frame_table)
    core = supervisor.config.core
    pc = guest_pc(state.pc)
    return unwinder.trace(pc, registers, core.num_callers, merge=core.merge_recursive_frames)
