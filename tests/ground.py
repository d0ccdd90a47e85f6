"""The ground that tests stand on: what a process inherits is made the usual before the first test.

Programs inherit ignored and blocked signals, limits, descriptors, the umask and the environment, natively
and under interpose.  Under ``nohup``, in the background of a script or in a container, tests of just these
would fail.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from pathlib import Path

MIB = 1 << 20
UNLIMITED = resource.RLIM_INFINITY
LIMITS = {"STACK": 8 * MIB, "NOFILE": 1024, "CORE": 0}
"""Soft limits as they are in a shell; of the others the tests want all they can get."""
AT_LEAST = {
    "STACK": 8 * MIB,
    "NOFILE": 256,
    "AS": UNLIMITED,
    "DATA": UNLIMITED,
    "FSIZE": UNLIMITED,
    "CPU": UNLIMITED,
}
"""Hard limits without which tests fail for no fault of ours."""
FOREIGN = (
    "VALGRIND_",
    "INTERPOSE_OPTS",
    "INTERPOSE_DEBUG",
    "LD_",
    "MALLOC_",
    "GLIBC_TUNABLES",
    "PYTHONMALLOC",
)
"""Beginnings of variables that change what programs do or what interpose prints."""
RC_FILES = (".valgrindrc", ".interposerc")


def straighten() -> list[str]:
    """Make it so.  What could not be made so, in words."""
    _signals()
    _descriptors()
    os.umask(0o022)
    ctypes.CDLL(None).personality(0)  # setarch
    _environment()
    return _limits()


def _signals() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number in signal.valid_signals():
        # SIGPIPE and SIGXFSZ are ignored by Python, whose children have the default.
        if signal.getsignal(number) != signal.SIG_IGN or number in (signal.SIGPIPE, signal.SIGXFSZ):
            continue
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _descriptors() -> None:
    """0 to 2 are open, and 0 can be read, and nobody waits at it."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free: this one
            os.set_inheritable(fd, True)
    if not os.isatty(0):
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)


def _limits() -> list[str]:
    missing = []
    for name in sorted(entry[len("RLIMIT_") :] for entry in dir(resource) if entry.startswith("RLIMIT_")):
        number = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(number)[1]
        least = AT_LEAST.get(name, 0)
        if hard != UNLIMITED and (least == UNLIMITED or hard < least):
            try:
                resource.setrlimit(number, (hard, least))
                hard = least
            except (OSError, ValueError):
                missing.append(f"RLIMIT_{name} is {hard} at most")
        soft = LIMITS.get(name, hard)
        if hard != UNLIMITED and (soft == UNLIMITED or soft > hard):
            soft = hard
        resource.setrlimit(number, (soft, hard))
    return missing


def _environment() -> None:
    for name in [name for name in os.environ if name.startswith(FOREIGN)]:
        del os.environ[name]
    os.environ["LC_ALL"] = "C.UTF-8"  # words of gcc, gdb and the C library
    home = Path(os.environ.get("HOME", "/nonexistent"))
    if any((home / name).exists() for name in RC_FILES):
        os.environ["HOME"] = "/nonexistent"
