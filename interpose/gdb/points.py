"""Breakpoints and watchpoints: ``Z0`` to ``Z4``, ``z0`` to ``z4``."""

from __future__ import annotations

from interpose.gdb.packets import OK
from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.gdb.debugger import Debugger
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
    return OK if server.watches.add(kind, address, length) else b"E0c"


def remove(server: Server, rest: bytes) -> bytes:
    """``z``."""
    kind, address, length = _parse(rest)
    if kind in (0, 1):
        server.breaks_wanted(address, False)
        return OK
    server.watches.remove(kind, address, length)
    return OK


class Watches:
    """The watchpoints that a debugger has set, each as often as it is set."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger
        self._times: dict[tuple[int, int, int], int] = {}

    def forget(self) -> None:
        """They are gone."""
        self._times.clear()

    def add(self, kind: int, address: int, length: int) -> bool:
        """One comes; false if it cannot be had."""
        place = (kind, address, length)
        self._times[place] = self._times.get(place, 0) + 1
        if self._set():
            return True
        self.remove(kind, address, length)
        return False

    def remove(self, kind: int, address: int, length: int) -> None:
        """One goes."""
        place = (kind, address, length)
        if place not in self._times:
            return
        self._times[place] -= 1
        if not self._times[place]:
            del self._times[place]
            self._set()

    def _set(self) -> bool:
        return self._debugger.set_watched(
            (address, min(address + length, _END - 1), _WATCHES[kind])
            for kind, address, length in self._times
        )

    def reason(self, address: int) -> bytes:
        """What a stop at a watched address says, for the watchpoint that it belongs to."""
        for kind, begin, length in self._times:
            if begin <= address < begin + length:
                return b"%b:%x;" % (_NAMES[kind], address)
        return b"watch:%x;" % address
