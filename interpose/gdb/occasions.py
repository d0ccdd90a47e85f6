"""When the program stops for gdb by itself: errors (``--vgdb-error``) and ``--vgdb-stop-at``."""

from __future__ import annotations

from interpose.gdb.threads import Thread
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from interpose.supervisor.main import Supervisor


def is_due(supervisor: Supervisor, event: str) -> bool:
    """Whether the program stops at one of the events of ``--vgdb-stop-at``."""
    core = supervisor.config.core
    if core.vgdb == "no":
        return False
    return event in core.vgdb_stop_at or (event == "startup" and core.vgdb_error == 0)


def at_startup(supervisor: Supervisor) -> None:
    """The first instruction is next; nothing has run."""
    if is_due(supervisor, "startup"):
        _tell(supervisor, "at startup")
        supervisor.debugger.wait_for_gdb(None)


def after_error(supervisor: Supervisor, slot: Any, shown: int) -> None:
    """A tool has reported an error; the thread waits for us to go on.

    :param shown: errors that had been shown before.
    """
    core = supervisor.config.core
    now = supervisor.tool.errors_shown()
    if now > shown and now >= core.vgdb_error and core.vgdb != "no" and not supervisor.finished:
        _tell(supervisor, "on error")
        supervisor.debugger.wait_for_gdb(_index(slot), after="Continuing ...")


def at_end(supervisor: Supervisor, slot: Any, index: int) -> bool:
    """The program is about to end; whether the request waits until gdb lets it go on."""
    if slot.kind == lib.IP_R_INTERNAL:
        return _hold(supervisor, slot, index, "valgrindabexit")
    if slot.a[7]:  # a vfork child, whose parent goes on
        return False
    status = 1 if slot.kind == lib.IP_R_FATAL else slot.a[0] & 0xFF
    return _hold(supervisor, slot, index, "exit") or (
        status != 0 and _hold(supervisor, slot, index, "abexit")
    )


def _hold(supervisor: Supervisor, slot: Any, index: int, event: str) -> bool:
    if not is_due(supervisor, event):
        return False
    _tell(supervisor, f"at {event}")
    supervisor.debugger.hold_request(Thread(supervisor.client, index, slot))
    return True


def _index(slot: Any) -> int:
    """The number of a slot of the channel."""
    first = lib.ip_service_slot(0)
    return int(ffi.cast("char *", slot) - ffi.cast("char *", first)) // lib.IP_SLOT_SIZE


def _tell(supervisor: Supervisor, when: str) -> None:
    supervisor.log.plain(f"(action {when}) vgdb me ... ")
