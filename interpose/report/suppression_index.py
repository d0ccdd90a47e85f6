"""Which entries of suppression files are worth a look for a stack: a file may have thousands of them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .stack import ResolvedFrame
    from .suppressions import FramePattern, Suppression

    Key = tuple[str, str, int | None]
    """Kind, pattern and line of a :class:`FramePattern`."""
    Part = tuple[str | int | None, ...]
    """What of a frame decides which patterns match it: functions, an object, or a place in a source."""

_MOST_KNOWN = 65_536


def _key(pattern: FramePattern) -> Key:
    return pattern.kind, pattern.pattern, pattern.line


def _parts(frame: ResolvedFrame) -> Iterator[tuple[str, Part]]:
    yield "fun", (frame.symbol, frame.raw_symbol)
    yield "obj", (frame.obj,)
    yield "src", (frame.file, frame.dir, frame.line)


class SuppressionIndex:
    """Finds the entries of which one line, the one that fewest others have, matches some frame."""

    def __init__(self, entries: Sequence[Suppression], num_callers: int) -> None:
        self.count = len(entries)
        self.num_callers = num_callers
        self._entries = entries
        self._always: list[int] = []
        self._places: dict[Key, list[int]] = {}
        self._known: dict[tuple[str, Part], list[int]] = {}
        needs = [self._needs(entry) for entry in entries]
        uses: dict[Key, int] = {}
        for need in needs:
            for key in need:
                uses[key] = uses.get(key, 0) + 1
        patterns: dict[Key, FramePattern] = {}
        for place, need in enumerate(needs):
            if not need:
                self._always.append(place)
                continue
            key = min(need, key=lambda key: (uses[key], "?" in key[1], "*" in key[1]))
            patterns[key] = need[key]
            self._places.setdefault(key, []).append(place)
        self._patterns: dict[str, list[tuple[FramePattern, list[int]]]] = {"fun": [], "obj": [], "src": []}
        for key, pattern in patterns.items():
            self._patterns[pattern.kind].append((pattern, self._places[key]))

    def _needs(self, entry: Suppression) -> dict[Key, FramePattern]:
        """The lines each of which matches a frame if the entry matches; lines of ``obj:*`` may match none."""
        lines = entry.frames[: self.num_callers]
        return {_key(line): line for line in lines if line.kind and _key(line)[:2] != ("obj", "*")}

    def candidates(self, frames: Sequence[ResolvedFrame]) -> list[Suppression]:
        """Entries that may match, in their order; no other does."""
        found = set(self._always)
        for frame in frames:
            for kind, part in _parts(frame):
                if self._patterns[kind]:
                    found.update(self._of_part(kind, part, frame))
        return [self._entries[place] for place in sorted(found)]

    def _of_part(self, kind: str, part: Part, frame: ResolvedFrame) -> list[int]:
        places = self._known.get((kind, part))
        if places is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            places = []
            for pattern, those in self._patterns[kind]:
                if pattern.matches(frame):
                    places += those
            self._known[kind, part] = places
        return places
