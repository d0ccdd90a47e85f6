"""All cores read a log that was read before, to find out where a filter's accesses are."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, NamedTuple

from interpose.formats import FormatError
from interpose.formats.datagrind.bulk import Accesses, Place, Trace
from interpose.jit._native import ffi, lib

CHUNK = 1 << 14
"""Accesses that are taken at once."""
BUFFER = 1 << 20
MOST_READERS = 8
MOST_SLICES = 256
FEWEST = 100_000
"""Accesses of a slice."""
PASSED, TAKEN = 0.1, 20.0
"""So many more for each heap block of the log, and for each that is wanted and there as a slice begins: what
is done before it can be read takes about a tenth of its time."""


class _Slice(NamedTuple):
    """A part of the log, between two places; None: to its end."""

    begin: Place
    end: Place | None
    size: int


class Readers:
    """Threads that read slices and mark cells of `base`; nearly always they are in the extension."""

    def __init__(self, trace: Trace, base: Any, places: Sequence[Place]) -> None:
        self._trace = trace
        self._base = base
        slices = _slices(trace, places)
        self._slices = iter(slices)
        self._size = max(1, sum(one.size for one in slices))
        self._done = 0
        self._lock = threading.Lock()
        self._is_over = False
        n_cells = base.levels[0].n_cells if base.n_levels else 0
        self._marks = ffi.from_buffer("uint8_t[]", bytearray(n_cells + 1))
        self._cursors = [
            ffi.gc(lib.ip_grid_cursors_new(base, self._marks), lib.ip_grid_cursors_free)
            for _ in range(max(1, min(_cores(), len(slices))))
        ]

    def run(self, seconds: float) -> Iterator[float]:
        """How much was read, each time that so many seconds went by."""
        with ThreadPoolExecutor(len(self._cursors)) as pool:
            try:
                left = {pool.submit(self._read, cursors) for cursors in self._cursors}
                while left:
                    done, left = wait(left, seconds, FIRST_COMPLETED)
                    for one in done:
                        one.result()
                    if left:
                        yield self._done / self._size
            finally:
                self._is_over = True

    def _next(self) -> _Slice | None:
        with self._lock:
            return next(self._slices, None)

    def _read(self, cursors: Any) -> None:
        into, buffer = Accesses(CHUNK), bytearray(BUFFER)
        while True:
            piece = self._next()
            if piece is None:
                return
            with suppress(FormatError):  # The file is not what it was.
                for chunk in self._trace.again(
                    piece.begin, None, into, until=piece.end, empty=True, buffer=buffer
                ):
                    lib.ip_grid_mark(cursors, chunk.raw)
                    if self._is_over:
                        return
            lib.ip_grid_settle(cursors)
            with self._lock:
                self._done += piece.size

    def grid(self, *, keeps_axes: bool) -> Any:
        """What was read so far."""
        grid = lib.ip_grid_marked(self._base, self._marks, keeps_axes)
        grid.n_instrs = max(grid.n_instrs, *(cursors.n_instrs for cursors in self._cursors))
        grid.left_out = sum(cursors.left_out for cursors in self._cursors)
        return grid


def _cores() -> int:
    return min(len(os.sched_getaffinity(0)), MOST_READERS)


def _slices(trace: Trace, places: Sequence[Place]) -> list[_Slice]:
    """Parts of the log, in an order in which the first ones are spread over all of it."""
    if not places:
        return []
    state = trace.raw
    least = FEWEST + PASSED * state.n_blocks + TAKEN * max(trace.wanted_at(places))
    count = min(int(state.n_accesses / least), MOST_SLICES)
    count = min(max(count, _cores()), len(places))
    borders = [places[n * len(places) // count] for n in range(count)]
    ends: list[Place | None] = [*borders[1:], None]
    slices = [
        _Slice(begin, end, (end.offset if end else state.offset) - begin.offset)
        for begin, end in zip(borders, ends, strict=True)
    ]
    bits = (count - 1).bit_length()
    return [slices[n] for n in sorted(range(count), key=lambda n: _reversed(n, bits))]


def _reversed(number: int, bits: int) -> int:
    """Its bits from the last to the first."""
    return int(f"{number:0{bits}b}"[::-1], 2)
