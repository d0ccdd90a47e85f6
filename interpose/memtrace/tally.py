"""Counts by key, of arrays (tally.c)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from interpose.formats.extra import need
from interpose.jit._native import ffi, lib


class Tally:
    """How often each 64-bit key came."""

    def __init__(self) -> None:
        self._open()

    def _open(self) -> None:
        self.raw = ffi.gc(ffi.new("struct ip_tally *"), lib.ip_tally_close)
        if lib.ip_tally_open(self.raw, int.from_bytes(os.urandom(8), "little") | 1) != 0:
            raise MemoryError

    def __getstate__(self) -> Any:
        return self.items()

    def __setstate__(self, items: Any) -> None:
        self._open()
        self._add(*items)

    def add(self, keys: Any) -> None:
        """Keys, each of which came once."""
        self._add(need("numpy").ascontiguousarray(keys, "u8"))

    def merge(self, other: Tally) -> None:
        """What another has counted."""
        self._add(*other.items())

    def _add(self, keys: Any, counts: Any = None) -> None:
        times = ffi.NULL if counts is None else ffi.from_buffer("uint64_t[]", counts)
        if lib.ip_tally_add(self.raw, ffi.from_buffer("uint64_t[]", keys), times, len(keys)) != 0:
            raise MemoryError

    def items(self) -> tuple[Any, Any]:
        """Keys in order, and their counts."""
        np = need("numpy")
        keys, counts = np.empty(len(self), "u8"), np.empty(len(self), "u8")
        lib.ip_tally_items(
            self.raw, ffi.from_buffer("uint64_t[]", keys), ffi.from_buffer("uint64_t[]", counts)
        )
        order = np.argsort(keys)
        return keys[order], counts[order]

    def most(self, count: int) -> list[tuple[int, int]]:
        """Those that came most often, then by key."""
        keys, counts = self.items()
        order = need("numpy").lexsort((keys, -counts.astype("i8")))[:count]
        return [(int(keys[at]), int(counts[at])) for at in order]

    def __len__(self) -> int:
        return int(self.raw.used)


def touched(records: Any, line: int, touch: int) -> Iterator[tuple[Any, Any]]:
    """The lines that records touch, in order, and which of them are fetched; ``touch`` (bits of enum
    ip_mt_touch) says which records.  In parts, for a record may touch thousands.
    """
    np = need("numpy")
    raw, at = ffi.from_buffer("struct ip_mt_record[]", records), 0
    room = lib.IP_MTL_MOST + len(records)
    found = ffi.new("uint64_t *")
    while at < len(records):
        lines, fetched = np.empty(room, "u8"), np.empty(room, "u1")
        at += lib.ip_mt_lines(
            raw + at,
            len(records) - at,
            line.bit_length() - 1,
            touch,
            ffi.from_buffer("uint64_t[]", lines),
            ffi.from_buffer("uint8_t[]", fetched),
            room,
            found,
        )
        yield lines[: found[0]], fetched[: found[0]].view(bool)
