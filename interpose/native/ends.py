"""How processes have ended that are not our children, and the reports in JSON that say so (docs/json.md)."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import threading

from interpose import system
from interpose.native.attach import parent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.options.parse import Config
    from interpose.report.jsonlines import JsonReport
    from interpose.report.log import Log

# struct pidfd_info of <linux/pidfd.h>: the mask, other things, the status at the end of its first version.
_INFO = struct.Struct("<Q52xi")
_GET_INFO = 0xC0000000 | _INFO.size << 16 | 0xFF << 8 | 11
_WANTS_EXIT = 1 << 3


def status_of(pid: int, pidfd: int) -> int | None:
    """The wait status of a process that has ended; None if that is not known any more.

    Until its parent asks, a process that has ended says it in /proc. Afterwards Linux 6.15 tells it by the
    descriptor.
    """
    if (status := system.unreaped_status(pid)) is not None:
        return status
    with contextlib.suppress(OSError):
        info = bytearray(_INFO.pack(_WANTS_EXIT, 0))
        fcntl.ioctl(pidfd, _GET_INFO, info)
        mask, status = _INFO.unpack(info)
        if mask & _WANTS_EXIT:
            return int(status)
    return None


def command_of(pid: int) -> list[str]:
    """A process's arguments; none if it has ended."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    return []


class Reports:
    """The reports in JSON of the processes of one run."""

    def __init__(self, config: Config, log: Log, json: JsonReport | None) -> None:
        """``json`` is that of the first process, whose start is told by whoever started it."""
        self._config = config
        self._log = log
        self._first = json
        self._reports: dict[int, JsonReport] = {} if json is None else {json.pid: json}
        self._lock = threading.Lock()

    @property
    def wanted(self) -> bool:
        """Whether there are any."""
        return self._first is not None

    def attached(self, pid: int) -> None:
        """A process that ran has been entered."""
        with self._lock:
            if self._first is not None:
                self._first.start("attach", self._config, command_of(pid), parent_of(pid))

    def forked(self, pid: int, parent: int) -> None:
        """A process is a child of another one of ours."""
        with self._lock:
            if self._first is not None and pid not in self._reports:
                report = self._of_child(pid, silent=self._config.core.child_silent_after_fork)
                report.start("fork", self._config, command_of(pid), parent)

    def executed(self, pid: int, argv: Sequence[str] | None) -> None:
        """A process executes a program; ``argv`` is None if that is not followed."""
        with self._lock:
            if self._first is None:
                return
            report = self._reports.get(pid)
            if report is not None:
                report.end("exec", traced=argv is not None)
            if argv is not None:
                if report is None:  # a child of vfork
                    report = self._of_child(pid, silent=False)
                report.resume()
                report.start("exec", self._config, argv, parent_of(pid))
            elif report is not None:
                self._drop(pid)

    def exits(self, pid: int, code: int) -> None:
        """A process is about to end with a code."""
        self._end(pid, "exit", code=code)

    def left(self, pid: int) -> None:
        """A process goes on without us."""
        self._end(pid, "detach")

    def ended(self, pid: int, status: int | None) -> None:
        """A process has ended."""
        if status is None:
            self._end(pid, "killed")
        elif os.WIFSIGNALED(status):
            self._end(pid, "signal", signal=os.WTERMSIG(status))
        else:
            self._end(pid, "exit", code=os.WEXITSTATUS(status))

    def _end(self, pid: int, how: str, **content: int) -> None:
        with self._lock:
            if pid in self._reports:
                self._reports[pid].end(how, **content)
                self._drop(pid)

    def _of_child(self, pid: int, *, silent: bool) -> JsonReport:
        assert self._first is not None
        report = self._reports[pid] = self._first.of_child(pid)
        report.silent = silent
        return report

    def _drop(self, pid: int) -> None:
        """Nothing more is told of a process."""
        report = self._reports.pop(pid)
        for complaint in report.write_documents():
            self._log.plain(complaint)
        if report is not self._first:
            report.close()
