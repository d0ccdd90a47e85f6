"""How much memory a run has at its peak: all its processes together, what they share counted once."""

from __future__ import annotations

import os
import threading
from pathlib import Path

INTERVAL = 0.005


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    left = [pid]
    while left:
        try:
            lists = [p.read_text() for p in Path(f"/proc/{left.pop()}/task").glob("*/children")]
        except OSError:
            continue  # it has ended meanwhile
        children = [int(word) for text in lists for word in text.split()]
        found += children
        left += children
    return found


def _proportional(pid: int) -> int:
    """Bytes of its pages, each divided by the number of processes that have it; 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            return sum(int(line.split()[1]) << 10 for line in file if line.startswith("Pss:"))
    except (OSError, ValueError):
        return 0


def _is_there(pid: int) -> bool:
    """Has it memory?  What has ended, and nobody has waited for, has none."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            return not file.read().startswith("0 ")
    except OSError:
        return False


def _together(pids: list[int]) -> int:
    """Of all processes; 0 if one of them has ended meanwhile: what it shared would count twice."""
    there = [pid for pid in pids if _is_there(pid)]
    total = sum(map(_proportional, there))
    return total if all(map(_is_there, there)) else 0


class Watch:
    """Looks at all descendants of this process again and again; ``with`` it.

    :ivar peak: the most bytes that they had at one look; 0 if they were never seen.
    """

    def __init__(self) -> None:
        self.peak = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(INTERVAL):
            self.peak = max(self.peak, _together(_descendants(os.getpid())))
