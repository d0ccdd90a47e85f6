"""``-d``: the requests of the program's runtime as they are answered, ``--PID:1:component text`` each.

Once given, those that happen a few times a run; twice, all that Python answers, with their words.
"""

from __future__ import annotations

from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from interpose.report.log import Log

_SELDOM = frozenset(
    getattr(lib, f"IP_R_{name}")
    for name in (
        *("HELLO", "MAPPED", "UNMAPPED", "LOADED", "EXIT", "FATAL", "FORK", "FORKED", "FORK_CHILD"),
        *("EXEC", "EXEC_FAILED", "THREAD", "FINAL_CALL", "INTERNAL", "STOPPED"),
    )
)
_WITH_TEXT = frozenset((lib.IP_R_MAPPED, lib.IP_R_FIND, lib.IP_R_MESSAGE))


def tell(log: Log, level: int, slot: Any, kind: str) -> None:
    """One line for a request.

    :param level: how often ``-d`` was given, at least once.
    :param kind: the request's name.
    """
    seldom = slot.kind in _SELDOM
    if not seldom and level < 2:
        return
    words = " ".join(f"0x{word:x}" for word in slot.a[0 : 4 if level == 1 else 8])
    text = ""
    if slot.kind in _WITH_TEXT:
        data = bytes(ffi.buffer(slot.data, min(slot.len, lib.IP_SLOT_DATA)))
        text = " " + data.split(b"\0", 1)[0].decode("utf-8", "replace")
    log.step(1 if seldom else 2, "requests", f"thread {slot.tid_guest}: {kind} {words}{text}")
