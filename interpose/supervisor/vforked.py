"""What a child by vfork meets while it is on its parent's memory, of which one supervisor serves both.

Its errors are its own, as those of a forked child are: told with its number, in a log of its own where their
names differ, and counted beside those that its parent had met by then.  In JSON and XML, whose documents are
of one process each, they stay its parent's.
"""

from __future__ import annotations

from interpose.jit._native import lib
from interpose.report.log import Log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from interpose.supervisor.main import Supervisor

MOST = 64
"""Who executes something else says no word more, and is forgotten behind so many others."""
_ENDS = (lib.IP_R_EXIT, lib.IP_R_FATAL)
_TELLS = (lib.IP_R_ERROR, lib.IP_R_REQUEST, lib.IP_R_MESSAGE, lib.IP_R_ILLEGAL, lib.IP_R_FDS)


def answer(supervisor: Supervisor, slot: Any, handler: Callable[[Any], None]) -> None:
    """Do what a request asks for, of a child by vfork or of a process that has had one."""
    if supervisor.vforked is None:
        supervisor.vforked = Vforked(supervisor)
    supervisor.vforked.answer(slot, handler)


class _Process:
    """Of one process what another one must not alter, while it is not its turn."""

    def __init__(self, log: Log, found: Any, *, has_file: bool) -> None:
        self.log = log
        self.found = found
        self.has_file = has_file


class Vforked:
    """Whose turn it is: the process itself, number 0, or a child of it."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._now = 0
        self._waiting: dict[int, _Process] = {}
        self._has_file = False
        self._depth = 0

    def answer(self, slot: Any, handler: Callable[[Any], None]) -> None:
        """Do what a request asks for as the process that makes it.  One may come amid another one's."""
        number, before = int(slot.vforked.number), self._now
        if number and not self._is_known(number):
            if slot.kind in _TELLS and not self._supervisor.documents:
                self._begin(number, slot)
            else:  # what it has met is what its maker had
                number = int(slot.vforked.by) if self._is_known(slot.vforked.by) else 0
        self._turn_to(number)
        self._depth += 1
        try:
            handler(slot)
        finally:
            self._depth -= 1
            self._turn_to(before)
        if slot.kind in _ENDS and number == slot.vforked.number and number in self._waiting:
            self._forget(number)

    def has_file(self, slot: Any) -> bool:
        """Whether who makes a request has a log of its own by now."""
        return self._has_file and self._now == slot.vforked.number

    def pid(self) -> int:
        """Of the process that is told of now."""
        return self._supervisor.log.pid if self._now else self._supervisor.client.pid

    def _is_known(self, number: int) -> bool:
        return number == self._now or number in self._waiting

    def _begin(self, number: int, slot: Any) -> None:
        supervisor = self._supervisor
        self._turn_to(int(slot.vforked.by) if self._is_known(slot.vforked.by) else 0)
        maker = self.pid()
        if len(self._waiting) >= MOST and not self._depth:  # (whose request is amid must be there)
            self._forget(next(other for other in self._waiting if other))
        log, core = supervisor.log, supervisor.config.core
        pid = slot.tid if supervisor.client.has_our_numbers() else log.pid
        if supervisor.descriptors is not None:
            supervisor.core_errors()  # they are its, from now on
        child = log.of_child(pid, is_shared=False, silent=core.child_silent_after_fork)
        self._waiting[number] = _Process(child, supervisor.tool.branch(), has_file=log.has_file_for_each())
        if log.has_file_for_each() and child.fd is not None:
            self._turn_to(number)
            parent, supervisor.session.parent_pid = supervisor.session.parent_pid, maker
            supervisor.tool.started()
            supervisor.session.parent_pid = parent

    def _forget(self, number: int) -> None:
        self._waiting.pop(number).log.close()

    def _turn_to(self, number: int) -> None:
        if number == self._now:
            return
        supervisor, process = self._supervisor, self._waiting.pop(number)
        supervisor.log.exchange(process.log)
        process.found = supervisor.tool.exchange(process.found)
        process.has_file, self._has_file = self._has_file, process.has_file
        self._waiting[self._now] = process
        self._now = number
