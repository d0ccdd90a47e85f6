"""Ranges of addresses that never overlap, each with what is there: thousands may come and go one by one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Generic, TypeVar

    T = TypeVar("T")
else:
    T = None

    class Generic:
        """``typing`` takes milliseconds to import."""

        def __class_getitem__(cls, _: object) -> type:
            return cls


class Ranges(Generic[T]):
    """Half-open ranges in ascending order.

    To insert one moves the pointers behind it, which takes a thousandth of the time of a look at each range.
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._values: list[T] = []

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[T]:
        """What is there, by address."""
        return iter(self._values)

    def add(self, start: int, end: int, value: T) -> None:
        """A range that overlaps none."""
        place = bisect_left(self._starts, start)
        self._starts.insert(place, start)
        self._ends.insert(place, end)
        self._values.insert(place, value)

    def _places(self, start: int, end: int) -> slice:
        # Those that never overlap end in the order in which they start.
        return slice(bisect_right(self._ends, start), bisect_left(self._starts, end))

    def within(self, start: int, end: int) -> list[T]:
        """What has an address in [start, end), by address."""
        return self._values[self._places(start, end)]

    def drop(self, start: int, end: int) -> list[T]:
        """The same, and all of it goes, also where it reaches beyond."""
        places = self._places(start, end)
        found = self._values[places]
        if found:
            del self._starts[places], self._ends[places], self._values[places]
        return found

    def range_at(self, address: int) -> tuple[int, int, T] | None:
        """The range that has an address."""
        place = bisect_right(self._starts, address) - 1
        if place < 0 or address >= self._ends[place]:
            return None
        return self._starts[place], self._ends[place], self._values[place]

    def at(self, address: int) -> T | None:
        """What is at an address."""
        place = bisect_right(self._starts, address) - 1
        return self._values[place] if place >= 0 and address < self._ends[place] else None

    def next_start(self, address: int, otherwise: int) -> int:
        """Where the first range begins that does so behind an address."""
        place = bisect_right(self._starts, address)
        return self._starts[place] if place < len(self._starts) else otherwise
