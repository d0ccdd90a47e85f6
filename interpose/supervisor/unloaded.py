"""Names of code that was unmapped (``--keep-debuginfo=yes``).

Where one library was there may be another one later, so an address in a recorded stack means what was there
when the stack was first met. Stacks are numbered in that order.
"""

from __future__ import annotations

from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from interpose.elf.symbolizer import ObjectFile, Symbolizer
    from interpose.report.stack import Stack
    from interpose.supervisor.main import Supervisor
else:
    from interpose.records import NamedTuple

_ADDRESS = (1 << 64) - 1


class _Period(NamedTuple):
    """How long something was mapped: up to the stack of that number, and what its addresses are since."""

    until: int
    above: int
    file: ObjectFile


class UnloadedCode:
    """All code that was unmapped so far."""

    def __init__(self) -> None:
        self._periods: dict[tuple[int, int], list[_Period]] = {}
        self._pages: dict[int, list[tuple[int, int]]] = {}
        self._last: list[tuple[int, int, int]] = []
        """What was unmapped last: start, end, and what its addresses are since."""

    def keep(self, symbolizer: Symbolizer, start: int, size: int, now: int) -> bool:
        """[start, start + size) is about to be unmapped; ``now`` is the number of the next stack.

        False: no code was there.
        """
        kept = symbolizer.keep(start, size)
        self._last = []
        for mapping in kept:
            where = mapping.start & _ADDRESS, mapping.end & _ADDRESS
            periods = self._periods.setdefault(where, [])
            if not periods:
                for page in range(where[0] >> 12, (where[1] + 4095) >> 12):
                    self._pages.setdefault(page, []).append(where)
            if periods and periods[-1].file is mapping.file:
                # Loaded again where it had been: nothing else was there in between that was kept.
                periods[-1] = periods[-1]._replace(until=now)
            else:
                periods.append(_Period(now, mapping.start & ~_ADDRESS, mapping.file))
            self._last.append((*where, periods[-1].above))
        return bool(kept)

    def outdated(self, stack: Stack) -> Stack:
        """The addresses of a stack that is held since before the last unmapping, and is told of each."""
        return tuple(self._outdated(ip) for ip in stack)

    def _outdated(self, ip: int) -> int:
        return next((ip + above for start, end, above in self._last if start <= ip < end), ip)

    def numbered(self, stack: Stack, number: int) -> Stack:
        """The addresses of a stack by what was there when it was recorded."""
        return tuple(self._address(ip, number) for ip in stack)

    def _address(self, ip: int, number: int) -> int:
        best: _Period | None = None
        for where in self._pages.get(ip >> 12, ()) if not ip >> 64 else ():
            if not where[0] <= ip < where[1]:
                continue
            periods = self._periods[where]
            index = bisect_right(periods, number, key=_until)
            if index < len(periods) and (best is None or periods[index].until < best.until):
                best = periods[index]
        return ip if best is None else ip + best.above


def _until(period: _Period) -> int:
    return period.until


def keep_names(supervisor: Supervisor, start: int, length: int) -> None:
    """--keep-debuginfo=yes: a range where code may be is about to become something else."""
    if supervisor.unloaded is None:
        supervisor.unloaded = UnloadedCode()
    if supervisor.unloaded.keep(supervisor.symbolizer, start, length, supervisor.tool.stacks_recorded()):
        supervisor.tool.code_kept(supervisor.unloaded)
        if (errors := supervisor.error_manager()) is not None:
            errors.renumber(supervisor.unloaded.outdated)
        if supervisor.descriptors is not None:
            supervisor.descriptors.renumber(supervisor.unloaded.outdated)
