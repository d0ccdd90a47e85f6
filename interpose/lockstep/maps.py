"""What one process has mapped and another has not."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.procmaps import Region


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
