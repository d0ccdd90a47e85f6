"""Room for the agent under a process's own limits (getrlimit(2)), while it enters and opens what it needs."""

from __future__ import annotations

import contextlib
import os
import resource

from interpose.errors import LaunchError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_DESCRIPTORS = 1024
_FEWEST_DESCRIPTORS = 48  # what the agent opens at most, with some for the program
_MEMORY = 4 << 30  # bytes: the agent, its threads' stacks and heaps
_LEAST_MEMORY = 600 << 20
_LEAST_OWN_MEMORY = 3 << 30  # Frida's helper is in the supervisor
_PROCESSES = 1 << 16
_UNLIMITED = resource.RLIM_INFINITY

Limits = tuple[int, int]


def lift_own() -> None:
    """Give this process, a supervisor, what it may have. Raises LaunchError if that is too little."""
    for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE):
        _raise(0, which, _UNLIMITED)
    _raise(0, resource.RLIMIT_NOFILE, _DESCRIPTORS)
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != _UNLIMITED and soft < _LEAST_OWN_MEMORY:
        raise LaunchError(
            f"the limit of address space ({soft >> 10} kB, ulimit -v) is too low for the native engine, "
            f"which needs {_LEAST_OWN_MEMORY >> 10} kB"
        )


def raise_descriptors() -> Limits:
    """Let this process have numbers beyond those that are kept for the program; the limits before."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    _raise(0, resource.RLIMIT_NOFILE, _DESCRIPTORS)
    return before


@contextlib.contextmanager
def roomy(pid: int, descriptors: Limits | None = None) -> Iterator[None]:
    """While this lasts, a process has room for the agent. Raises LaunchError if not, OSError if it ends.

    ``descriptors`` is the limit of them that it shall have afterwards, if not the present one.
    """
    before = {
        which: resource.prlimit(pid, which)
        for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_NPROC)
    }
    if descriptors is not None:
        before[resource.RLIMIT_NOFILE] = descriptors
    used, size = len(os.listdir(f"/proc/{pid}/fd")), _size_of(pid)
    try:
        _make_room(
            pid, resource.RLIMIT_NOFILE, used + _DESCRIPTORS, used + _FEWEST_DESCRIPTORS, "descriptors"
        )
        for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            _make_room(pid, which, size + _MEMORY, size + _LEAST_MEMORY, "memory")
        _raise(pid, resource.RLIMIT_NPROC, _PROCESSES)
        yield
    finally:
        for which, limits in before.items():
            with contextlib.suppress(OSError, ValueError):
                if resource.prlimit(pid, which) != limits:
                    resource.prlimit(pid, which, limits)


def _make_room(pid: int, which: int, wanted: int, needed: int, what: str) -> None:
    soft = _raise(pid, which, wanted)
    if soft != _UNLIMITED and soft < needed:
        raise LaunchError(
            f"process {pid}: its limit of {what} ({soft}) is too low for the native engine, "
            f"which needs {needed} there"
        )


def _raise(pid: int, which: int, wanted: int) -> int:
    """Raise a soft limit, over the hard one where that is allowed; what it is then."""
    soft, hard = resource.prlimit(pid, which)
    if soft == _UNLIMITED or (wanted != _UNLIMITED and soft >= wanted):
        return soft
    within = wanted if hard == _UNLIMITED else hard if wanted == _UNLIMITED else min(wanted, hard)
    over = hard if hard == _UNLIMITED or (wanted != _UNLIMITED and wanted < hard) else wanted
    for limits in ((wanted, over), (within, hard)):
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(pid, which, limits)
            return limits[0]
    return soft


def _size_of(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")
