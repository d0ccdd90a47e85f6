"""The client as the supervisor sees it: its memory, its threads, its life."""

from __future__ import annotations

import _signal
import errno
import os
import stat
import time

from interpose import system
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import suppress
    from typing import Any
else:
    from interpose.plain import suppress


STOPPED_MS = 200  # until a process that does not end is looked at: it may be stopped
_RANGES = 512  # of memory, that are asked for at a time
_GAP = 1 << 16  # between two of them is read, too
END_MS = 5000  # how long one may take that ends itself


def _state(pid: int) -> bytes:
    """The letter of a process's state in ``/proc/PID/stat`` (proc(5)); none if it is gone."""
    try:
        return system.stat_fields(pid)[0]
    except OSError:
        return b""


def _has_ended(pid: int) -> bool:
    """Whether a process is gone or a zombie, on kernels without pidfds."""
    return _state(pid) in (b"", b"Z", b"X")


def _is_of_another_namespace() -> bool:
    """Whether the ``/proc`` that is mounted here has other numbers for processes than those we get."""
    try:
        return os.readlink("/proc/self") != str(os.getpid())
    except OSError:
        return False  # there is none, or it shows nothing of us


class Client:
    """A stopped or running client process.

    :ivar pid: the process.
    :ivar header: its channel, ``struct ip_chan *``.
    :ivar denied: its memory is not for us to read.
    :ivar hidden: for want of a ``/proc`` that shows it.
    """

    def __init__(self, pid: int, header: Any) -> None:
        self.pid = pid
        self.header = header
        self.denied = self.hidden = False
        self._mem = -1
        self._pidfd = -1
        self._polled = False

    def attach(self) -> None:
        """Open what lasts as long as the process."""
        self.detach()
        self.denied = False
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return  # gone already
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EPERM):  # as filters of containers say it
                raise
            self._polled = True  # before Linux 5.3
        lib.ip_service_process(self._pidfd)
        self._open_memory()

    def _open_memory(self) -> None:
        """Early: access is checked here only, and a program may give up what permits it (prctl(2))."""
        if _is_of_another_namespace():  # there, the number is some other process's
            self.denied = self.hidden = True
            return
        path = f"/proc/{self.pid}/mem"
        try:
            try:
                self._mem = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            except OSError:  # kernels may keep writing to tracers
                self._mem = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            self.denied = isinstance(error, PermissionError)
        else:
            lib.ip_service_memory(self._mem)

    def detach(self) -> None:
        """Let go of the process."""
        if self._mem >= 0:
            lib.ip_service_memory(0)
        lib.ip_service_process(-1)
        for fd in (self._mem, self._pidfd):
            if fd >= 0:
                os.close(fd)
        self._mem = self._pidfd = -1
        self._polled = False

    def is_dead(self, wait_ms: int = 0) -> bool:
        """Whether the process is gone; waits for that up to ``wait_ms`` milliseconds."""
        if self._polled:
            end = time.monotonic() + wait_ms / 1000
            while not (dead := _has_ended(self.pid)) and time.monotonic() < end:
                time.sleep(0.001)
            return dead
        return self._pidfd < 0 or bool(system.poll(self._pidfd, wait_ms))

    def is_ending(self) -> bool:
        """Whether the process, whose files are closed, is gone or going; else it executes another program.

        No time tells: between its last file and its death may be any.  The kernel's flag does, which
        a task has before it gives anything back.
        """
        try:
            is_exiting = system.is_exiting(self.pid)
        except OSError:
            return self.is_dead(200)  # gone, or hidden from us (hidepid in proc(5))
        return is_exiting or self.is_dead()

    def end(self, sock_fd: int) -> None:
        """Have the process end with status 0, wherever it is; kill it if it does not.

        It ends as it would without a supervisor (``rt_end_alone``), so nothing can hold that off: the end of
        what comes over the socket makes the kernel send its signal, and lasts while that is switched off.
        """
        from socket import SHUT_WR, socket

        self.header.dead = lib.IP_DEAD_ASKED
        with suppress(OSError), socket(fileno=os.dup(sock_fd)) as connection:
            connection.shutdown(SHUT_WR)
        with suppress(ProcessLookupError):
            if not self.is_dead(STOPPED_MS) and _state(self.pid) == b"T":
                os.kill(self.pid, _signal.SIGCONT)
            if not self.is_dead(END_MS):
                os.kill(self.pid, _signal.SIGKILL)

    def memory_fd(self) -> int:
        """The client's memory as a file; -1 if it is gone.  :meth:`detach` closes it."""
        if self._mem < 0:
            self._open_memory()
        return self._mem

    def read(self, addr: int, size: int) -> bytes | None:
        """Bytes at [addr, addr + size), or None if some of them are not readable."""
        if size <= 0:
            return b""
        try:
            data = os.pread(self.memory_fd(), size, addr)
        except (OSError, OverflowError):
            return None
        return data if len(data) == size else None

    def write(self, addr: int, data: bytes) -> bool:
        """Write bytes, whatever the mapping's rights are; false if not all of them could be."""
        try:
            return os.pwrite(self.memory_fd(), data, addr) == len(data)
        except (OSError, OverflowError):
            return False

    def open_pagemap(self) -> int:
        """A descriptor of the client's ``pagemap``, -1 if that is hidden from us by now."""
        try:
            return os.open(f"/proc/{self.pid}/pagemap", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return -1

    def touched(self, lo: int, hi: int) -> list[tuple[int, int]]:
        """The parts of [lo, hi), private memory without a file, that may hold anything but zeros."""
        pagemap = self.open_pagemap()
        if pagemap < 0:
            return [(lo, hi)]
        found = []
        ranges = ffi.new("struct ip_range[]", _RANGES)
        try:
            count = _RANGES
            while count == _RANGES:
                count = lib.ip_touched(pagemap, lo, hi, _GAP, ranges, _RANGES)
                found += [(ranges[at].start, ranges[at].end) for at in range(count)]
                lo = found[-1][1] if found else hi
        finally:
            os.close(pagemap)
        return found

    def read_struct(self, type_name: str, addr: int) -> Any | None:
        """A copy of a C structure (``"struct tstate"``) at an address."""
        size = ffi.sizeof(type_name)
        data = self.read(addr, size)
        if data is None:
            return None
        value = ffi.new(f"{type_name} *")
        ffi.memmove(value, data, size)
        return value

    def read_string(self, addr: int, limit: int = 65536, *, exact: bool = False) -> bytes | None:
        """A NUL-terminated string, without its NUL; None if it cannot be read.

        :param limit: so many bytes are searched for the NUL, and the rest of their last page.
        :param exact: no byte beyond is read, and what runs into memory that cannot be read is a string as far
            as it goes.
        """
        parts: list[bytes] = []
        end = addr + limit
        while addr < end:
            stop = addr - addr % 4096 + 4096
            if exact:
                stop = min(stop, end)
            data = self.read(addr, stop - addr)
            if data is None:
                return b"".join(parts) if exact and parts else None
            text, nul, _ = data.partition(b"\0")
            parts.append(text)
            if nul:
                break
            addr = stop
        return b"".join(parts)

    def descriptor(self, number: int) -> int:
        """The file behind a descriptor of the client's, at a descriptor of ours; -1 if it cannot be had."""
        own = int(lib.ip_descriptor_of(self._pidfd, number)) if self._pidfd >= 0 else -errno.ENOSYS
        if own != -errno.ENOSYS:
            return own if own >= 0 else -1
        # Before Linux 5.6.  What can be sought in would be read from its beginning each time.
        try:
            own = os.open(f"/proc/{self.pid}/fd/{number}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY)
        except OSError:
            return -1
        if stat.S_ISREG(os.fstat(own).st_mode):
            os.close(own)
            return -1
        return own

    def read_input(self, number: int) -> bytes:
        """The next byte that the program would read from a descriptor; empty if there will be none.

        Waits for it as long as the client lives.
        """
        fd = self.descriptor(number)
        if fd < 0:
            return b""
        try:
            while not self.is_dead():
                if system.poll(fd, 500):
                    with suppress(BlockingIOError):
                        return os.read(fd, 1)
        except OSError:  # a terminal that was hung up
            pass
        finally:
            os.close(fd)
        return b""

    @staticmethod
    def thread_of(slot: Any) -> int:
        """The thread that makes a request, as its process sees it: a child by vfork goes on as its maker."""
        return int(slot.vforked.thread or slot.tid_guest)

    def has_our_numbers(self) -> bool:
        """Whether processes have the numbers for it that they have for us: it is in our PID namespace."""
        try:
            with open(f"/proc/{self.pid}/status", encoding="ascii", errors="replace") as file:
                return any(len(line.split()) == 2 for line in file if line.startswith("NSpid:"))
        except OSError:
            return False

    def symbol(self, which: int) -> int:
        """An address that the runtime published (``lib.IP_SYM_*``)."""
        return self.header.rt_symbols[which]

    def has_begun(self) -> bool:
        """Whether a thread is in the program: before, there is none to stop, or it is nowhere."""
        found = ffi.new("uint32_t[1]")
        if not lib.ip_live_slots(found, 1):
            return False
        slot = lib.ip_service_slot(found[0])
        pc = self.read(slot.tstate + ffi.offsetof("struct tstate", "pc"), 8)
        return slot.tid > 0 and pc is not None and any(pc)

    def slots(self) -> list[Any]:
        """The channel slots of live threads."""
        found = ffi.new("uint32_t[]", lib.IP_SLOTS)
        count = lib.ip_live_slots(found, lib.IP_SLOTS)
        return [lib.ip_service_slot(found[at]) for at in range(count)]
