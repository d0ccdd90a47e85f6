"""/proc/PID/maps."""

from __future__ import annotations

from typing import NamedTuple


class Region(NamedTuple):
    """One line."""

    start: int
    end: int
    offset: int
    path: str
    writable: bool


def regions(pid: int) -> list[Region]:
    """All mappings of a process, by address."""
    found = []
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            span, rights, offset, _, _, *path = line.rstrip("\n").split(" ", 5)
            start, _, end = span.partition("-")
            name = path[0].strip() if path else ""
            writable = rights.startswith("rw")
            found.append(Region(int(start, 16), int(end, 16), int(offset, 16), name, writable))
    return found


def missing(have: list[Region], known: list[Region]) -> list[tuple[int, int]]:
    """Ranges of ``have`` that no region of ``known`` covers."""
    found = []
    for region in have:
        at = region.start
        for other in known:
            if other.end <= at:
                continue
            if other.start >= region.end:
                break
            if other.start > at:
                found.append((at, other.start))
            at = max(at, other.end)
        if at < region.end:
            found.append((at, region.end))
    return found
