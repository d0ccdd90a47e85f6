"""What the viewer knows of a log: sums by time and address, and places to begin reading at.

Both are made in one pass over the file and kept beside it (``FILE.dgx``), so that the next look begins at
once. What lies in such a file is believed as far as it fits together: it decides what is shown, and no more.
"""

from __future__ import annotations

import json
import os
import stat
import struct
import threading
import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple

from interpose.dgview.readers import Readers
from interpose.formats import FormatError
from interpose.formats.datagrind.bulk import Accesses, Filter, Place, Trace
from interpose.formats.datagrind.records import HEADER_BYTES
from interpose.jit._native import ffi, lib

STEP = 1 << 18
"""Accesses and instructions between two places."""
CHUNK = 1 << 14
"""Accesses that are taken at once: places lie between such chunks."""
AT_ONCE = 300_000
"""So many accesses are always drawn one by one."""
DIRECT = 4_000_000
"""So many are, where the sums are too coarse."""
PATIENCE = 0.12
"""Seconds until what was read so far is shown first; then each time that twice as long was read."""
SO_FAR_CELLS = 1 << 20
_AHEAD = 255
"""So far beyond its block's completed instructions an access may be: that of one that was not completed."""
_NO_END = 1 << 63
MAGIC = b"DGVIEW4\n"
_NUMBERS = ("offset", "n_records", "n_bbdefs", "n_contexts", "n_bbruns", "n_instrs", "n_accesses")
_MOST_HEAD = 1 << 16


class View(NamedTuple):
    """A rectangle of columns and instruction counts, and the pixels it is drawn on."""

    left: int
    right: int
    top: int
    bottom: int
    width: int
    height: int

    def raw(self) -> Any:
        return ffi.new("struct ip_grid_view *", list(self))


class Found(NamedTuple):
    """The accesses of a rectangle: how many of each kind, and the one nearest to the middle."""

    sums: tuple[int, int, int]
    instr: int
    address: int
    ip: int
    context: int
    size: int
    dir: int


class _Piece(NamedTuple):
    """A part of the log: from a place to another, and to an instruction count."""

    begin: Place
    until: Place | None
    end: int
    accesses: int


class CancelledError(Exception):
    """Nobody wants the picture any more."""


def _never() -> bool:
    return False


