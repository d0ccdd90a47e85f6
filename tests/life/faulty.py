"""interpose with a fault of its own: ``faulty.py FAULT=ARGUMENT… WORDS…``; faults are the functions below."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import resource
import sys

fault, _, argument = sys.argv.pop(1).partition("=")
libc = ctypes.CDLL(None, use_errno=True)

from interpose import cli, launch  # noqa: E402
from interpose.jit._native import lib  # noqa: E402
from interpose.supervisor.main import Supervisor  # noqa: E402

PROT_NONE = 0


def at_request(name: str, act: object) -> None:
    """Before the supervisor answers a request of a kind."""
    handler = getattr(Supervisor, f"on_{name}")

    def patched(self: Supervisor, slot: object) -> None:
        act(self)  # type: ignore[operator]
        handler(self, slot)

    setattr(Supervisor, f"on_{name}", patched)


def in_supervisor(act: object) -> None:
    """In the new process, once it has left the program's limits."""
    lift = launch._lift_limits

    def patched() -> None:
        lift()
        act()  # type: ignore[operator]

    launch._lift_limits = patched


def raises() -> None:
    def act(supervisor: Supervisor) -> None:
        raise KeyError("injected")

    at_request(argument, act)


def segv() -> None:
    at_request(argument, lambda supervisor: ctypes.string_at(16))


def aborts() -> None:
    at_request(argument, lambda supervisor: os.abort())


def translator() -> None:
    """The thread without Python faults: its view of the code cache is gone."""

    def act(supervisor: Supervisor) -> None:
        with open("/proc/self/maps") as maps:
            for line in maps:
                if "interpose-cache" in line:
                    lo, hi = (int(word, 16) for word in line.split()[0].split("-"))
                    assert libc.mprotect(ctypes.c_void_p(lo), ctypes.c_size_t(hi - lo), PROT_NONE) == 0

    at_request("loaded", act)


def endless() -> None:
    """A translation goes on for ever, and with it the translator's lock."""
    at_request(argument, lambda supervisor: lib.ip_service_lock())


def fork() -> None:
    """The supervisor's first fork for a request of a kind fails, as where processes are limited."""
    fork = os.fork

    def fails() -> int:
        os.fork = fork
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def act(supervisor: Supervisor) -> None:
        nonlocal once
        if once:
            os.fork = fails
        once = False

    once = True
    at_request(argument, act)


def runtime() -> None:
    """The client finds exits of a kind that does not exist."""

    def act(supervisor: Supervisor) -> None:
        meta = mmap.mmap(supervisor.session.memory.meta_fd, lib.IP_META_MAX)
        for index in range(1, 100_000):
            at = lib.IP_META_EXITS + 16 * index + 12
            if meta[at] == lib.IP_X_SYSCALL:
                meta[at] = 63

    at_request(argument, act)


def wild() -> None:
    """The runtime follows a wild pointer at an address, with 0x77 in RCX."""

    def act(supervisor: Supervisor) -> None:
        # mov $0x77, %ecx; xor %eax, %eax; mov 0x30(%rax), %rdx
        code = b"\xb9\x77\x00\x00\x00\x31\xc0\x48\x8b\x50\x30"
        os.pwrite(supervisor.client.memory_fd(), code, int(argument, 16))

    at_request("loaded", act)


def allocation() -> None:
    """LIBRARY,N,STICKY: Python's Nth allocation in the supervisor fails (and all after it); N = 0: count."""
    library, nth, sticky = argument.split(",")
    failing = ctypes.PyDLL(library)
    failing.install()
    if int(nth):
        in_supervisor(lambda: failing.arm(ctypes.c_long(int(nth)), int(sticky)))
        return
    huge = 1 << 40
    failing.count.restype = ctypes.c_long
    in_supervisor(lambda: failing.arm(ctypes.c_long(huge), 0))
    close = launch.Log.close

    def closing(self: launch.Log) -> None:
        os.write(2, b"allocations %d\n" % failing.count(ctypes.c_long(huge)))
        close(self)

    launch.Log.close = closing  # type: ignore[method-assign]


def address_space() -> None:
    """The supervisor may have so many bytes more than it has when it starts."""

    def act() -> None:
        with open("/proc/self/statm") as statm:
            now = int(statm.read().split()[0]) * resource.getpagesize()
        limit = now + int(argument)
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))

    in_supervisor(act)


globals()[fault]()
cli.entry()
