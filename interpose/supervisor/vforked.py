"""What a child by vfork meets while it is on its parent's memory, of which one supervisor serves both.

Its errors are its own, as those of a forked child are: told with its number, in a log of its own where their
names differ, and counted beside those that its parent had met by then.  In JSON and XML, whose documents are
of one process each, they stay its parent's.
"""

from __future__ import annotations

from contextlib import suppress

from interpose.jit._native import lib
from interpose.report.log import Log
from interpose.system import stat_fields

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


class Vforked:
    """Whose turn it is: the process itself, number 0, or a child of it."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._now = 0
        self._waiting: dict[int, tuple[Log, Any]] = {}
        """Of the others, what another one must not alter: log, and what has been found."""
        self._depth = 0

    def answer(self, slot: Any, handler: Callable[[Any], None]) -> None:
        """Do what a request asks for as the process that makes it.  One may come amid another one's."""
        number, before = int(slot.vforked.number), self._now
        if number and not self._is_known(number):
            if slot.kind in _TELLS and not self._supervisor.documents:
                self._begin(number, slot)
            else:  # what it has met is what its maker had
                number = self._maker_of(slot)
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
        """Whether a child that makes a request has a log of its own by now."""
        return self._now == slot.vforked.number and self._supervisor.log.has_file_for_each()

    def pid(self) -> int:
        """Of the process that is told of now."""
        return self._supervisor.log.pid if self._now else self._supervisor.client.pid

    def _is_known(self, number: int) -> bool:
        return number == self._now or number in self._waiting

    def _maker_of(self, slot: Any) -> int:
        return int(slot.vforked.by) if self._is_known(slot.vforked.by) else 0

    def _begin(self, number: int, slot: Any) -> None:
        supervisor = self._supervisor
        self._turn_to(self._maker_of(slot))
        if len(self._waiting) >= MOST and not self._depth:  # (whose request is amid must be there)
            self._forget(next(other for other in self._waiting if other))
        log, core = supervisor.log, supervisor.config.core
        pid, maker = log.pid, self.pid()
        if supervisor.client.has_our_numbers():
            pid = slot.tid
            with suppress(OSError):  # who has made it may be one that is not known
                maker = int(stat_fields(pid)[1])
        if supervisor.descriptors is not None:
            supervisor.core_errors()  # they are its, from now on
        slot.vforked.known = 1
        child = log.of_child(pid, is_shared=False, silent=core.child_silent_after_fork)
        self._waiting[number] = child, supervisor.tool.branch()
        if log.has_file_for_each() and child.fd is not None:
            self._turn_to(number)
            parent, supervisor.session.parent_pid = supervisor.session.parent_pid, maker
            supervisor.tool.started()
            supervisor.session.parent_pid = parent

    def _forget(self, number: int) -> None:
        self._waiting.pop(number)[0].close()

    def _turn_to(self, number: int) -> None:
        if number == self._now:
            return
        log, found = self._waiting.pop(number)
        self._supervisor.log.exchange(log)
        self._waiting[self._now] = log, self._supervisor.tool.exchange(found)
        self._now = number
