"""What was read so far: each different error once, with its ranks and how often they have it.

Memory grows with the number of different errors, which is limited, and not with that of logs: ranks are kept
as intervals.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LIMIT = 20_000  # different errors; what comes then is counted only


class Ranks:
    """A set of numbers as disjoint intervals, ascending; cheap for numbers that come in order."""

    def __init__(self) -> None:
        self.intervals: list[list[int]] = []
        self.count = 0

    def add(self, rank: int) -> None:
        spans = self.intervals
        if spans and spans[-1][1] + 1 == rank:
            spans[-1][1] = rank
        elif not spans or rank > spans[-1][1]:
            spans.append([rank, rank])
        elif not self._insert(rank):
            return
        self.count += 1

    def _insert(self, rank: int) -> bool:
        """Of order; false if it is there."""
        spans = self.intervals
        low, high = 0, len(spans)
        while low < high:
            middle = (low + high) // 2
            if spans[middle][1] < rank:
                low = middle + 1
            else:
                high = middle
        if low < len(spans) and spans[low][0] <= rank:
            return False
        joins_left = low > 0 and spans[low - 1][1] + 1 == rank
        joins_right = low < len(spans) and rank + 1 == spans[low][0]
        if joins_left and joins_right:
            spans[low - 1][1] = spans[low][1]
            del spans[low]
        elif joins_left:
            spans[low - 1][1] = rank
        elif joins_right:
            spans[low][0] = rank
        else:
            spans.insert(low, [rank, rank])
        return True

    def __str__(self) -> str:
        words = [f"{low}" if low == high else f"{low}-{high}" for low, high in self.intervals]
        return f"{'rank' if self.count == 1 else 'ranks'} {', '.join(words)}"


@dataclass
class Group:
    """One error; ``amounts`` are those of leaks: bytes and blocks of all ranks together."""

    text: str
    ranks: Ranks = field(default_factory=Ranks)
    times: int = 0
    amounts: tuple[int, int] | None = None


@dataclass(frozen=True)
class Error:
    """An error of one log: its text without addresses and amounts, and how often the log has it."""

    text: str
    times: int = 1
    amounts: tuple[int, int] | None = None


class Groups:
    """All logs' errors."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.groups: dict[str, Group] = {}
        self.ungrouped = 0
        self._limit = limit

    def add(self, rank: int, errors: dict[str, Error]) -> None:
        """The errors of one log, by text."""
        for error in errors.values():
            group = self.groups.get(error.text)
            if group is None:
                if len(self.groups) >= self._limit:
                    self.ungrouped += error.times
                    continue
                group = self.groups[error.text] = Group(error.text)
            group.ranks.add(rank)
            group.times += error.times
            if error.amounts is not None:
                size, blocks = group.amounts or (0, 0)
                group.amounts = (size + error.amounts[0], blocks + error.amounts[1])

    def ordered(self) -> list[Group]:
        """Those of most ranks first."""
        return sorted(self.groups.values(), key=lambda group: (-group.ranks.count, -group.times, group.text))
