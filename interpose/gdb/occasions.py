"""When the program stops for gdb by itself: errors (``--vgdb-error``) and ``--vgdb-stop-at``."""

from __future__ import annotations

from interpose.errors import Told, tell
from interpose.gdb.threads import Thread, slot_index
from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from interpose.errors import InternalError
    from interpose.supervisor.main import Supervisor


_ENDS = ("exit", "abexit")


def is_due(supervisor: Supervisor, event: str) -> bool:
    """Whether the program stops at one of the events of ``--vgdb-stop-at``."""
    core = supervisor.config.core
    if core.vgdb == "no":
        return False
    wanted = event in core.vgdb_stop_at or (event == "startup" and core.vgdb_error == 0)
    debugger = supervisor.debugger
    seen = event not in _ENDS or debugger.stops_at_end or debugger.listener is not None
    return wanted and seen and debugger.gdb_may_come


def forked(supervisor: Supervisor) -> None:
    """This is the supervisor of a forked child: its end is none unless children are followed, or gdb comes.

    A parent waits for its children, such as a shell for its subshells, of which the user does not know.
    """
    core = supervisor.config.core
    if not core.trace_children and not core.vgdb_stop_at.isdisjoint(_ENDS):
        supervisor.debugger.stops_at_end = False


def at_startup(supervisor: Supervisor) -> None:
    """The first instruction is next; nothing has run."""
    stops = is_due(supervisor, "startup")
    if stops:
        _tell(supervisor, "at startup")
    if supervisor.fifos is not None:
        supervisor.fifos.tell_how()
    if stops:
        supervisor.debugger.wait_for_gdb(None)


def after_error(supervisor: Supervisor, slot: Any, shown: int) -> None:
    """A tool has reported an error; the thread waits for us to go on.

    :param shown: errors that had been shown before.
    """
    core = supervisor.config.core
    now = supervisor.errors_shown()
    is_due = now > shown and 0 <= core.vgdb_error <= now and core.vgdb != "no" and not supervisor.finished
    if is_due and supervisor.debugger.gdb_may_come:
        _tell(supervisor, "on error")
        _tell_child(supervisor)
        supervisor.debugger.wait_for_gdb(slot_index(slot), after="Continuing ...")


def at_end(supervisor: Supervisor, slot: Any, index: int) -> bool:
    """The program is about to end; whether the request waits until gdb lets it go on."""
    if slot.kind == lib.IP_R_INTERNAL:
        if is_due(supervisor, "valgrindabexit"):
            supervisor.on_internal(slot)
        return _hold_for_fault(supervisor, slot, index, lambda: lib.ip_reply(index))
    if slot.a[7]:  # a vfork child, whose parent goes on
        return False
    status = 1 if slot.kind == lib.IP_R_FATAL else slot.a[0] & 0xFF
    return _hold(supervisor, slot, index, "exit") or (
        status != 0 and _hold(supervisor, slot, index, "abexit")
    )


def after_fault(supervisor: Supervisor, slot: Any, index: int, fault: InternalError) -> bool:
    """A request was not answered by a fault of ours; whether it waits until gdb has the run end."""
    if supervisor.finished or not is_due(supervisor, "valgrindabexit"):
        return False
    tell(fault)

    def end() -> None:
        supervisor.debugger.ended(fault.exit_code)
        raise Told

    return _hold_for_fault(supervisor, slot, index, end)


def _hold_for_fault(supervisor: Supervisor, slot: Any, index: int, then: Callable[[], None]) -> bool:
    """The engine is at its end: no thread goes on any further, until gdb has looked."""
    if not is_due(supervisor, "valgrindabexit"):
        return False
    _tell(supervisor, "at valgrind abnormal exit")
    supervisor.debugger.hold_request(Thread(supervisor.client, index, slot), then)
    supervisor.debugger.stop_soon()
    return True


def _hold(supervisor: Supervisor, slot: Any, index: int, event: str) -> bool:
    if not is_due(supervisor, event):
        return False
    if slot.kind == lib.IP_R_FATAL and not supervisor.debugger.told_death:
        from interpose.supervisor.fatal import report_signal

        report_signal(supervisor, slot)  # whoever comes knows why it ends
        supervisor.debugger.told_death = True
    _tell(supervisor, f"at {event}")
    _tell_child(supervisor)
    supervisor.debugger.hold_request(
        Thread(supervisor.client, index, slot), lambda: supervisor.answer_now(index)
    )
    return True


def _tell_child(supervisor: Supervisor) -> None:
    if supervisor.fifos is not None:
        supervisor.fifos.tell_child()


def _tell(supervisor: Supervisor, when: str) -> None:
    supervisor.log.plain(f"(action {when}) vgdb me ... ")
