"""Breakpoints and watchpoints: ``Z0`` to ``Z4``, ``z0`` to ``z4``."""

from __future__ import annotations

from interpose.gdb.packets import OK
from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.gdb.server import Server

_WATCHES = {2: lib.IP_DBG_ON_WRITE, 3: lib.IP_DBG_ON_READ, 4: lib.IP_DBG_ON_READ | lib.IP_DBG_ON_WRITE}
_NAMES = {2: b"watch", 3: b"rwatch", 4: b"awatch"}
_END = 1 << 64


def _parse(rest: bytes) -> tuple[int, int, int]:
    """Kind, address, length; conditions and commands behind them (not announced) are left out."""
    kind, address, length = (int(word, 16) for word in rest.split(b";")[0].split(b","))
    if not 0 <= kind <= 4 or not 0 <= address < _END or not 0 <= length < _END:
        raise ValueError
    return kind, address, length


def insert(server: Server, rest: bytes) -> bytes:
    """``Z``."""
    kind, address, length = _parse(rest)
    if kind in (0, 1):
        server.breaks_wanted(address, True)
        return OK
    return server.watch(kind, address, length)


def remove(server: Server, rest: bytes) -> bytes:
    """``z``."""
    kind, address, length = _parse(rest)
    if kind in (0, 1):
        server.breaks_wanted(address, False)
        return OK
    return server.unwatch(kind, address, length)


def watch_reason(watches: dict[tuple[int, int, int], int], address: int) -> bytes:
    """What a stop at a watched address says, for the watchpoint that it belongs to."""
    for kind, begin, length in watches:
        if begin <= address < begin + length:
            return b"%b:%x;" % (_NAMES[kind], address)
    return b"watch:%x;" % address


def kinds(kind: int) -> int:
    """The accesses (``IP_DBG_ON_*``) that a watchpoint of this kind is about."""
    return _WATCHES[kind]
