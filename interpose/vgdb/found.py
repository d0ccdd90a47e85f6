"""The programs that can be reached: whoever has the FIFOs of a prefix, in its folder."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from dataclasses import dataclass

from .voice import VgdbError, Voice

_REQUESTS, _REPLIES, _SHARED = "-from-vgdb-to-", "-to-vgdb-from-", "-shared-mem-vgdb-"
_LOOK_AGAIN = 0.05  # seconds between two searches
_CLOCKS_APART = 0.1  # seconds: the kernel's ticks, and the clock of a file's times


@dataclass(frozen=True)
class Place:
    """Where one program is reached."""

    pid: int
    requests: str
    replies: str
    shared: str

    @property
    def command(self) -> str:
        """The program's command line, each word with a blank behind it."""
        try:
            with open(f"/proc/{self.pid}/cmdline", "rb") as file:
                return file.read().replace(b"\0", b" ").decode("utf-8", "surrogateescape")
        except OSError:
            return ""


def default_prefix() -> str:
    """``$TMPDIR/vgdb-pipe``, or ``/tmp/vgdb-pipe``."""
    return f"{os.environ.get('TMPDIR') or '/tmp'}/vgdb-pipe"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _stat(pid: int) -> list[bytes]:
    """What the kernel says of a process or thread behind its name; empty if nothing."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def _has_ended(pid: int) -> bool:
    """Whether nobody has waited yet for a process that has no thread left: it will never be reached."""
    said = _stat(pid)
    return len(said) > 17 and said[0] == b"Z" and said[17] in (b"0", b"1")


def _started(pid: int) -> float | None:
    """When a process or thread began, as files' times have it (seconds); None if the kernel does not say."""
    try:
        ticks = int(_stat(pid)[19])
    except (ValueError, IndexError):
        return None
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - age


def _is_listened_to(path: str) -> bool:
    """Whether somebody has a FIFO open to read, whoever it is."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        return error.errno != errno.ENXIO
    os.close(fd)
    return True


def _is_left(place: Place) -> bool:
    """Whether these files are of a process that was killed, and whose number nobody has, or another one.

    Who may be there is not called: under Valgrind the end of a call is that of a conversation.
    """
    if _is_alive(place.pid):
        started = _started(place.pid)
        try:
            if started is None or started < os.lstat(place.requests).st_mtime + _CLOCKS_APART:
                return False
        except OSError:
            return False
    return not _is_listened_to(place.requests)  # by a process of another PID namespace, perhaps


def _may_be_trusted(path: str) -> bool:
    """Anybody may make files in ``/tmp``: only FIFOs of ours are what they seem."""
    try:
        info = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISFIFO(info.st_mode) and (info.st_uid == os.geteuid() or os.geteuid() == 0)


def _remove(place: Place) -> None:
    """What a process has left that was killed together with its supervisor."""
    for path in (place.requests, place.replies, place.shared):
        with contextlib.suppress(OSError):
            if os.lstat(path).st_uid == os.geteuid():
                os.unlink(path)


def _places(prefix: str) -> list[Place]:
    folder, start = os.path.split(prefix)
    folder = folder or "."
    try:
        names = os.listdir(folder)
    except OSError as error:
        raise VgdbError(
            f"syscall failed: {error.strerror}\nvgdb error: opening directory {folder}/ searching vgdb fifo"
        ) from None
    found = []
    for name in names:
        if not name.startswith(start + _REQUESTS):
            continue
        end = name[len(start + _REQUESTS) :]
        number = end.partition("-")[0]
        if not (number.isascii() and number.isdigit()) or len(number) > 10:
            continue
        paths = (os.path.join(folder, f"{start}{kind}{end}") for kind in (_REQUESTS, _REPLIES, _SHARED))
        found.append(Place(int(number), *paths))
    return sorted(found, key=lambda place: place.pid)


def places(prefix: str) -> list[Place]:
    """Every program that can be reached; what dead ones have left is taken away."""
    found = []
    for place in _places(prefix):
        if not _may_be_trusted(place.requests):
            continue
        if _is_left(place):
            _remove(place)
        elif _is_alive(place.pid):
            found.append(place)
    return found


def listing(found: list[Place]) -> str:
    """``use --pid=N for COMMAND``, a line for each."""
    return "\n".join(f"use --pid={place.pid} for {place.command}" for place in found)


def search(prefix: str, pid: int | None, wait: int, voice: Voice) -> Place:
    """The one program that is meant; waits for it ``wait`` seconds, unless it has ended."""
    if pid == 0:
        raise VgdbError("vgdb error: invalid pid 0 given")
    end = time.monotonic() + wait
    voice.debug(f"searching pid in directory {os.path.dirname(prefix)}/ format {prefix}{_REQUESTS}")
    while True:
        found = [place for place in places(prefix) if pid in (None, place.pid)]
        if len(found) == 1:
            return found[0]
        if found:
            raise VgdbError(f"no --pid= arg_pid given and multiple valgrind pids found.\n{listing(found)}")
        if time.monotonic() >= end or (pid is not None and _has_ended(pid)):
            break
        time.sleep(_LOOK_AGAIN)
    if pid is None:
        raise VgdbError("vgdb error: no FIFO found and no pid given")
    raise VgdbError(f"vgdb error: no FIFO found matching pid {pid}")
