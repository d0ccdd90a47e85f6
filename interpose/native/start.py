"""A program held where its dynamic linker has mapped and linked everything, and no constructor has run.

The dynamic linker calls the function ``_dl_debug_state`` then, for debuggers (<link.h>, ``r_brk``). There the
program is taken to a place where it sleeps, so that no tracer holds it while Frida's injector has to trace
it. Frida's own spawn() holds programs, too, but they are its children then, while the user's program must
keep the process that the user started, with its parent, its exit status and its job.
"""

from __future__ import annotations

from interpose.elf.image import Image
from interpose.native import tracer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from interpose.native.tracer import Tracee
else:
    from interpose.records import NamedTuple

_AT_BASE, _AT_ENTRY = 7, 9
_TRAP = b"\xcc"
# Sleep for ever: mov $SYS_pause, %eax; syscall; jmp to the beginning.
_SLEEP = b"\xb8\x22\x00\x00\x00\x0f\x05\xeb\xf7"
_SYSCALL_AT = 5
_EXIT_GROUP = 231
_CONSISTENT = 0
_R_STATE = 24  # in struct r_debug


class NoLinkerError(Exception):
    """The program has no dynamic linker, or one of a kind that is not known."""


class Linker(NamedTuple):
    """Where in a process its dynamic linker tells debuggers of changes, and its ``struct r_debug``."""

    notify: int
    debug: int


class Held(NamedTuple):
    """What is put back when the program goes on."""

    tid: int
    registers: list[int]
    place: int
    code: bytes
    linker: Linker


def find_linker(path: str, base: int) -> Linker:
    """The two addresses of the dynamic linker in that file, mapped at ``base``."""
    found = {s.name: s.value for s in Image.open(path).dynsyms if s.is_defined}
    try:
        return Linker(base + found["_dl_debug_state"], base + found["_r_debug"])
    except KeyError:
        raise NoLinkerError(f"{path} is no dynamic linker that tells debuggers what it does") from None


def path_at(pid: int, address: int) -> str:
    """The file that is mapped there, by a name that opens it whatever the root of that process is."""
    with open(f"/proc/{pid}/maps", "rb") as file:
        for line in file:
            bounds = line.split(b" ", 1)[0]
            start, end = (int(part, 16) for part in bounds.split(b"-"))
            if start <= address < end:
                return f"/proc/{pid}/map_files/{start:x}-{end:x}"
    raise NoLinkerError(f"nothing is mapped at {address:#x}")


def linker_of(pid: int) -> Linker:
    """That of a process, by its auxiliary vector."""
    base = tracer.auxiliary(pid).get(_AT_BASE, 0)
    if not base:
        raise NoLinkerError("it is statically linked")
    return find_linker(path_at(pid, base), base)


def hold(tracee: Tracee) -> Held:
    """From the stop at exec to the sleep at the end of linking; the thread is traced no more then.

    Raises NoLinkerError, with the thread still stopped; GoneError if it ended on the way.
    """
    pid = tracee.tid
    linker = linker_of(pid)
    _run_until_linked(tracee, linker)
    registers = tracee.registers
    place = tracer.auxiliary(pid)[_AT_ENTRY]
    code = tracer.read(pid, place, len(_SLEEP))
    tracer.write(pid, place, _SLEEP)
    asleep = list(registers)
    asleep[tracer.RIP], asleep[tracer.ORIG_RAX] = place, -1 & (1 << 64) - 1
    tracee.registers = asleep
    tracee.let_go()
    return Held(pid, registers, place, code, linker)


def _run_until_linked(tracee: Tracee, linker: Linker) -> None:
    pid = tracee.tid
    first = tracer.read(pid, linker.notify, 1)
    while True:
        tracer.write(pid, linker.notify, _TRAP)
        signo, event = 0, 0
        while True:
            tracee.go_on(signo if not event else 0)
            signo, event = tracee.wait()
            registers = tracee.registers
            if signo == 5 and not event and registers[tracer.RIP] == linker.notify + 1:
                break
        tracer.write(pid, linker.notify, first)
        registers[tracer.RIP] = linker.notify
        tracee.registers = registers
        if tracer.read(pid, linker.debug + _R_STATE, 4) == _CONSISTENT.to_bytes(4, "little"):
            return
        tracee.step()


def release(held: Held) -> None:
    """Let the program go on as if nothing had been. Raises GoneError."""
    tracee = tracer.Tracee(held.tid)
    tracee.stop()
    tracer.write(held.tid, held.place, held.code)
    registers = list(held.registers)
    registers[tracer.ORIG_RAX] = -1 & (1 << 64) - 1
    tracee.registers = registers
    tracee.let_go()


def end(held: Held, code: int) -> None:
    """Let the program exit with a code instead."""
    tracee = tracer.Tracee(held.tid)
    tracee.stop()
    registers = list(held.registers)
    registers[tracer.RIP] = held.place + _SYSCALL_AT
    registers[tracer.RAX], registers[tracer.RDI] = _EXIT_GROUP, code
    registers[tracer.ORIG_RAX] = -1 & (1 << 64) - 1
    tracee.registers = registers
    tracee.let_go()


def mark_threads(pid: int, own: set[int], offset: int) -> None:
    """Tell the thunks which threads are the agent's: all but the program's ``own``; ``offset`` from fs."""
    import os

    for name in os.listdir(f"/proc/{pid}/task"):
        if int(name) in own:
            continue
        try:
            tracee = tracer.Tracee(int(name))
            tracee.stop()
            base = tracee.registers[tracer.FS_BASE]
            if base:
                tracer.write(pid, base + offset, (8).to_bytes(8, "little"))
            tracee.let_go()
        except OSError:
            continue  # it ended
