"""Counts by key, of arrays."""

from __future__ import annotations

from typing import Any

from interpose.formats.extra import need

_PENDING = 1 << 20


class Tally:
    """How often each 64-bit key came."""

    def __init__(self) -> None:
        self._keys: list[Any] = []
        self._counts: list[Any] = []
        self._size = 0

    def add(self, keys: Any) -> None:
        """Keys, each of which came once."""
        if len(keys):
            found, counts = need("numpy").unique(keys, return_counts=True)
            self._append(found.astype("u8"), counts.astype("u8"))

    def merge(self, other: Tally) -> None:
        """What another has counted."""
        self._append(*other.items())

    def _append(self, keys: Any, counts: Any) -> None:
        self._keys.append(keys)
        self._counts.append(counts)
        self._size += len(keys)
        if self._size > _PENDING + 2 * len(self._keys[0]):
            self.items()

    def items(self) -> tuple[Any, Any]:
        """Keys in order, and their counts."""
        np = need("numpy")
        if not self._keys:
            return np.zeros(0, "u8"), np.zeros(0, "u8")
        if len(self._keys) > 1:
            keys, place = np.unique(np.concatenate(self._keys), return_inverse=True)
            counts = np.zeros(len(keys), "u8")
            np.add.at(counts, place.reshape(-1), np.concatenate(self._counts))
            self._keys, self._counts = [keys], [counts]
            self._size = len(keys)
        return self._keys[0], self._counts[0]

    def most(self, count: int) -> list[tuple[int, int]]:
        """Those that came most often, then by key."""
        keys, counts = self.items()
        order = need("numpy").lexsort((keys, -counts.astype("i8")))[:count]
        return [(int(keys[at]), int(counts[at])) for at in order]

    def __len__(self) -> int:
        return len(self.items()[0])