class Index:
    """A log that was read, with one filter."""

    def __init__(self, trace: Trace, grid: Any = None, *, is_whole: bool = True) -> None:
        self.trace = trace
        self.grid = ffi.gc(lib.ip_grid_new(0) if grid is None else grid, lib.ip_grid_free)
        self.is_whole = is_whole
        """Or it has what was read so far, has no places, and is drawn from sums only."""
        self.places: list[Place] = []
        self.error: FormatError | None = None
        self._gaps: list[int] | None = None
        self._lock = threading.Lock()

    @property
    def n_pages(self) -> int:
        return self.grid.n_pages

    @property
    def n_cells(self) -> int:
        """Of all levels, which take nearly all of the memory."""
        return sum(level.n_cells for level in self.grid.levels[0 : self.grid.n_levels])

    @property
    def columns(self) -> int:
        """How many there are across."""
        return self.grid.n_pages << lib.IP_GRID_PAGE_BITS

    @property
    def n_instrs(self) -> int:
        """Down: the accessing instruction that comes last, and one more."""
        return self.grid.n_instrs

    # ---- Making ----

    @classmethod
    def build(
        cls,
        path: str,
        *,
        fetches: bool = False,
        filter: Filter | None = None,
        progress: Callable[[float], object] | None = None,
        cancelled: Callable[[], bool] = _never,
        base: Index | None = None,
        so_far: Callable[[Index], object] | None = None,
    ) -> Index:
        """Read the file; where it is damaged, what comes before that.

        If it takes long, `so_far` is given what was read, on the axes of `base`.
        """
        trace = Trace(path, fetches=fetches, filter=filter, collect_ips=filter is None)
        self = cls(trace)
        last = 0
        began = time.monotonic()
        due = began + PATIENCE
        with suppress(FormatError):
            for chunk in trace.chunks(Accesses(CHUNK), empty=True):
                lib.ip_grid_add(self.grid, chunk.raw)
                if so_far is not None and base is not None and time.monotonic() >= due and not cancelled():
                    grid = lib.ip_grid_so_far(self.grid, base.grid, SO_FAR_CELLS)
                    so_far(cls(trace, grid, is_whole=False))
                    due = 2 * time.monotonic() - began
                done = trace.raw.n_accesses + trace.raw.n_instrs
                if not self.places and trace.raw.word_size:
                    self.places.append(Place(HEADER_BYTES + 2, 0, 0, 0, 0))
                if done - last >= STEP:
                    place = trace.place
                    if place is not None:
                        self.places.append(place)
                        last = done
                        if progress is not None and trace.size:
                            progress(min(1.0, place.offset / trace.size))
                        if cancelled():
                            raise CancelledError
        self.error = trace.error
        lib.ip_grid_finish(self.grid)
        return self

    def filtered(
        self,
        filter: Filter | None = None,
        *,
        fetches: bool = False,
        progress: Callable[[float], object] | None = None,
        cancelled: Callable[[], bool] = _never,
        so_far: Callable[[Index], object] | None = None,
    ) -> Index:
        """The same file with a filter.

        If it takes long, `so_far` is given what was read, on the axes of this one.
        """
        if fetches:  # which this one has not
            return Index.build(
                self.trace.path,
                fetches=True,
                filter=filter,
                progress=progress,
                cancelled=cancelled,
                base=self,
                so_far=so_far,
            )
        trace = self.trace.filtered(filter)
        readers = Readers(trace, self.grid, self.places)
        began = time.monotonic()
        due = began + PATIENCE
        for part in readers.run(PATIENCE / 4):
            if cancelled():
                raise CancelledError
            if progress is not None:
                progress(part)
            if so_far is not None and time.monotonic() >= due:
                so_far(Index(trace, readers.grid(keeps_axes=True), is_whole=False))
                due = 2 * time.monotonic() - began
        if cancelled():
            raise CancelledError
        index = Index(trace, readers.grid(keeps_axes=False))
        index.places, index.error = self.places, self.error
        return index

    @classmethod
    def open(cls, path: str, progress: Callable[[float], object] | None = None) -> Index:
        """The index of the whole file, from beside it if that is the file's."""
        for stored in _stores(path):
            found = cls._load(path, stored)
            if found is not None:
                return found
        self = cls.build(path, progress=progress)
        if not self.places:  # no log at all: nothing is left beside somebody's file
            return self
        for stored in _stores(path):
            if self._save(stored):
                break
        return self

    # ---- Keeping ----

    def _arrays(self) -> dict[str, tuple[Any, int]]:
        """What is kept: address and bytes."""
        d, s, g = self.trace.raw.defs, self.trace.raw, self.grid
        lib.ip_dg_ips(s)
        found: dict[str, tuple[Any, int]] = {
            "bbdefs": (d.bbdefs, d.n_bbdefs * ffi.sizeof("struct ip_dg_bbdef")),
            "instr_address": (d.instr_address, 8 * d.n_instrs),
            "instr_size": (d.instr_size, d.n_instrs),
            "access_dir": (d.access_dir, d.n_accesses),
            "access_size": (d.access_size, d.n_accesses),
            "access_instr": (d.access_instr, d.n_accesses),
            "context_bbdef": (d.context_bbdef, 4 * d.n_contexts),
            "context_offset": (d.context_offset, 8 * d.n_contexts),
            "context_like": (d.context_like, 4 * d.n_contexts),
            "blocks": (s.blocks, s.n_blocks * ffi.sizeof("struct ip_dg_block")),
            "marks": (s.marks, s.n_marks * ffi.sizeof("struct ip_dg_mark")),
            "ips": (s.ips, 8 * s.n_ips),
            "pages": (g.pages, 8 * g.n_pages),
        }
        for n in range(g.n_levels):
            level = g.levels[n]
            found[f"first{n}"] = level.first, 8 * (g.n_pages + 1)
            found[f"cells{n}"] = level.cells, level.n_cells * ffi.sizeof("struct ip_grid_cell")
        return found

    def _save(self, stored: str) -> bool:
        arrays = self._arrays()
        places = array("Q", [number for place in self.places for number in place]).tobytes()
        head = {
            "identity": _identity(self.trace),
            "numbers": {name: getattr(self.trace.raw, name) for name in _NUMBERS},
            "header": [self.trace.raw.version, self.trace.raw.big_endian, self.trace.raw.word_size],
            "problems": self.trace.n_problems,
            "told": [[p.offset, p.a, p.b, p.reason] for p in self.trace.raw.problems[0 : self.trace.n_told]],
            "error": [self.error.reason, self.error.offset] if self.error is not None else None,
            "levels": [[lv.row_bits, lv.part_bits] for lv in self.grid.levels[0 : self.grid.n_levels]],
            "n_instrs": self.grid.n_instrs,
            "left_out": self.grid.left_out,
            "sizes": {name: size for name, (_, size) in arrays.items()} | {"places": len(places)},
        }
        text = json.dumps(head).encode()
        temporary = f"{stored}.{os.getpid()}"
        try:
            fd = os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        except OSError:
            return False
        try:
            with open(fd, "wb") as stream:
                stream.write(_padded(MAGIC + struct.pack("<Q", len(text)) + text))
                for address, size in arrays.values():
                    stream.write(_padded(ffi.buffer(address, size)) if size else b"")
                stream.write(places)
            os.replace(temporary, stored)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)
            return False
        return True

    @classmethod
    def _load(cls, path: str, stored: str) -> Index | None:
        """None if it is not there, or is another file's, or does not fit together."""
        try:
            trace = Trace(path)
            with open(stored, "rb", opener=_not_waiting) as stream:
                status = os.fstat(stream.fileno())
                if not stat.S_ISREG(status.st_mode) or status.st_size > _most_bytes(trace):
                    return None
                if stream.read(len(MAGIC)) != MAGIC:
                    return None
                (size,) = struct.unpack("<Q", stream.read(8))
                if size > _MOST_HEAD:
                    return None
                head = json.loads(stream.read(size))
                if head["identity"] != _identity(trace):
                    return None
                stream.seek(-(len(MAGIC) + 8 + size) % 8, os.SEEK_CUR)
                return cls._adopted(trace, head, memoryview(stream.read()))
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            IndexError,
            OverflowError,
            struct.error,
            FormatError,
        ):
            return None

    @classmethod
    def _adopted(cls, trace: Trace, head: dict[str, Any], data: memoryview) -> Index | None:
        parts: dict[str, Any] = {}
        at = 0
        for name, size in head["sizes"].items():
            if size < 0 or size > len(data) - at:
                return None
            parts[name] = data[at : at + size]
            at += size + -size % 8
        alive: list[Any] = []

        def items(name: str, kind: str) -> tuple[Any, int]:
            alive.append(ffi.from_buffer(parts[name]))
            return ffi.cast(f"{kind} *", alive[-1]), len(parts[name]) // ffi.sizeof(kind)

        defs = ffi.new("struct ip_dg_definitions *")
        defs.bbdefs, defs.n_bbdefs = items("bbdefs", "struct ip_dg_bbdef")
        defs.instr_address, defs.n_instrs = items("instr_address", "uint64_t")
        defs.instr_size, sizes = items("instr_size", "uint8_t")
        defs.access_dir, defs.n_accesses = items("access_dir", "uint8_t")
        defs.access_size, widths = items("access_size", "uint8_t")
        defs.access_instr, instrs = items("access_instr", "uint8_t")
        defs.context_bbdef, defs.n_contexts = items("context_bbdef", "uint32_t")
        defs.context_offset, offsets = items("context_offset", "uint64_t")
        defs.context_like, likes = items("context_like", "uint32_t")
        if (
            sizes != defs.n_instrs
            or {widths, instrs} != {defs.n_accesses}
            or {offsets, likes} != {defs.n_contexts}
        ):
            return None
        blocks, marks = items("blocks", "struct ip_dg_block"), items("marks", "struct ip_dg_mark")
        self = cls(trace)
        state = trace.raw
        if not lib.ip_dg_adopt(state, defs, *blocks, *marks):
            return None
        for name, number in head["numbers"].items():
            if name in _NUMBERS:
                setattr(state, name, number)
        state.version, state.big_endian, state.word_size = head["header"]
        if state.word_size not in (4, 8):
            return None
        lib.ip_dg_adopt_ips(state, *items("ips", "uint64_t"))
        state.n_problems = head["problems"]
        if len(head["told"]) != trace.n_told:
            return None
        for problem, told in zip(state.problems, head["told"], strict=False):
            problem.offset, problem.a, problem.b, problem.reason = told
        _ = trace.problems  # KeyError: a reason that is none
        if not lib.ip_grid_adopt_pages(self.grid, *items("pages", "uint64_t"), head["n_instrs"]):
            return None
        for n, (row_bits, part_bits) in enumerate(head["levels"]):
            first, count = items(f"first{n}", "uint64_t")
            cells = items(f"cells{n}", "struct ip_grid_cell")
            if count != self.grid.n_pages + 1:
                return None
            if not lib.ip_grid_adopt_level(self.grid, row_bits, part_bits, first, *cells):
                return None
        self.grid.left_out = head["left_out"]
        numbers = array("Q", bytes(parts["places"]))
        width = len(Place._fields)
        self.places = [Place(*numbers[i : i + width]) for i in range(0, len(numbers) - width + 1, width)]
        if self.places != sorted(self.places):
            return None
        if head["error"] is not None:
            reason, offset = head["error"]
            self.error = trace.error = FormatError(trace.path, str(reason), offset=int(offset))
        return self

    # ---- Drawing ----

    def _pieces(self, view: View) -> list[_Piece]:
        """The parts of the log that have the view's accesses, and little else."""
        if not self.places or not self.grid.n_levels:
            return []
        row_bits = self.grid.levels[0].row_bits
        rows = bytearray((self.n_instrs >> row_bits) + 2)
        lib.ip_grid_rows(self.grid, view.raw(), ffi.from_buffer("uint8_t[]", rows), len(rows))
        first = max(0, bisect_right(self.places, max(view.top - _AHEAD, 0), key=_instrs_of) - 1)
        pieces: list[_Piece] = []
        for n in range(first, len(self.places)):
            place = self.places[n]
            if place.n_instrs >= view.bottom:
                break
            is_last = n + 1 == len(self.places)
            until = None if is_last else self.places[n + 1]
            end = _NO_END if until is None else until.n_instrs
            last = self.trace.raw.n_accesses if until is None else until.n_accesses
            if rows.find(1, place.n_instrs >> row_bits, ((end + _AHEAD) >> row_bits) + 1) < 0:
                continue
            count = last - place.n_accesses
            if pieces and pieces[-1].until is place:
                pieces[-1] = _Piece(pieces[-1].begin, until, end, pieces[-1].accesses + count)
            else:
                pieces.append(_Piece(place, until, end, count))
        if pieces:
            pieces[-1] = pieces[-1]._replace(end=min(pieces[-1].end, view.bottom))
        return pieces

    def _at_most(self, view: View) -> int:
        """The accesses of the view's instruction counts at any address, about."""
        if not self.places:
            return 0
        first = max(0, bisect_right(self.places, view.top, key=_instrs_of) - 1)
        end = bisect_right(self.places, view.bottom, key=_instrs_of)
        last = self.places[end].n_accesses if end < len(self.places) else self.trace.raw.n_accesses
        return last - self.places[first].n_accesses

    def accesses(self, view: View) -> int:
        """How many must be read for a view, about."""
        return sum(piece.accesses for piece in self._pieces(view))

    def _read(self, pieces: list[_Piece], cancelled: Callable[[], bool]) -> Iterator[Accesses]:
        into = Accesses(CHUNK)
        with suppress(FormatError):
            for piece in pieces:
                for chunk in self.trace.again(piece.begin, piece.end, into, until=piece.until):
                    if cancelled():
                        raise CancelledError
                    yield chunk

    def _level(self, view: View) -> int | None:
        """The coarsest whose cells are no more than a pixel."""
        for n in reversed(range(self.grid.n_levels)):
            level = self.grid.levels[n]
            high, wide = 1 << level.row_bits, 1 << level.part_bits
            if high * view.height <= view.bottom - view.top and wide * view.width <= view.right - view.left:
                return n
        return None

    def draw(
        self, view: View, pixels: bytearray, *, exact: bool = True, cancelled: Callable[[], bool] = _never
    ) -> bool:
        """Set the bits of accesses in `pixels`; whether each is where it belongs, to the pixel.

        Without `exact`, what would take long is drawn from sums that are coarser than a pixel.
        """
        raw, out = view.raw(), ffi.from_buffer("uint8_t[]", pixels)
        level = self._level(view)
        if not self.is_whole:
            lib.ip_grid_draw_level(self.grid, level or 0, raw, out)
            return False
        if level is not None and self._at_most(view) > AT_ONCE:
            lib.ip_grid_draw_level(self.grid, level, raw, out)
            return True
        pieces = self._pieces(view)
        if not exact and sum(piece.accesses for piece in pieces) > DIRECT:
            lib.ip_grid_draw_level(self.grid, 0, raw, out)
            return False
        for chunk in self._read(pieces, cancelled):
            lib.ip_grid_draw(self.grid, chunk.raw, raw, out)
        return True

    def find(self, view: View, cancelled: Callable[[], bool] = _never) -> Found | None:
        """The accesses in a rectangle, which has no pixels."""
        raw, found = view.raw(), ffi.new("struct ip_grid_found *")
        for chunk in self._read(self._pieces(view), cancelled):
            lib.ip_grid_find(self.grid, chunk.raw, raw, found)
        if not found.any:
            return None
        sums = (found.sums[0], found.sums[1], found.sums[2])
        f = found
        return Found(sums, f.instr, f.address, f.ip, f.context, f.size, f.dir)

    # ---- Addresses ----

    def address(self, column: int) -> int:
        """The address of a column."""
        rank, within = divmod(max(0, min(column, self.columns - 1)), 1 << lib.IP_GRID_PAGE_BITS)
        return (self.grid.pages[rank] << lib.IP_GRID_PAGE_BITS) + within if self.grid.n_pages else 0

    def column(self, address: int) -> int:
        return lib.ip_grid_column(self.grid, address)

    def gaps(self) -> list[int]:
        """The pages, counted from the left, before which addresses are left out."""
        with self._lock:
            if self._gaps is None:
                pages = ffi.unpack(self.grid.pages, self.n_pages) if self.n_pages else []
                self._gaps = [n for n, (a, b) in enumerate(pairwise(pages), 1) if b != a + 1]
            return self._gaps


def _instrs_of(place: Place) -> int:
    return place.n_instrs


def _identity(trace: Trace) -> list[int]:
    status = trace.status
    return [status.st_size, status.st_mtime_ns, status.st_ino]


def _not_waiting(path: str, flags: int) -> int:
    """Opens what might be a FIFO."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _most_bytes(trace: Trace) -> int:
    """Of an index of this file: no record takes more than twenty times its size there."""
    return 20 * trace.size + 2 * lib.IP_GRID_CELLS * ffi.sizeof("struct ip_grid_cell")


def _padded(data: Any) -> bytes:
    return bytes(data) + bytes(-len(data) % 8)


def _stores(path: str) -> list[str]:
    """Where an index is kept: beside the file, or with the user's caches where that cannot be written."""
    found = [f"{path}.dgx"]
    top = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(top) and os.path.isdir(top):
        folder = os.path.join(top, "interpose")
        with suppress(OSError):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            status = os.stat(path)
            found.append(os.path.join(folder, f"{status.st_dev:x}-{status.st_ino:x}.dgx"))
    return found
