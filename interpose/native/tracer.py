"""A thread of another process, held by ptrace(2): its registers and memory.

All calls on one thread must come from the same thread of ours.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct

_SEIZE, _INTERRUPT, _CONT, _STEP, _DETACH = 0x4206, 0x4207, 7, 9, 17
_GETREGS, _SETREGS, _SETSIGMASK = 12, 13, 0x420B
_O_TRACEEXEC, _O_EXITKILL = 0x10, 0x100000
EVENT_EXEC, EVENT_STOP = 4, 128
_WALL = 0x40000000
_REGISTERS = struct.Struct("27Q")
# Places in struct user_regs_struct.
RAX, RDI, ORIG_RAX, RIP, RSP, FS_BASE = 10, 14, 15, 16, 19, 21

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


class GoneError(OSError):
    """The thread ended; ``status`` is what waitpid said, if it did."""

    status: int | None = None


def _ptrace(request: int, tid: int, address: int = 0, data: int | ctypes.Array[ctypes.c_char] = 0) -> None:
    ctypes.set_errno(0)
    value = ctypes.c_void_p(data) if isinstance(data, int) else ctypes.cast(data, ctypes.c_void_p)
    if _libc.ptrace(request, tid, ctypes.c_void_p(address), value) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


class Tracee:
    """One thread that this thread of ours traces."""

    def __init__(self, tid: int, *, tells_exec: bool = False, dies_with_us: bool = False) -> None:
        """Seize a thread, which goes on running. Raises OSError."""
        self.tid = tid
        options = (_O_TRACEEXEC if tells_exec else 0) | (_O_EXITKILL if dies_with_us else 0)
        _ptrace(_SEIZE, tid, 0, options)

    def stop(self) -> None:
        """Make it stop, and wait until it has; signals on the way are delivered. Raises GoneError."""
        _ptrace(_INTERRUPT, self.tid)
        while True:
            signo, event = self.wait()
            if event == EVENT_STOP:
                return
            self.go_on(signo if not event else 0)

    def wait(self) -> tuple[int, int]:
        """Its next stop: the signal and the ptrace event. Raises GoneError."""
        _, status = os.waitpid(self.tid, _WALL)
        if not os.WIFSTOPPED(status):
            error = GoneError(3, "it ended")
            error.status = status
            raise error
        return os.WSTOPSIG(status), status >> 16

    def go_on(self, signo: int = 0) -> None:
        _ptrace(_CONT, self.tid, 0, signo)

    def step(self) -> None:
        """One instruction."""
        _ptrace(_STEP, self.tid)
        signo, event = self.wait()
        while signo != signal.SIGTRAP or event:
            _ptrace(_STEP, self.tid, 0, signo if not event else 0)
            signo, event = self.wait()

    def let_go(self) -> None:
        """Trace it no more."""
        _ptrace(_DETACH, self.tid)

    def block_signals(self) -> None:
        """All that can be blocked."""
        _ptrace(_SETSIGMASK, self.tid, 8, ctypes.create_string_buffer(b"\xff" * 8, 8))

    @property
    def registers(self) -> list[int]:
        buffer = ctypes.create_string_buffer(_REGISTERS.size)
        _ptrace(_GETREGS, self.tid, 0, buffer)
        return list(_REGISTERS.unpack(buffer.raw))

    @registers.setter
    def registers(self, values: list[int]) -> None:
        _ptrace(_SETREGS, self.tid, 0, ctypes.create_string_buffer(_REGISTERS.pack(*values), _REGISTERS.size))


def look(tid: int) -> tuple[int, int] | None:
    """The signal and the event of a thread's stop, if it has stopped; None also if it is not traced.

    Raises GoneError.
    """
    try:
        found, status = os.waitpid(tid, _WALL | os.WNOHANG)
    except ChildProcessError:
        return None
    if not found:
        return None
    if not os.WIFSTOPPED(status):
        error = GoneError(3, "it ended")
        error.status = status
        raise error
    return os.WSTOPSIG(status), status >> 16


def read(pid: int, address: int, size: int) -> bytes:
    """Memory of a process; fewer bytes where it ends. Raises OSError."""
    fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(fd, size, address)
    finally:
        os.close(fd)


def write(pid: int, address: int, data: bytes) -> None:
    """Write memory of a process, also where that may not write itself. Raises OSError."""
    fd = os.open(f"/proc/{pid}/mem", os.O_RDWR | os.O_CLOEXEC)
    try:
        os.pwrite(fd, data, address)
    finally:
        os.close(fd)


def tracer_of(pid: int) -> int:
    """The process that traces this one, 0: none. Raises OSError."""
    with open(f"/proc/{pid}/status") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("TracerPid:")), 0)


def auxiliary(pid: int) -> dict[int, int]:
    """The auxiliary vector of a process."""
    with open(f"/proc/{pid}/auxv", "rb") as file:
        words = struct.iter_unpack("QQ", file.read())
        return dict(words)
