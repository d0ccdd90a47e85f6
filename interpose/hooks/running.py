"""Code of the user's that runs in a process of ours, which is not to end without a word.

A fault in it is told as its own (``ip_catch_faults``). ``os._exit`` acts as ``sys.exit`` there, whose
exception is one of the hook's like any other.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
from typing import TYPE_CHECKING

from interpose import system
from interpose.jit._native import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

_end = os._exit
_pid = 0
"""The process in which code of the user's runs now, or 0; not that of a child which it forks."""


def _exit(status: int) -> NoReturn:
    if os.getpid() == _pid:
        raise SystemExit(status)
    _end(status)


def guard() -> None:
    """Before code of the user's is there, which may keep ``os._exit`` under a name of its own."""
    os._exit = _exit


def begin(what: bytes, pid: int) -> None:
    """From now on, in this process (``pid``), runs what a message would call ``what``."""
    global _pid
    _pid = pid
    lib.ip_running(what)


def end() -> None:
    """No longer."""
    global _pid
    _pid = 0
    lib.ip_running(ffi.NULL)


@contextlib.contextmanager
def as_long_as(fd: int) -> Iterator[None]:
    """Whoever waits at the other end of a socket or pipe may be killed: then this process ends as well.

    The user's code may take as long as it likes, and looks after nobody.
    """
    blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGIO})
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(fd, fcntl.F_SETFL, flags | os.O_ASYNC)
    if system.poll(fd, 0):
        _end(1)  # it was killed before
    try:
        yield
    finally:
        fcntl.fcntl(fd, fcntl.F_SETFL, flags)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
