"""A process that tidies up behind the supervisor, whatever that dies of.

Frida starts a helper, from a file that it writes, and leaves both behind: here they are in a folder of the
run's own. And a program that was being prepared waits for a supervisor that is no more.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import stat
import tempfile
import time

from interpose import system
from interpose.errors import InterposeError, LaunchError, tell
from interpose.launch import leave_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_PREFIX = "interpose-native-"
_FRESH = 60.0  # seconds within which a folder may not be locked yet
_TRIES, _MOMENT = 100, 0.05
_GONE = "the supervisor is gone (killed?); the program cannot go on"


class Cleaner:
    """What the supervisor has of it.

    :ivar fd: the descriptor by which the process hears of us; no other process may have it.
    """

    def __init__(self) -> None:
        """Start it; before there is another thread. Raises LaunchError."""
        try:
            folder = tempfile.mkdtemp(prefix=_PREFIX)
        except OSError as error:
            raise LaunchError(f"no folder for Frida's helper can be made: {error.strerror}") from None
        read, self.fd = os.pipe2(os.O_CLOEXEC)
        if os.fork() == 0:
            os.close(self.fd)
            _run(read, folder)
        os.close(read)
        os.environ["TMPDIR"] = folder  # Frida's helpers go there

    def hold(self, pid: int) -> None:
        """A process cannot go on without us until it is released."""
        self._say("+", pid)

    def let_go(self, pid: int) -> None:
        """It is about to run: it may end before it is released."""
        self._say("~", pid)

    def release(self, pid: int) -> None:
        self._say("-", pid)

    def _say(self, what: str, pid: int) -> None:
        with contextlib.suppress(OSError):  # it was killed
            os.write(self.fd, f"{what}{pid}\n".encode())


def _run(fd: int, folder: str) -> NoReturn:
    try:
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        leave_files({fd})
        own = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(own, fcntl.LOCK_EX)  # as long as this process lives
        _sweep(os.path.dirname(folder))
        for pidfd, may_run in _listen(fd).values():
            if not (_ended_before_killed(pidfd) and may_run):
                tell(InterposeError(_GONE))  # also of one that died amid what Frida had written of its code
        _remove(folder)
    finally:
        os._exit(0)


def _ended_before_killed(pidfd: int) -> bool:
    if system.poll(pidfd, 0):
        return True
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except OSError:
        return True
    return False


def _listen(fd: int) -> dict[int, tuple[int, bool]]:
    """Until the supervisor ends: of the processes that are held then, pidfd and whether they may run.

    One that may has run and ended, perhaps, before the supervisor came to release it.
    """
    held: dict[int, tuple[int, bool]] = {}
    with open(fd, "rb", buffering=0) as stream:
        rest = b""
        while data := stream.read(4096):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                what, pid = line[:1], int(line[1:])
                with contextlib.suppress(OSError):
                    if what == b"+":
                        held[pid] = os.pidfd_open(pid), False
                    elif pid in held and what == b"~":
                        held[pid] = held[pid][0], True
                    elif pid in held:
                        os.close(held.pop(pid)[0])
    return held


def _sweep(place: str) -> None:
    """Remove what runs have left that were killed with their cleaners: folders that nobody has locked."""
    for name in os.listdir(place):
        folder = os.path.join(place, name)
        with contextlib.suppress(OSError):
            status = os.lstat(folder)
            is_ours = (
                name.startswith(_PREFIX) and stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
            )
            if not is_ours or time.time() - status.st_mtime < _FRESH:
                continue
            fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _end_helpers(folder)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(fd)


def _remove(folder: str) -> None:
    """A helper that has just been started may make its own folder again."""
    for _ in range(_TRIES):
        _end_helpers(folder)
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(_MOMENT)
        if not os.path.exists(folder):
            return


def _end_helpers(folder: str) -> None:
    """Those that run a file of a folder."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{name}/exe").startswith(f"{folder}/"):
                os.kill(int(name), signal.SIGKILL)
