"""System calls that Python has in modules of its own (fcntl, mmap, resource, select, socket).

Each of these takes a fifth of a millisecond to load, and every run would. What fails raises OSError.
"""

from __future__ import annotations

import os

from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

UNLIMITED = 2**64 - 1
_PF_EXITING = 4  # linux/sched.h
_EXIT_CODE = 49  # of /proc/PID/stat behind the state (proc(5): field 52), as waitpid has it


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result


def duplicate(fd: int, lowest: int, *, inherited: bool = False) -> int:
    """Another descriptor of the same file, the first free one from ``lowest`` on."""
    return _checked(lib.ip_duplicate(fd, lowest, inherited))


def flags(fd: int) -> int:
    """How the file was opened: ``os.O_ACCMODE`` and others."""
    return _checked(lib.ip_descriptor_flags(fd))


def limit(which: int) -> tuple[int, int]:
    """Soft and hard limit (``lib.IP_LIMIT_*``)."""
    soft, hard = ffi.new("uint64_t *"), ffi.new("uint64_t *")
    _checked(lib.ip_get_limit(which, soft, hard))
    return soft[0], hard[0]


LOWEST_FD = 10
"""Our descriptors stay clear of those that programs and shells name."""

LEFT_FREE = 24
"""Descriptors below the limit for what must be opened: modules, debug files, what a forked process has."""


def is_to_spare(fd: int) -> bool:
    """Whether a descriptor may be kept for something that can do without.

    The kernel gives the lowest number, so each one tells how many are in use, by whomever.
    """
    return fd < limit(lib.IP_LIMIT_NOFILE)[0] - LEFT_FREE


def set_limit(which: int, limits: tuple[int, int]) -> None:
    """Set both."""
    _checked(lib.ip_set_limit(which, *limits))


def stat_fields(pid: int) -> list[bytes]:
    """``/proc/PID/stat`` from the letter of the state on (proc(5)), behind the name, which may hold anything.

    OSError if there is no such process.
    """
    with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
        return file.read().rpartition(b") ")[2].split()


def is_exiting(pid: int) -> bool:
    """Whether a process is ending, noted before it gives anything back. OSError if it is gone."""
    return bool(int(stat_fields(pid)[6]) & _PF_EXITING)


def unreaped_status(pid: int) -> int | None:
    """The wait status of a process that has ended and that nobody has waited for; None: it is no such one."""
    try:
        fields = stat_fields(pid)
    except OSError:
        return None
    if fields[:1] != [b"Z"] or len(fields) <= _EXIT_CODE:
        return None
    return int(fields[_EXIT_CODE])


def socket_pair() -> tuple[int, int]:
    """Two connected ends; what arrives at the first one shows who sent it (SCM_CREDENTIALS in unix(7))."""
    ends = ffi.new("int[2]")
    _checked(lib.ip_socket_pair(ends))
    return ends[0], ends[1]


def send_files(socket: int, data: bytes, files: Sequence[int] = ()) -> None:
    """Send all of the bytes, and with the first one descriptors (up to 8)."""
    _checked(lib.ip_send_files(socket, data, len(data), files, len(files)))


def listen(path: str) -> int:
    """A socket in the file system."""
    return _checked(lib.ip_listen(os.fsencode(path)))


def accept(fd: int) -> int:
    """Whoever has connected; BlockingIOError if nobody has."""
    return _checked(lib.ip_accept(fd))


def poll(fd: int, ms: int) -> int:
    """What can be done with a descriptor (``lib.IP_CAN_READ``, ``lib.IP_HUNG_UP``), within ``ms``."""
    return _checked(lib.ip_poll(fd, ms))


def is_hung_up(socket: int) -> bool:
    """Nobody has the other end; what was sent before may still be read."""
    return bool(poll(socket, 0) & lib.IP_HUNG_UP)
