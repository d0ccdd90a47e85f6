"""Packets about a thread's registers: ``g G p P``."""

from __future__ import annotations

from interpose.gdb.packets import OK, Refused
from interpose.gdb.target import ORIGINS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.gdb.server import Server
    from interpose.gdb.target import Register, Target
    from interpose.gdb.threads import Thread


def shown(target: Target, thread: Thread) -> bytes:
    """All registers of a thread, as ``g`` has them."""
    parts = []
    for register in target.registers:
        value = _read(target, thread, register)
        parts.append(b"xx" * register.size if value is None else value.hex().encode())
    return b"".join(parts)


def _read(target: Target, thread: Thread, register: Register) -> bytes | None:
    value = thread.read(register)
    if register.shadow == ORIGINS and value is not None:
        target.origins_told.add(int.from_bytes(value, "little"))
    return value


def _write(target: Target, thread: Thread, register: Register, value: bytes) -> bool:
    """Of origins only those are taken that gdb has been told, and gives back after a call of its own."""
    known = register.shadow != ORIGINS or int.from_bytes(value, "little") in {0, *target.origins_told}
    return len(value) == register.size and known and thread.write(register, value)


def read_registers(server: Server, rest: bytes) -> bytes:
    """``g``."""
    return shown(server.target, server.current())


def write_registers(server: Server, rest: bytes) -> bytes:
    """``G``."""
    thread = server.current()
    data = bytes.fromhex(rest.decode("ascii").replace("x", "0"))
    at = 0
    if not thread.held:
        raise Refused(1)
    for register in server.target.registers:
        value = data[at : at + register.size]
        at += register.size
        if len(value) == register.size and thread.read(register) not in (value, None):
            _write(server.target, thread, register, value)
    return OK


def _register(server: Server, number: bytes) -> Register:
    at = int(number, 16)
    if not 0 <= at < len(server.target.registers):
        raise Refused(1)
    return server.target.registers[at]


def read_register(server: Server, rest: bytes) -> bytes:
    """``p``."""
    register = _register(server, rest)
    value = _read(server.target, server.current(), register)
    return b"xx" * register.size if value is None else value.hex().encode()


def write_register(server: Server, rest: bytes) -> bytes:
    """``P``."""
    number, _, digits = rest.partition(b"=")
    register = _register(server, number)
    value = bytes.fromhex(digits.decode("ascii"))
    if not _write(server.target, server.current(), register, value):
        raise Refused(1)
    return OK
