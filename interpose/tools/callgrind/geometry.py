"""The simulated caches: what the options say, else what this machine has."""

from __future__ import annotations

import os

from .options import Geometry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.options.parse import Config

_FOLDER = "/sys/devices/system/cpu/cpu0/cache"
_DEFAULTS = {"I1": Geometry(32768, 8, 64), "D1": Geometry(32768, 8, 64), "LL": Geometry(8 << 20, 16, 64)}


def _read(folder: str, name: str) -> str:
    with open(os.path.join(folder, name), encoding="ascii") as file:
        return file.read().strip()


def _host() -> dict[str, Geometry]:
    """Those of the first CPU that have a shape which can be simulated, the largest unified one last."""
    found = dict(_DEFAULTS)
    best = 0
    try:
        for entry in sorted(os.listdir(_FOLDER)):
            folder = os.path.join(_FOLDER, entry)
            if not entry.startswith("index"):
                continue
            level, kind = int(_read(folder, "level")), _read(folder, "type")
            sets, ways = int(_read(folder, "number_of_sets")), int(_read(folder, "ways_of_associativity"))
            line = int(_read(folder, "coherency_line_size"))
            shape = simulable(sets * ways * line, ways, line)
            if level == 1 and kind in ("Instruction", "Data"):
                found["I1" if kind == "Instruction" else "D1"] = shape
            elif kind == "Unified" and level > best:
                best = level
                found["LL"] = shape
    except (OSError, ValueError):
        pass
    return found


def simulable(size: int, ways: int, line: int) -> Geometry:
    """About the same size with a number of sets that is a power of two: real caches may have any.

    As Valgrind does it: fewer sets, of as many ways as come nearest to the size.
    """
    sets = size // (ways * line)
    if sets & (sets - 1):
        sets = 1 << (sets.bit_length() - 1)
        ways = (size + sets * line // 2) // (sets * line)
    return Geometry(sets * ways * line, ways, line)


def caches(config: Config) -> tuple[Geometry, Geometry, Geometry]:
    """I1, D1 and LL of the run."""
    tool = config.tool
    host = {} if tool.I1 and tool.D1 and tool.LL else _host()
    return tool.I1 or host["I1"], tool.D1 or host["D1"], tool.LL or host["LL"]
