"""Functions and inlined calls by address, read from the entries of one unit."""

from __future__ import annotations

from contextlib import suppress

from interpose.elf.cursor import DAMAGE
from interpose.elf.dies import Die, scan
from interpose.elf.lines import SourceLine
from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from interpose.elf.dwarf import DebugInfo, Unit

_BLOCKS = frozenset((0x0B, 0x1D, 0x22, 0x25, 0x32))  # lexical and try blocks, inlined calls
_INLINED = 0x1D
AT_CALL_FILE, AT_CALL_LINE = 0x58, 0x59
_DEEPEST = 1000


class Functions:
    """The functions of the units of one file, listed when the first of a unit is asked for."""

    def __init__(self) -> None:
        self._of: dict[Unit, list[tuple[int, int, int]]] = {}

    def at(self, unit: Unit, pc: int) -> Die | None:
        """The function of a unit that has the code at the link-time `pc`."""
        best = None
        for low, high, offset in self._listed(unit):
            # A function within a function, as GNU C has them, is the smaller one.
            if low <= pc < high and (best is None or high - low < best[0]):
                best = high - low, offset
        return Die(unit, best[1]) if best is not None else None

    def _listed(self, unit: Unit) -> list[tuple[int, int, int]]:
        found = self._of.get(unit)
        if found is None:
            found = self._of[unit] = []
            for offset, _, low, high, _ in scan(unit.info, lib.IP_DIE_FUNCTION, unit):
                if low or high:
                    found.append((low, high, offset))
                    continue
                try:
                    ranges = unit.ranges_of(Die(unit, offset).attributes)
                except DAMAGE:
                    continue
                found += [(start, end, offset) for start, end in ranges]
        return found


def blocks_at(function: Die, pc: int) -> Iterator[tuple[Die, list[Die]]]:
    """The function and the blocks within it that have the code, each with the other entries below it."""
    block: Die | None = function
    for _ in range(_DEEPEST):
        if block is None:
            return
        inner, others = None, []
        for child in block.children():
            if child.tag not in _BLOCKS:
                others.append(child)
            elif inner is None and any(
                start <= pc < end for start, end in child.unit.ranges_of(child.attributes)
            ):
                inner = child
        yield block, others
        block = inner


def _inlined_calls(unit: Unit, functions: Functions, address: int) -> list[Die]:
    """The inlined calls at `address`, outermost first; may raise what `DAMAGE` has."""
    function = functions.at(unit.full, address)
    blocks = blocks_at(function, address) if function is not None else ()
    return [block for block, _ in blocks if block.tag == _INLINED]


def inlined_name(unit: Unit, functions: Functions, address: int, linkage_name: str) -> str | None:
    """DW_AT_name of the function with that linkage name, of which there is an inlined call at `address`.

    Link-time optimisation leaves the function in another unit.
    """
    with suppress(*DAMAGE):
        for call in _inlined_calls(unit, functions, address):
            if call.linkage_name == linkage_name:
                return call.name
    return None


def levels_at(info: DebugInfo, functions: Functions, address: int) -> list[SourceLine]:
    """Source lines with inlined calls, innermost first; empty when nothing is known."""
    unit = info.unit_at(address)
    if unit is None:
        return []
    where: tuple[str | None, int | None] | None = unit.line_at(address)
    if where is None:
        return []
    levels: list[SourceLine] = []
    with suppress(*DAMAGE):
        for call in reversed(_inlined_calls(unit, functions, address)):
            path, line = where
            levels.append(SourceLine(call.name or call.linkage_name or "", path, line or 0))
            where = call.unit.file_path(call.constant(AT_CALL_FILE)), call.constant(AT_CALL_LINE)
    path, line = where
    return [*levels, SourceLine("", path, line or 0)]
