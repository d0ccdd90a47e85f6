"""A program held where its dynamic linker has linked everything, and no constructor has run but libc's.

The dynamic linker calls the function ``_dl_debug_state`` when it has linked, for debuggers (<link.h>,
``r_brk``). Next it initialises the C library, which learns the program's arguments and environment by it: a
dlopen() before would initialise it with none. After this the program is taken to a place where it sleeps, so
that no tracer holds it while Frida's injector has to trace it. Frida's own spawn() holds programs, too, but
they are its children then, while the user's program must keep the process that the user started, with its
parent, its exit status and its job.
"""

from __future__ import annotations

import os
import signal
import struct

from interpose.elf.image import Image
from interpose.native import tracer
from interpose.procmaps import region_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple

    from interpose.native.tracer import Tracee
else:
    from interpose.records import NamedTuple

_AT_BASE, _AT_ENTRY = 7, 9
_TRAP = b"\xcc"
# Sleep: poll(NULL, 0, two minutes) again and again until it says that nobody came, then exit with 1: whoever
# was to wake the program was killed.
_SLEEP = bytes.fromhex(
    "b807000000 31ff 31f6 bac0d40100 0f05 85c0 75ec"  # mov $7,%eax to syscall; test %eax,%eax; jne back
    "bf01000000 b8e7000000 0f05"  # mov $1,%edi; mov $SYS_exit_group,%eax; syscall
)
_SYSCALL_AT = 14
_SYSCALL = b"\x0f\x05"
_CLOSE, _EXIT_GROUP = 3, 231
_CONSISTENT = 0
_R_MAP, _R_STATE = 8, 24  # in struct r_debug
_DT_INIT, _DT_INIT_ARRAY, _DT_INIT_ARRAYSZ = 12, 25, 27


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
    region = region_at(pid, address)
    if region is None:
        raise NoLinkerError(f"nothing is mapped at {address:#x}")
    return region.link(pid)


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
    _run_until_initialised(tracee, linker)
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
    while True:
        _run_to(tracee, linker.notify)
        if tracer.read(pid, linker.debug + _R_STATE, 4) == _CONSISTENT.to_bytes(4, "little"):
            return
        tracee.step()


def _run_to(tracee: Tracee, address: int) -> None:
    """Until the thread is about to execute the instruction at an address."""
    first = tracer.read(tracee.tid, address, 1)
    tracer.write(tracee.tid, address, _TRAP)
    signo, event = 0, 0
    while True:
        tracee.go_on(signo if not event else 0)
        signo, event = tracee.wait()
        registers = tracee.registers
        if signo == signal.SIGTRAP and not event and registers[tracer.RIP] == address + 1:
            break
    tracer.write(tracee.tid, address, first)
    registers[tracer.RIP] = address
    tracee.registers = registers


def _run_until_initialised(tracee: Tracee, linker: Linker) -> None:
    """Until the last constructor of the C library has returned."""
    last = _last_constructor(tracee.tid, linker)
    if last:
        _run_to(tracee, last)
        stack = tracee.registers[tracer.RSP]
        _run_to(tracee, _word(tracee.tid, stack))


def _word(pid: int, address: int) -> int:
    return int.from_bytes(tracer.read(pid, address, 8), "little")


def _last_constructor(pid: int, linker: Linker) -> int:
    """That of the C library; 0 if it has none."""
    entry = _word(pid, linker.debug + _R_MAP)
    while entry:
        bias, name, dynamic, entry = struct.unpack("4Q", tracer.read(pid, entry, 32))
        text = tracer.read(pid, name, 4096 - name % 4096).partition(b"\0")[0]
        if os.path.basename(text) == b"libc.so.6":
            found = dict(_dynamic(pid, dynamic))
            count = found.get(_DT_INIT_ARRAYSZ, 0) // 8
            if count:
                return _word(pid, bias + found[_DT_INIT_ARRAY] + 8 * (count - 1))
            return bias + found[_DT_INIT] if _DT_INIT in found else 0
    return 0


def _dynamic(pid: int, address: int) -> Iterator[tuple[int, int]]:
    while True:
        tag, value = struct.unpack("2Q", tracer.read(pid, address, 16))
        if tag == 0:
            return
        yield tag, value
        address += 16


def close_descriptors(tracee: Tracee, descriptors: list[int]) -> None:
    """Close them in a program that is stopped at its first instruction."""
    registers = tracee.registers
    place = registers[tracer.RIP]
    code = tracer.read(tracee.tid, place, len(_SYSCALL))
    tracer.write(tracee.tid, place, _SYSCALL)
    # The exec that the thread is still in gives the first call its result in place of a number: none is done.
    for fd in (-1 & (1 << 64) - 1, *descriptors):
        call = list(registers)
        call[tracer.RAX], call[tracer.RDI], call[tracer.ORIG_RAX] = _CLOSE, fd, -1 & (1 << 64) - 1
        tracee.registers = call
        tracee.step()
    tracer.write(tracee.tid, place, code)
    tracee.registers = registers


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
