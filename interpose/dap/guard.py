"""What ends with the adapter, however that ends: process groups and a folder.

A process beside the adapter holds the other end of a pipe. When the adapter has gone, also by SIGKILL, the
pipe ends, and the process kills the groups that it was told of and removes the folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time

_REMOVE_SECONDS = 5


class Guard:
    """Made before the adapter has threads or other descriptors than its own.

    :param folder: removed at the end.
    """

    def __init__(self, folder: str) -> None:
        ours, self._fd = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                os.chdir("/")
                null = os.open(os.devnull, os.O_RDWR)
                for fd in range(3):
                    os.dup2(null, fd)
                os.dup2(ours, 3)
                os.closerange(4, 1 << 16)
                _watch(3, folder)
            finally:
                os._exit(0)
        os.close(ours)

    def add(self, group: int) -> None:
        """Kill this process group at the end."""
        os.write(self._fd, b"+%d\n" % group)

    def forget(self, group: int) -> None:
        """It has ended, its number may be another's."""
        with contextlib.suppress(OSError):
            os.write(self._fd, b"-%d\n" % group)

    def end(self) -> None:
        """End it now, and wait until all is gone."""
        os.close(self._fd)
        with contextlib.suppress(OSError):
            os.waitpid(self.pid, 0)


def _watch(fd: int, folder: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    with os.fdopen(fd) as lines:
        for line in lines:
            (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    # The supervisor still removes its own files from the folder.
    end = time.monotonic() + _REMOVE_SECONDS
    while os.path.exists(folder) and time.monotonic() < end:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.02)
