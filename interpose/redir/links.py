"""Numbers that are linked to others: which have links, in ascending order, and to what."""

from __future__ import annotations

from bisect import bisect_left, insort


class Links:
    """Sets of numbers by number; thousands may come and go one by one."""

    def __init__(self) -> None:
        self._linked: dict[int, set[int]] = {}
        self._ascending: list[int] = []

    def of(self, number: int) -> set[int]:
        """What a number is linked to."""
        return self._linked.get(number, set())

    def among(self, start: int, end: int) -> list[int]:
        """The numbers in [start, end) that have links."""
        return self._ascending[bisect_left(self._ascending, start) : bisect_left(self._ascending, end)]

    def add(self, number: int, other: int) -> None:
        """One more link."""
        if number not in self._linked:
            self._linked[number] = set()
            insort(self._ascending, number)
        self._linked[number].add(other)

    def discard(self, number: int, other: int) -> None:
        """A link that has gone; with the last one, so does the number."""
        linked = self._linked[number]
        linked.discard(other)
        if not linked:
            self.pop(number)

    def pop(self, number: int) -> set[int]:
        """All links of a number have gone; what they led to."""
        del self._ascending[bisect_left(self._ascending, number)]
        return self._linked.pop(number)
