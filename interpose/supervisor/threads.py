"""The program's threads as they are now: registers, stacks, what they wait for."""

from __future__ import annotations

import struct

from interpose.jit._native import lib
from interpose.procmaps import regions
from interpose.supervisor.stacktrace import guest_pc, unwind_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    from interpose.report.stack import Stack
    from interpose.supervisor.main import Supervisor
else:
    from interpose.records import NamedTuple

_MAX_DEPTH = 512
_SYSCALL = b"\x0f\x05"


class ThreadNow(NamedTuple):
    """A thread at a standstill.

    :ivar number: its number among the program's threads.
    :ivar tid: the kernel's.
    :ivar syscall: number of the system call that it is in; -1: none.
    :ivar stack: its stack trace.
    :ivar lo: the mapping that its stack pointer is in, from here to ``hi``; 0 if there is none.
    """

    number: int
    tid: int
    syscall: int
    pc: int
    sp: int
    lo: int
    hi: int
    stack: Stack
    own_stack: tuple[int, int, int]
    """Of the runtime: from where, to where, and how many bytes were ever used."""


def threads_now(supervisor: Supervisor) -> list[ThreadNow]:
    """Every live thread, by number."""
    client = supervisor.client
    try:
        ranges = [(region.start, region.end) for region in regions(client.pid)]
    except OSError:
        ranges = []
    found = []
    for slot in client.slots():
        state = client.read_struct("struct tstate", slot.tstate)
        if state is None or not state.tid_guest:
            continue
        pc, sp = guest_pc(state.pc), state.gpr[lib.IP_RSP]
        syscall = _syscall(supervisor, state, pc)
        if syscall >= 0:
            pc += len(_SYSCALL)  # what it waits for is behind it
        lo, hi = next(((lo, hi) for lo, hi in ranges if lo <= sp < hi), (0, 0))
        stack = supervisor.resolver.normalise(_trace(supervisor, state, pc))
        found.append(
            ThreadNow(
                state.tid_guest,
                slot.tid,
                syscall,
                pc,
                sp,
                lo,
                hi,
                stack,
                _own_stack(supervisor, state, ranges),
            )
        )
    return sorted(found)


def _own_stack(supervisor: Supervisor, state: Any, ranges: list[tuple[int, int]]) -> tuple[int, int, int]:
    end = state.rt_sp
    begin = next((lo for lo, hi in ranges if lo < end <= hi), end)
    data = supervisor.client.read(begin, end - begin) or b""
    return begin, end, len(data.lstrip(b"\0"))


def _syscall(supervisor: Supervisor, state: Any, pc: int) -> int:
    """A thread that is in a call stands at the instruction, and RAX has the number still."""
    number: int = state.gpr[lib.IP_RAX]
    return number if number < 1024 and supervisor.client.read(pc, 2) == _SYSCALL else -1


def _trace(supervisor: Supervisor, state: Any, pc: int) -> list[int]:
    """The program counter, then return addresses."""
    if not supervisor.client.header.config_flags & lib.IP_C_CALLSTACK:
        return [pc, *unwind_state(supervisor, state)[1:]]
    size = min(state.cs_top + 16 - state.cs_base, 16 * _MAX_DEPTH)
    data = (supervisor.client.read(state.cs_top + 16 - size, size) or b"") if size > 0 else b""
    found = [pc]
    sp = state.gpr[lib.IP_RSP]
    for address, above in reversed(list(struct.iter_unpack("<QQ", data))):
        slot = above - 8
        if address and slot >= sp:
            found.append(address)
            sp = slot + 8
    return found
